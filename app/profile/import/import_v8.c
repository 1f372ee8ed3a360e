/*
 * Reads what V8 writes of Node.js and Chrome: CPU profiles (.cpuprofile) and
 * profiles of the heap (.heapprofile). Both have a tree of nodes, one for each
 * stack:
 *
 *	{"nodes": [{"id": 1, "callFrame": {...}, "children": [2]}, ...],
 *	 "startTime": 1, "endTime": 9, "samples": [2], "timeDeltas": [8]}
 *	{"head": {"id": 1, "callFrame": {...}, "selfSize": 16,
 *	          "children": [{...}]}, "samples": [...]}
 *
 * Clients of V8's protocol often keep the whole reply, in which the profile is
 * a member: {"result": {"profile": {"nodes": ...}}}.
 *
 * Before 2016, V8 wrote CPU profiles with a head, too: with the members of
 * callFrame in each node, "timestamps", and a start and an end in seconds.
 *
 * The sampler of V8 goes by the clock and also sees a thread that waits, so its
 * time is wall time. A delta is the time since the previous sample, or since
 * the start. A sample stands for the time until the next one, or until the end;
 * the time before the first sample, in which V8 prepares to sample, belongs to
 * none. V8 has no stack while it collects garbage: such a sample is put on top
 * of the previous one. A file without samples has numbers of hits; its time is
 * divided among them.
 *
 * Source: the Chrome DevTools protocol, Profiler and HeapProfiler; speedscope
 * 1.25, src/import/chrome.ts, v8cpuFormatter.ts and v8heapalloc.ts.
 */
#include "base/clock.h"
#include "base/json_scan.h"
#include "foreign.h"
#include "import_build.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define ROOT    "(root)"
#define GARBAGE "(garbage collector)"

struct cost {
	uint64_t count;
	double value; /* nanoseconds, or bytes */
};

struct node {
	double id, hits;
	uint32_t parent;     /* index of a node, or PROFILE_NONE */
	uint32_t location;   /* PROFILE_NONE: not yet made */
	uint32_t walk;       /* see check_tree() */
	uint32_t name, file; /* strings */
	int64_t line;
	bool root, collector, alone; /* by its name: see classify() */
	struct cost own, garbage; /* garbage: collected on top of this node */
};

/* A relation that one node states by the id of the other. */
struct edge {
	uint32_t node;
	double id;
	bool child; /* id is the child's */
};

struct named {
	double id;
	uint32_t node;
};

struct reader {
	struct import im;
	const char *file;
	size_t size;
	struct buf text;
	struct node *nodes;
	struct edge *edges;
	struct named *ids; /* ascending */
	uint32_t nnodes, nedges, node_room, edge_room;
	uint32_t collector; /* node that represents the garbage collector */
	double start_us, end_us;
	bool shared; /* its time is divided among hits */
};

static int
broken(struct reader *r, const struct json_scan *s)
{
	return import_bad_json(r->im.why, "a profile of V8", s, r->file,
	                       r->size);
}

/* --- detection ------------------------------------------------------------ */

enum kind { KIND_NONE, KIND_CPU, KIND_HEAP };

/* Finds the kind of a file with a head by the members of the head. */
static enum kind
kind_of_head(struct json_scan *s)
{
	if (json_scan_next(s) != JSON_OBJECT)
		return KIND_NONE;
	while (json_scan_next(s) == JSON_NAME) {
		const char *name = buf_str(s->text);

		if (!strcmp(name, "selfSize"))
			return KIND_HEAP;
		if (!strcmp(name, "functionName") || !strcmp(name, "hitCount"))
			return KIND_CPU;
		if (!json_scan_skip(s, json_scan_next(s)))
			break;
	}
	return KIND_NONE;
}

/* True for the name of a member of a reply that holds the profile. */
static bool
is_wrapper(const struct buf *name)
{
	return !strcmp(buf_str(name), "profile") ||
	       !strcmp(buf_str(name), "result");
}

