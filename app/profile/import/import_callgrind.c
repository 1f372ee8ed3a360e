/*
 * Reads profiles of callgrind, Xdebug and others that write its format: the
 * costs of functions, and of the calls between pairs of them.
 *
 *	events: Ir Dr
 *	ob=(1) /usr/bin/app
 *	fl=(1) main.c
 *	fn=(1) main
 *	16 400 7            POSITION... COST...
 *	cfn=(2) work
 *	calls=3 30
 *	+2 9000 150         the cost of the calls, with what is below them
 *
 * (ID) NAME names an id, (ID) alone refers to it. A position may be relative to
 * the previous one: +N, -N, or * for the same.
 *
 * Pairs do not determine the stacks. Each path from a function that nobody
 * calls is given its share of the cost, as if a function called others in the
 * same proportions wherever it is called from; speedscope does the same. Calls
 * back into a path are recursion, and end there. The largest paths are
 * followed first, up to a limit. A function's own cost is measured; it is
 * divided among the paths to the function. A function that no path reaches is
 * shown without callers.
 *
 * The profile has one event, the first or the one that is asked for, counted
 * under its own name unless the name is known or states a unit.
 *
 * Source: "Callgrind Format Specification" of the manual of Valgrind 3.19;
 * xdebug_profiler.c of Xdebug 3.2; speedscope 1.25, src/import/callgrind.ts.
 */
#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"
#include "foreign.h"
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_EVENTS    32
#define MAX_POSITIONS 2
#define MAX_PATHS     (1u << 16)
#define MAX_WORK      (1u << 24) /* calls that are followed */
#define LEAST_SHARE   1e-6       /* of all cost; smaller paths are dropped */
#define LEAST_NOTED   0.001      /* of all cost: smaller losses are not noted */

/* Ids and the strings that they stand for. */
struct names {
	uint32_t *strings; /* by id; PROFILE_NONE: not named */
	uint32_t n;
};

struct fn {
	uint32_t name, file, module; /* strings */
	uint32_t location;
	uint32_t call0, ncalls; /* in calls, after sorting */
	uint32_t seen;          /* number of the last path through it */
	int64_t self, given;    /* given: to paths */
	double shares, passed;  /* sums over its paths; over those with a part
	                          of self */
	double in, out;         /* cost of calls */
};

struct call {
	uint32_t from, to; /* indexes of functions */
	double cost;
};

struct path {
	uint32_t fn, caller; /* caller: index of a path, or PROFILE_NONE */
	uint32_t depth;
	double cost;  /* cost of the function on this path, with its callees */
	double share; /* the part of cost that is the function's own */
};

struct reader {
	struct import im;
	const char *line, *end; /* the rest of the line, and where it ends */
	struct names files, modules, functions;
	uint32_t file, module;               /* strings */
	uint32_t called_file, called_module; /* PROFILE_NONE: the caller's */
	uint32_t fn, called;
	bool has_fn, in_call, has_events;
	uint64_t positions[MAX_POSITIONS];
	unsigned npositions, event; /* event: index of the cost that is kept */
	int64_t scale;
	uint64_t key; /* for hashes */
	struct table fn_table, call_table;
	struct fn *fns;
	struct call *calls;
	struct path *paths;
	uint32_t *heap; /* paths to be followed, largest first */
	uint32_t nfns, ncalls, npaths, nheap, fn_room, call_room;
	char kept[128];  /* name of the event that is kept */
	struct buf note; /* about other events */
};

/* --- lines ---------------------------------------------------------------- */

static int
bad_line(struct reader *r, const char *why)
{
	buf_addf(r->im.why, "line %llu: %s", (unsigned long long)r->im.line,
	         why);
	return -EBADMSG;
}

static void
skip_spaces(struct reader *r)
{
	while (r->line < r->end && isspace((unsigned char)*r->line))
		r->line++;
}

/* Passes over a word. Returns false if another word follows. */
static bool
take(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->line) < n || memcmp(r->line, word, n) != 0)
		return false;
	r->line += n;
	return true;
}

static bool
take_digits(struct reader *r, unsigned base, uint64_t *out)
{
	const char *from = r->line;

	for (*out = 0; r->line < r->end; r->line++) {
		char c = *r->line;
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f'
		                         ? (unsigned)(c - 'a') + 10
		                 : c >= 'A' && c <= 'F'
		                         ? (unsigned)(c - 'A') + 10
		                         : base;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(*out, base, out) ||
		    __builtin_add_overflow(*out, digit, out))
			return false;
	}
	return r->line > from;
}