/* Finds the kind of a file by its first bytes. */
static enum kind
kind_of(const char *p, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(JSON_SCAN_TEXT);
	struct json_scan s;
	enum json_token t;

	json_scan_init(&s, p, n < FOREIGN_LOOK ? n : FOREIGN_LOOK, &text);
	if (json_scan_next(&s) != JSON_OBJECT)
		return KIND_NONE;
	while (json_scan_next(&s) == JSON_NAME) {
		bool wrapper = is_wrapper(&text);

		if (!strcmp(buf_str(&text), "nodes"))
			return memmem(p, n, "\"callFrame\"", 11) ? KIND_CPU
			                                         : KIND_NONE;
		if (!strcmp(buf_str(&text), "head"))
			return kind_of_head(&s);
		t = json_scan_next(&s);
		if (t == JSON_OBJECT && wrapper)
			continue;
		if (!json_scan_skip(&s, t))
			break;
	}
	return KIND_NONE;
}

bool
input_cpuprofile_looks(const char *p, size_t n)
{
	return kind_of(p, n) == KIND_CPU;
}

bool
input_heapprofile_looks(const char *p, size_t n)
{
	return kind_of(p, n) == KIND_HEAP;
}

/* --- nodes ---------------------------------------------------------------- */

static int
check_count(struct reader *r, uint32_t n)
{
	uint32_t most = r->im.ask->limits.samples;

	return n < most ? 0
	                : import_over(&r->im, "it has too many nodes", most,
	                              "max_samples");
}

/* Adds a node below the current one, and makes it the current one. */
static int
open_node(struct reader *r, uint32_t *current)
{
	int rc = ROWS_ROOM(r->nodes, r->node_room, r->nnodes, 1);

	if (rc)
		return rc;
	r->nodes[r->nnodes] = (struct node){
		.id = -1, .parent = *current, .location = PROFILE_NONE};
	*current = r->nnodes++;
	return check_count(r, r->nnodes - 1);
}

static int
add_edge(struct reader *r, uint32_t node, double id, bool child)
{
	int rc = ROWS_ROOM(r->edges, r->edge_room, r->nedges, 1);

	if (rc)
		return rc;
	r->edges[r->nedges++] = (struct edge){node, id, child};
	return check_count(r, r->nedges - 1);
}

static int read_frame(struct reader *r, struct json_scan *s, uint32_t at);

/* Reads the value of a member of a node, or of its callFrame. The elements of
 * its children are left to read_nodes(). */
static int
node_member(struct reader *r, struct json_scan *s, uint32_t at)
{
	static const char *const names[] = {
		"functionName", "url",      "lineNumber", "id",       "parent",
		"hitCount",     "selfSize", "callFrame",  "children",
	};
	enum { FUNCTION, URL, LINE, ID, PARENT, HITS, SIZE, FRAME, CHILDREN };
	struct node *n = &r->nodes[at];
	size_t which = 0;
	enum json_token t;

	while (which < ARRAY_LEN(names) &&
	       strcmp(names[which], buf_str(&r->text)) != 0)
		which++;
	t = json_scan_next(s);
	if (t == JSON_OBJECT && which == FRAME)
		return read_frame(r, s, at);
	if (t == JSON_ARRAY && which == CHILDREN)
		return 0;
	if (t == JSON_STRING && (which == FUNCTION || which == URL))
		return profile_string(r->im.p, buf_str(&r->text), r->text.len,
		                      which == URL ? &n->file : &n->name);
	if (t != JSON_NUMBER)
		return json_scan_skip(s, t) ? 0 : broken(r, s);
	if (which == PARENT)
		return add_edge(r, at, s->number, false);
	if (which == ID)
		n->id = s->number;
	if (which == LINE && s->number >= 0 && s->number < 1e9)
		n->line = (int64_t)s->number + 1;
	if (which == HITS)
		n->hits = s->number;
	if (which == SIZE)
		n->own.value = s->number;
	return 0;
}

static int
read_frame(struct reader *r, struct json_scan *s, uint32_t at)
{
	enum json_token t;
	int rc = 0;

	while (!rc && (t = json_scan_next(s)) == JSON_NAME)
		rc = strcmp(buf_str(&r->text), "callFrame")
		             ? node_member(r, s, at)
		             : broken(r, s);
	return rc ? rc : t == JSON_OBJECT_END ? 0 : broken(r, s);
}