/* Reads a number, decimal or with 0x, up to a blank. */
static bool
take_number(struct reader *r, uint64_t *out)
{
	return take_digits(r, take(r, "0x") ? 16 : 10, out) &&
	       (r->line == r->end || isspace((unsigned char)*r->line));
}

/* Passes over a position, which may be relative to the last one. */
static bool
take_position(struct reader *r, uint64_t *last)
{
	bool plus = take(r, "+"), minus = !plus && take(r, "-");
	uint64_t n;

	if (!plus && !minus && take(r, "*"))
		return true;
	if (!take_number(r, &n))
		return false;
	*last = plus ? *last + n : minus ? *last - n : n;
	return true;
}

/* Reads the kept cost of a line of positions and costs. Zeros at the end of a
 * line may be missing. */
static int
take_cost(struct reader *r, int64_t *out)
{
	uint64_t v = 0;

	*out = 0;
	for (unsigned i = 0; i < r->npositions; i++) {
		skip_spaces(r);
		if (!take_position(r, &r->positions[i]))
			return bad_line(r, "a position is not a number");
	}
	for (unsigned i = 0; i <= r->event; i++) {
		skip_spaces(r);
		if (r->line == r->end)
			return 0;
		if (*r->line == '-')
			return bad_line(r, IMPORT_NEGATIVE);
		if (!take_number(r, &v))
			return bad_line(r, "a cost is not a number");
	}
	if (v > INT64_MAX || __builtin_mul_overflow((int64_t)v, r->scale, out))
		return bad_line(r, "a cost is out of range");
	return 0;
}

/* --- names ---------------------------------------------------------------- */