/* Reads a node with the nodes below it, or a list of nodes. */
static int
read_nodes(struct reader *r, struct json_scan *s)
{
	uint32_t current = PROFILE_NONE;
	int depth = s->depth, rc = 0;

	do {
		switch (json_scan_next(s)) {
		case JSON_OBJECT:
			rc = open_node(r, &current);
			break;
		case JSON_OBJECT_END:
			current = r->nodes[current].parent;
			break;
		case JSON_NAME:
			rc = node_member(r, s, current);
			break;
		case JSON_NUMBER: /* id of a child */
			rc = current == PROFILE_NONE
			             ? broken(r, s)
			             : add_edge(r, current, s->number, true);
			break;
		case JSON_ARRAY:
		case JSON_ARRAY_END:
			break;
		default:
			rc = broken(r, s);
		}
	} while (!rc && s->depth > depth);
	return rc;
}

static int
by_id(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Returns the index of a node, or PROFILE_NONE. */
static uint32_t
find_node(const struct reader *r, double id)
{
	const struct named key = {.id = id};
	double guess = r->nnodes ? id - r->ids[0].id : -1;
	const struct named *at;

	/* V8 numbers nodes from 1, without gaps */
	if (guess >= 0 && guess < r->nnodes && r->ids[(uint32_t)guess].id == id)
		return r->ids[(uint32_t)guess].node;
	at = bsearch(&key, r->ids, r->nnodes, sizeof(key), by_id);
	return at ? at->node : PROFILE_NONE;
}

static bool
is(const struct reader *r, const struct node *n, const char *name)
{
	return !strcmp(profile_text(r->im.p, n->name), name);
}

/* Finds out what a node stands for. A collection of garbage after one that
 * stands for the root, the program or idle time was not called by it. */
static void
classify(struct reader *r, struct node *n)
{
	n->root = is(r, n, ROOT);
	n->collector = is(r, n, GARBAGE);
	n->alone = n->root || is(r, n, "(idle)") || is(r, n, "(program)");
}

/* Walks from each node towards the root until it meets a node whose path is
 * known. Refuses a node that is above itself. */
static int
check_tree(struct reader *r)
{
	for (uint32_t i = 0; i < r->nnodes; i++) {
		uint32_t at = i;

		while (at != PROFILE_NONE && !r->nodes[at].walk) {
			r->nodes[at].walk = i + 1;
			at = r->nodes[at].parent;
		}
		if (at != PROFILE_NONE && r->nodes[at].walk == i + 1)
			return import_bad(&r->im, "a node is its own ancestor");
	}
	return 0;
}

/* Follows the relations that nodes state by ids. */
static int
connect(struct reader *r)
{
	for (uint32_t i = 0; i < r->nnodes; i++)
		classify(r, &r->nodes[i]);
	r->ids = reallocarray(NULL, r->nnodes + 1, sizeof(*r->ids));
	if (!r->ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->nnodes; i++)
		r->ids[i] = (struct named){r->nodes[i].id, i};
	qsort(r->ids, r->nnodes, sizeof(*r->ids), by_id);
	for (uint32_t i = 0; i < r->nedges; i++) {
		const struct edge *e = &r->edges[i];
		uint32_t other = find_node(r, e->id);

		if (other == PROFILE_NONE)
			continue;
		if (e->child)
			r->nodes[other].parent = e->node;
		else
			r->nodes[e->node].parent = other;
	}
	return check_tree(r);
}

/* --- costs ---------------------------------------------------------------- */

static void
add(struct cost *c, uint64_t count, double value)
{
	c->count += count;
	c->value += value;
}

/* Consecutive samples of a node. */
struct run {
	uint32_t node;
	uint64_t samples;
	double since_us;
	uint32_t before; /* node of the last sample that did not collect
	                    garbage, or PROFILE_NONE */
};

/* Adds the samples of a run, which lasts until a point in time. Points that go
 * back, as V8 writes them now and then, leave it no time. */
static void
end_run(struct reader *r, struct run *run, double until_us)
{
	double us = until_us > run->since_us ? until_us - run->since_us : 0;
	uint32_t at = run->node;

	if (!run->samples)
		return;
	if (!r->nodes[at].collector) {
		add(&r->nodes[at].own, run->samples, us * NS_PER_US);
		run->before = r->nodes[at].alone ? PROFILE_NONE : at;
	} else if (run->before == PROFILE_NONE) {
		add(&r->nodes[at].own, run->samples, us * NS_PER_US);
	} else {
		r->collector = at;
		add(&r->nodes[run->before].garbage, run->samples,
		    us * NS_PER_US);
	}
	run->since_us += us;
	run->samples = 0;
}

/* Reads samples beside their deltas or, if absolute, their points in time. */
static int
read_samples(struct reader *r, struct json_scan *s, struct json_scan *times,
             bool absolute, uint64_t *n)
{
	struct run run = {.node = PROFILE_NONE, .before = PROFILE_NONE};
	double us = r->start_us;
	enum json_token t;
	uint32_t at;

	*n = 0;
	if (json_scan_next(s) != JSON_ARRAY ||
	    json_scan_next(times) != JSON_ARRAY)
		return broken(r, s);
	while ((t = json_scan_next(s)) == JSON_NUMBER) {
		at = find_node(r, s->number);
		++*n;
		if (at == PROFILE_NONE ||
		    json_scan_next(times) != JSON_NUMBER) {
			buf_addf(r->im.why, "sample %llu has no %s",
			         (unsigned long long)*n,
			         at == PROFILE_NONE ? "node" : "time");
			return -EBADMSG;
		}
		us = times->number + (absolute ? 0 : us);
		if (*n == 1)
			run.since_us = us;
		if (at != run.node)
			end_run(r, &run, us);
		run.node = at;
		run.samples++;
	}
	end_run(r, &run, r->end_us > us ? r->end_us : us);
	return t == JSON_ARRAY_END ? 0 : broken(r, s);
}

/* Divides the time of a file without samples among its hits. */
static int
share_time(struct reader *r)
{
	double us = r->end_us - r->start_us, hits = 0;

	for (uint32_t i = 0; i < r->nnodes; i++) {
		struct node *n = &r->nodes[i];

		if (!(n->hits >= 0 && n->hits < 0x1p53))
			return import_bad(&r->im, "a number of hits is out of "
			                          "range");
		hits += n->hits;
	}
	if (!(us > 0) || !(hits > 0))
		return import_bad(&r->im, "it has neither samples nor hits "
		                          "between a start and an end");
	for (uint32_t i = 0; i < r->nnodes; i++) {
		struct node *n = &r->nodes[i];

		add(&n->own, (uint64_t)n->hits,
		    n->hits / hits * us * NS_PER_US);
	}
	r->shared = true;
	return 0;
}

/* --- stacks --------------------------------------------------------------- */

static int
push_node(struct reader *r, struct node *n)
{
	struct function f = {n->name, n->name, n->file, n->line};
	struct line line = {.line = n->line};
	int rc = 0;

	if (n->location != PROFILE_NONE)
		return import_push(&r->im, n->location);
	if (!n->name)
		rc = profile_cstring(r->im.p, "(anonymous)", &f.name);
	f.system_name = f.name;
	if (!rc)
		rc = profile_function(r->im.p, &f, &line.function);
	if (!rc)
		rc = profile_location(r->im.p, PROFILE_NONE, 0, &line, 1,
		                      &n->location);
	return rc ? rc : import_push(&r->im, n->location);
}

/* Adds the stack of a node, with what has been pushed on top. */
static int
add_stack(struct reader *r, uint32_t at, const struct cost *c)
{
	int64_t v[2] = {(int64_t)c->count};
	int rc = 0;

	if (!(c->value >= 0) || c->value >= 0x1p62)
		return import_bad(&r->im, "a value is out of range");
	v[r->im.p->ntypes - 1] = llround(c->value);
	while (!rc && at != PROFILE_NONE && !r->nodes[at].root &&
	       !import_full(&r->im)) {
		rc = push_node(r, &r->nodes[at]);
		at = r->nodes[at].parent;
	}
	return rc ? rc : import_values(&r->im, NULL, 0, v);
}

static int
add_stacks(struct reader *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->nnodes && !rc; i++) {
		const struct cost own = r->nodes[i].own;
		const struct cost garbage = r->nodes[i].garbage;

		if (own.count || own.value != 0)
			rc = add_stack(r, i, &own);
		if (rc || !garbage.count)
			continue;
		rc = push_node(r, &r->nodes[r->collector]);
		if (!rc)
			rc = add_stack(r, i, &garbage);
	}
	return rc;
}