/* Makes room for an id. */
static int
names_room(struct reader *r, struct names *n, uint64_t id)
{
	uint32_t most = r->im.ask->limits.strings, room = n->n ? n->n : 256;
	uint32_t *p;

	if (id < n->n)
		return 0;
	if (id > most)
		return import_over(&r->im, "an id is too large", most,
		                   "max_strings");
	while (room <= id)
		room *= 2;
	p = reallocarray(n->strings, room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(&p[n->n], 0xff, (room - n->n) * sizeof(*p));
	n->strings = p;
	n->n = room;
	return 0;
}

static int
read_string(struct reader *r, uint32_t *out)
{
	while (r->end > r->line && isspace((unsigned char)r->end[-1]))
		r->end--;
	return profile_string(r->im.p, r->line, (size_t)(r->end - r->line), out)
	               ?: import_check_names(&r->im);
}

/* Reads a name, "(ID) NAME" or "(ID)", as a string. */
static int
read_name(struct reader *r, struct names *n, uint32_t *out)
{
	const char *from;
	uint64_t id;
	int rc;

	skip_spaces(r);
	from = r->line;
	if (!take(r, "(") || !take_digits(r, 10, &id) || !take(r, ")")) {
		r->line = from;
		return read_string(r, out);
	}
	skip_spaces(r);
	rc = names_room(r, n, id);
	if (!rc && r->line < r->end)
		rc = read_string(r, &n->strings[id]);
	if (rc)
		return rc;
	if (n->strings[id] == PROFILE_NONE)
		return bad_line(r, "an id has no name");
	*out = n->strings[id];
	return 0;
}

/* --- functions and calls -------------------------------------------------- */

struct fn_key {
	const struct reader *r;
	uint32_t name, file, module;
};

static bool
same_fn(const void *key, uint32_t row)
{
	const struct fn_key *k = key;
	const struct fn *f = &k->r->fns[row];

	return f->name == k->name && f->file == k->file &&
	       f->module == k->module;
}

/* Finds or adds a function. */
static int
find_fn(struct reader *r, uint32_t name, uint32_t file, uint32_t module,
        uint32_t *out)
{
	const struct fn_key k = {r, name, file, module};
	const uint32_t words[] = {name, file, module};
	uint64_t hash = hash_keyed(r->key, words, sizeof(words));
	int rc;

	*out = table_find(&r->fn_table, hash, same_fn, &k);
	if (*out != TABLE_NONE)
		return 0;
	if (r->nfns >= r->im.ask->limits.samples)
		return import_over(&r->im, "it has too many functions",
		                   r->im.ask->limits.samples, "max_samples");
	rc = ROWS_ROOM(r->fns, r->fn_room, r->nfns, 1)
	             ?: table_room(&r->fn_table);
	if (rc)
		return rc;
	r->fns[r->nfns] = (struct fn){
		.name = name,
		.file = file,
		.module = module,
		.location = PROFILE_NONE,
		.seen = PROFILE_NONE,
	};
	*out = r->nfns;
	table_put(&r->fn_table, hash, r->nfns++);
	return 0;
}

struct call_key {
	const struct reader *r;
	uint32_t from, to;
};

static bool
same_call(const void *key, uint32_t row)
{
	const struct call_key *k = key;
	const struct call *c = &k->r->calls[row];

	return c->from == k->from && c->to == k->to;
}

static int
add_call(struct reader *r, int64_t cost)
{
	const struct call_key k = {r, r->fn, r->called};
	const uint32_t words[] = {r->fn, r->called};
	uint64_t hash = hash_keyed(r->key, words, sizeof(words));
	uint32_t at = table_find(&r->call_table, hash, same_call, &k);
	int rc;

	r->fns[r->fn].out += (double)cost;
	r->fns[r->called].in += (double)cost;
	if (at != TABLE_NONE) {
		r->calls[at].cost += (double)cost;
		return 0;
	}
	if (r->ncalls >= r->im.ask->limits.samples)
		return import_over(&r->im, "it has too many pairs of functions",
		                   r->im.ask->limits.samples, "max_samples");
	rc = ROWS_ROOM(r->calls, r->call_room, r->ncalls, 1)
	             ?: table_room(&r->call_table);
	if (rc)
		return rc;
	r->calls[r->ncalls] = (struct call){r->fn, r->called, (double)cost};
	table_put(&r->call_table, hash, r->ncalls++);
	return 0;
}

static int
read_cost(struct reader *r)
{
	struct fn *f = r->has_fn ? &r->fns[r->fn] : NULL;
	bool in_call = r->in_call;
	int64_t cost;
	int rc;

	if (!r->has_events || !f)
		return bad_line(r, "a cost before its events and function");
	rc = take_cost(r, &cost);
	r->in_call = false;
	if (rc || in_call)
		return rc ? rc : add_call(r, cost);
	if (__builtin_add_overflow(f->self, cost, &f->self))
		return bad_line(r, "a sum is out of range");
	return 0;
}

/* --- the file ------------------------------------------------------------- */

/* Returns the length of the next word. */
static size_t
word(const struct reader *r)
{
	size_t n = 0;

	while (r->line + n < r->end && !isspace((unsigned char)r->line[n]))
		n++;
	return n;
}

/* Events that correspond to values of profiles. */
static const struct {
	const char *event, *sample, *unit;
	int64_t scale;
} known[] = {
	{"Time_(10ns)", "wall", "nanoseconds", 10}, /* Xdebug */
	{"Memory_(bytes)", "alloc_space", "bytes", 1},
	{"curB", "inuse_space", "bytes", 1}, /* --xtree-memory of Valgrind */
	{"curBk", "inuse_objects", "count", 1},
	{"totB", "alloc_space", "bytes", 1},
	{"totBk", "alloc_objects", "count", 1},
};

/* Sets the value type of an event. Go's pprof writes "cpu(ms)". */
static int
set_event(struct reader *r, const char *event)
{
	const char *unit = strchr(event, '('), *ours = NULL;
	size_t n = unit ? (size_t)(unit - event) : 0, len = strlen(event);
	char text[sizeof(r->kept)];

	r->scale = 1;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(event, known[i].event)) {
			r->scale = known[i].scale;
			return profile_type(r->im.p, known[i].sample,
			                    known[i].unit);
		}
	if (n && event[len - 1] == ')') {
		snprintf(text, sizeof(text), "%.*s", (int)(len - n - 2),
		         unit + 1);
		ours = import_unit_find(text, &r->scale);
	}
	snprintf(text, sizeof(text), "%.*s", (int)n, event);
	return ours ? profile_type(r->im.p, text, ours)
	            : profile_type(r->im.p, event, event);
}

/* Reads the names of events, and finds the one to keep. Each part of a file
 * has its own list. */