/* --- files ---------------------------------------------------------------- */

/* Scans at the start of the parts of a file. */
struct parts {
	struct json_scan nodes, head, samples, deltas, stamps;
};

static int
find_parts(struct reader *r, struct json_scan *s, struct parts *out)
{
	struct {
		const char *name;
		struct json_scan *scan;
		double *number;
	} const rows[] = {
		{"nodes", &out->nodes, NULL},
		{"head", &out->head, NULL},
		{"samples", &out->samples, NULL},
		{"timeDeltas", &out->deltas, NULL},
		{"timestamps", &out->stamps, NULL},
		{"startTime", NULL, &r->start_us},
		{"endTime", NULL, &r->end_us},
	};
	enum json_token t = json_scan_next(s);

	if (t != JSON_OBJECT)
		return broken(r, s);
	while ((t = json_scan_next(s)) == JSON_NAME) {
		bool wrapper = is_wrapper(&r->text);
		size_t i = 0;

		while (i < ARRAY_LEN(rows) &&
		       strcmp(rows[i].name, buf_str(&r->text)) != 0)
			i++;
		if (i < ARRAY_LEN(rows) && rows[i].scan)
			*rows[i].scan = *s;
		t = json_scan_next(s);
		if (t == JSON_OBJECT && wrapper)
			continue;
		if (t == JSON_NUMBER && i < ARRAY_LEN(rows) && rows[i].number)
			*rows[i].number = s->number;
		if (!json_scan_skip(s, t))
			return broken(r, s);
	}
	return t == JSON_OBJECT_END && (out->nodes.p || out->head.p)
	               ? 0
	               : broken(r, s);
}