static int
read_events(struct reader *r)
{
	const char *asked = r->has_events      ? r->kept
	                    : r->im.ask->event ? r->im.ask->event
	                                       : "";
	const char *from = r->line;
	unsigned n = 0, kept = MAX_EVENTS;
	size_t len;

	while (r->end > from && isspace((unsigned char)r->end[-1]))
		r->end--;
	for (skip_spaces(r); (len = word(r)) > 0; n++, skip_spaces(r)) {
		if (n == MAX_EVENTS || len >= sizeof(r->kept))
			return bad_line(r,
			                "it has too many events, or too long "
			                "ones");
		if (kept == MAX_EVENTS &&
		    (!*asked ||
		     (len == strlen(asked) && !memcmp(asked, r->line, len)))) {
			memcpy(r->kept, r->line, len);
			r->kept[len] = '\0';
			kept = n;
		}
		r->line += len;
	}
	if (kept == MAX_EVENTS) {
		buf_addf(r->im.why, "line %llu: event %s is not among%.*s",
		         (unsigned long long)r->im.line, asked,
		         (int)(r->end - from), from);
		return -EBADMSG;
	}
	r->event = kept;
	if (r->has_events)
		return 0;
	r->has_events = true;
	if (n > 1)
		buf_addf(&r->note,
		         "event %s was kept, of%.*s; --event keeps another\n",
		         r->kept, (int)(r->end - from), from);
	return set_event(r, r->kept);
}

static int
read_positions(struct reader *r)
{
	r->npositions = 0;
	for (skip_spaces(r); word(r) > 0; skip_spaces(r)) {
		if (r->npositions++ == MAX_POSITIONS)
			return bad_line(r, "it has too many positions");
		r->line += word(r);
	}
	return 0;
}

/* Reads the name of a function, the current one or one that it calls. */
static int
read_fn(struct reader *r, bool called)
{
	uint32_t name, file = r->file, module = r->module;
	int rc = read_name(r, &r->functions, &name);

	if (rc || !called) {
		r->has_fn = !rc;
		r->in_call = false;
		return rc ? rc : find_fn(r, name, file, module, &r->fn);
	}
	if (r->called_file != PROFILE_NONE)
		file = r->called_file;
	if (r->called_module != PROFILE_NONE)
		module = r->called_module;
	r->called_file = r->called_module = PROFILE_NONE;
	r->called = PROFILE_NONE;
	return find_fn(r, name, file, module, &r->called);
}

static int
begin_call(struct reader *r)
{
	if (!r->has_fn || r->called == PROFILE_NONE)
		return bad_line(r, "a call without its functions");
	r->in_call = true;
	return 0;
}

static bool
is_header(const char *line, size_t n)
{
	static const char *const names[] = {
		"version:", "creator:", "pid:",       "cmd:",    "part:",
		"thread:",  "desc:",    "trigger:",   "totals:", "summary:",
		"event:",   "events:",  "positions:",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (n >= strlen(names[i]) &&
		    !memcmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Reads the names of a jump's target, which may occur there for the first
 * time. */
static int
read_jump(struct reader *r, bool *is)
{
	uint32_t name;

	*is = true;
	if (take(r, "jfn="))
		return read_name(r, &r->functions, &name);
	if (take(r, "jfi=") || take(r, "jfl="))
		return read_name(r, &r->files, &name);
	if (take(r, "job="))
		return read_name(r, &r->modules, &name);
	*is = take(r, "jump=") || take(r, "jcnd=");
	return 0;
}

static int
read_line(struct reader *r)
{
	bool jump;
	size_t n;
	int rc;

	if (r->line == r->end || *r->line == '#')
		return 0;
	if (strchr("0123456789+-*", *r->line))
		return read_cost(r);
	if (take(r, "fn="))
		return read_fn(r, false);
	if (take(r, "cfn="))
		return read_fn(r, true);
	if (take(r, "calls="))
		return begin_call(r);
	if (take(r, "fl=") || take(r, "fi=") || take(r, "fe="))
		return read_name(r, &r->files, &r->file);
	if (take(r, "cfl=") || take(r, "cfi="))
		return read_name(r, &r->files, &r->called_file);
	if (take(r, "ob="))
		return read_name(r, &r->modules, &r->module);
	if (take(r, "cob="))
		return read_name(r, &r->modules, &r->called_module);
	if (take(r, "events:"))
		return read_events(r);
	if (take(r, "positions:"))
		return read_positions(r);
	rc = read_jump(r, &jump);
	n = (size_t)(r->end - r->line);
	if (!jump && !is_header(r->line, n))
		import_skip(&r->im, r->line, n);
	return rc;
}

bool
input_callgrind_looks(const char *p, size_t n)
{
	const char *end = p + (n < FOREIGN_LOOK ? n : FOREIGN_LOOK), *line;
	size_t len;

	while (import_line(&p, end, &line, &len)) {
		if (!len || *line == '#')
			continue;
		if (!is_header(line, len))
			return false;
		if (len >= 7 && !memcmp(line, "events:", 7))
			return true;
	}
	return false;
}

/* --- paths ---------------------------------------------------------------- */

static bool
is_larger(const struct reader *r, uint32_t a, uint32_t b)
{
	return r->paths[a].cost > r->paths[b].cost;
}

static void
swap(uint32_t *a, uint32_t *b)
{
	uint32_t t = *a;

	*a = *b;
	*b = t;
}

static void
heap_put(struct reader *r, uint32_t path)
{
	uint32_t *h = r->heap, i = r->nheap++;

	for (h[i] = path; i && is_larger(r, h[i], h[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(&h[i], &h[(i - 1) / 2]);
}

static uint32_t
heap_take(struct reader *r)
{
	uint32_t *h = r->heap, top = h[0], i = 0;

	h[0] = h[--r->nheap];
	for (;;) {
		uint32_t most = i;

		for (uint32_t k = 2 * i + 1; k <= 2 * i + 2; k++)
			if (k < r->nheap && is_larger(r, h[k], h[most]))
				most = k;
		if (most == i)
			return top;
		swap(&h[i], &h[most]);
		i = most;
	}
}

static void
add_path(struct reader *r, uint32_t fn, uint32_t caller, double cost)
{
	uint32_t depth = caller == PROFILE_NONE ? 1
	                                        : r->paths[caller].depth + 1;

	if (r->npaths >= r->im.ask->limits.samples / 2 ||
	    r->npaths == MAX_PATHS || depth > PROFILE_MAX_FRAMES)
		return;
	r->paths[r->npaths] = (struct path){fn, caller, depth, cost, 0};
	heap_put(r, r->npaths++);
}

/* Divides the cost of a path between its function and the functions that it
 * calls, except those on the path. Returns the amount of work done. */
static uint32_t
follow(struct reader *r, uint32_t at, double least)
{
	struct path *p = &r->paths[at];
	struct fn *f = &r->fns[p->fn];
	double all = (double)f->self, part;

	for (uint32_t i = at; i != PROFILE_NONE; i = r->paths[i].caller)
		r->fns[r->paths[i].fn].seen = at;
	for (uint32_t i = f->call0; i < f->call0 + f->ncalls; i++)
		if (r->fns[r->calls[i].to].seen != at)
			all += r->calls[i].cost;
	if (!(all > 0))
		return f->ncalls + p->depth;
	part = p->cost / all;
	p->share = (double)f->self * part;
	f->shares += p->share;
	for (uint32_t i = f->call0; i < f->call0 + f->ncalls; i++) {
		const struct call *c = &r->calls[i];

		if (r->fns[c->to].seen != at && c->cost * part >= least)
			add_path(r, c->to, at, c->cost * part);
	}
	return f->ncalls + p->depth;
}

static int
by_caller(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	int from = (x->from > y->from) - (x->from < y->from);

	return from ? from : (x->to > y->to) - (x->to < y->to);
}

static int
find_paths(struct reader *r)
{
	double total = 0;
	uint64_t work = 0;

	r->paths = calloc(MAX_PATHS, sizeof(*r->paths));
	r->heap = calloc(MAX_PATHS, sizeof(*r->heap));
	if (!r->paths || !r->heap)
		return -ENOMEM;
	if (r->ncalls)
		qsort(r->calls, r->ncalls, sizeof(*r->calls), by_caller);
	for (uint32_t i = r->ncalls; i--;) {
		struct fn *f = &r->fns[r->calls[i].from];

		f->call0 = i;
		f->ncalls++;
	}
	for (uint32_t i = 0; i < r->nfns; i++) {
		struct fn *f = &r->fns[i];
		double above = (double)f->self + f->out - f->in;

		total += (double)f->self;
		if (above > 0)
			add_path(r, i, PROFILE_NONE, above);
	}
	while (r->nheap && work < MAX_WORK)
		work += follow(r, heap_take(r), fmax(0.5, total * LEAST_SHARE));
	return 0;
}

/* --- stacks --------------------------------------------------------------- */

static int
push_fn(struct reader *r, struct fn *f)
{
	const struct strings *s = r->im.p->strings;
	struct import_frame frame = {0};
	int rc = 0;

	frame.name = strings_get(s, f->name, &frame.nname);
	frame.file = strings_get(s, f->file, &frame.nfile);
	frame.module = strings_get(s, f->module, &frame.nmodule);
	if (f->location == PROFILE_NONE)
		rc = import_location(&r->im, &frame, &f->location);
	return rc ? rc : import_push(&r->im, f->location);
}

/* Adds a path, with its part of its function's own cost. Parts are rounded so
 * that they add up to that cost. */
static int
add_path_stack(struct reader *r, const struct path *p)
{
	struct fn *f = &r->fns[p->fn];
	int64_t v, upto;
	int rc = 0;

	if (!(p->share > 0))
		return 0;
	f->passed += p->share;
	upto = f->passed < f->shares
	               ? llround((double)f->self * (f->passed / f->shares))
	               : f->self;
	v = upto - f->given;
	if (v <= 0)
		return 0;
	f->given = upto;
	while (p && !rc) {
		rc = push_fn(r, &r->fns[p->fn]);
		p = p->caller == PROFILE_NONE ? NULL : &r->paths[p->caller];
	}
	return rc ? rc : import_values(&r->im, NULL, 0, &v);
}

static int
add_stacks(struct reader *r)
{
	double total = 0, adrift = 0;
	int rc = 0;

	for (uint32_t i = 0; i < r->npaths && !rc; i++)
		rc = add_path_stack(r, &r->paths[i]);
	for (uint32_t i = 0; i < r->nfns && !rc; i++) {
		struct fn *f = &r->fns[i];
		int64_t left = f->self - f->given;

		total += (double)f->self;
		if (left <= 0)
			continue;
		adrift += (double)left;
		rc = push_fn(r, f) ?: import_values(&r->im, NULL, 0, &left);
	}
	if (rc)
		return rc;
	buf_puts(r->im.why, buf_str(&r->note));
	import_note(&r->im,
	            "callgrind counts calls between pairs of functions, "
	            "not stacks: the paths to a function are "
	            "estimates, its own cost is exact");
	if (adrift > total * LEAST_NOTED)
		buf_addf(
			r->im.why,
			"%.1f %% of the cost stands without callers: the paths "
			"to it are too many and too small\n",
			100 * adrift / total);
	return 0;
}

static int
read_all(struct reader *r, const char *p, const char *end)
{
	size_t n;
	int rc = 0;

	while (!rc && import_next(&r->im, &p, end, &r->line, &n)) {
		r->end = r->line + n;
		rc = read_line(r);
	}
	if (!rc && !r->has_events)
		rc = import_bad(&r->im, "it has no events");
	if (!rc)
		rc = find_paths(r);
	return rc ? rc : add_stacks(r);
}

static int
no_cost(struct reader *r)
{
	buf_clear(r->im.why);
	buf_addf(r->im.why, "it has no costs; %.*s", (int)r->note.len - 1,
	         buf_str(&r->note));
	return -EBADMSG;
}

static void
reader_done(struct reader *r)
{
	import_done(&r->im);
	buf_done(&r->note);
	table_done(&r->fn_table);
	table_done(&r->call_table);
	free(r->files.strings);
	free(r->modules.strings);
	free(r->functions.strings);
	free(r->fns);
	free(r->calls);
	free(r->paths);
	free(r->heap);
}

int
input_callgrind_read(const char *p, size_t n, const struct import_ask *ask,
                     struct profile **out, struct buf *why)
{
	CLEANUP(reader_done)
	struct reader r = {
		.npositions = 1,
		.note = BUF_INIT(BUF_MAX_SMALL),
		.called = PROFILE_NONE,
		.called_file = PROFILE_NONE,
		.called_module = PROFILE_NONE,
	};
	int rc = import_init(&r.im, ask, why);

	random_bytes(&r.key, sizeof(r.key));
	if (!rc)
		rc = read_all(&r, p, p + n);
	if (!rc && !r.im.p->nsamples && r.note.len)
		rc = no_cost(&r);
	return rc ? rc : import_end(&r.im, out);
}