static int
read_cpu(struct reader *r, struct parts *p)
{
	struct json_scan *times = p->deltas.p ? &p->deltas : &p->stamps;
	struct profile *made = r->im.p;
	uint64_t n = 0;
	double us;
	int rc = profile_type(made, "samples", "count")
	                 ?: profile_type(made, "wall", "nanoseconds");

	if (!p->nodes.p) { /* an old file, in seconds */
		r->start_us *= (NS_PER_S / NS_PER_US);
		r->end_us *= (NS_PER_S / NS_PER_US);
	}
	if (!rc && p->samples.p && times->p)
		rc = read_samples(r, &p->samples, times, !p->deltas.p, &n);
	if (!rc && !n)
		rc = share_time(r);
	us = r->end_us - r->start_us;
	if (us > 0 && us < 0x1p52)
		made->duration_ns = llround(us * NS_PER_US);
	return rc;
}

static int
read_file(struct reader *r, const char *p, size_t n, bool heap)
{
	struct parts parts = {0};
	struct json_scan s;
	int rc;

	r->file = p;
	r->size = n;
	json_scan_init(&s, p, n, &r->text);
	rc = find_parts(r, &s, &parts);
	if (!rc)
		rc = read_nodes(r, parts.nodes.p ? &parts.nodes : &parts.head);
	if (!rc)
		rc = import_check_names(&r->im) ?: connect(r);
	if (rc)
		return rc;
	rc = heap ? profile_type(r->im.p, "inuse_space", "bytes")
	          : read_cpu(r, &parts);
	return rc ? rc : add_stacks(r);
}

static void
reader_done(struct reader *r)
{
	import_done(&r->im);
	buf_done(&r->text);
	free(r->nodes);
	free(r->edges);
	free(r->ids);
}

static int
read_v8(const char *p, size_t n, const struct import_ask *ask, bool heap,
        struct profile **out, struct buf *why)
{
	CLEANUP(reader_done)
	struct reader r = {.text = BUF_INIT(JSON_SCAN_TEXT)};
	int rc = import_init(&r.im, ask, why);

	if (!rc)
		rc = read_file(&r, p, n, heap);
	if (!rc && r.shared)
		import_note(&r.im,
		            "it has numbers of hits, but no samples: the "
		            "time is shared out to them evenly");
	return rc ? rc : import_end(&r.im, out);
}

int
input_cpuprofile_read(const char *p, size_t n, const struct import_ask *ask,
                      struct profile **out, struct buf *why)
{
	return read_v8(p, n, ask, false, out, why);
}

int
input_heapprofile_read(const char *p, size_t n, const struct import_ask *ask,
                       struct profile **out, struct buf *why)
{
	return read_v8(p, n, ask, true, out, why);
}
