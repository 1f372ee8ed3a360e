/*
 * Profiles made of buckets. A capture looks at them twice; a window looks once
 * and compares them with the reading of the window before it.
 */
#include "capture/buckets.h"

#include "base/clock.h"
#include "bucket_reading.h"
#include "bucket_rows.h"
#include "capture/looks.h"
#include "capture/process/process.h"

#include <errno.h>
#include <string.h>

#define MAX_RATE (INT64_C(1) << 62)
#define TICK_NS  UINT64_C(10000000) /* precision of a process's start time */

/* A new process must execute the matched program within this time; until then
 * it cannot be recognized. */
#define EXEC_NS (10 * NS_PER_S)

/* Rates of the profiles that the worker turns on. */
#define BLOCK_CYCLES 20000 /* some 10 us; shorter events at random */
#define MUTEX_ONE_OF 5
#define MEMORY_BYTES (128 << 10) /* a quarter of Go's default */

/* A process whose buckets are read. */
struct looked {
	struct process *proc;
	uint32_t module; /* its program */
	struct memory mem;
	struct gobin *bin;
	struct go_profiles at;
	int64_t rate;
	struct go_buckets before;
};

struct buckets {
	const struct host *host;
	enum profile_type_id type;
	bool turn_on, keep_on; /* keep_on: until a later window turns it off */
	uint32_t turned_on;    /* number of processes */
	struct modules *modules;
	struct memory_spare spare;
	struct looks looks;
	uint64_t boot_ns; /* of the first look; CLOCK_BOOTTIME */
	int64_t start_ms;
	int64_t start_ns;
	uint64_t start_cycles;
};

static void
looked_done(void *row)
{
	struct looked *v = row;

	process_free(v->proc);
	gobin_free(v->bin);
	go_buckets_done(&v->before);
}

static void
buckets_free(void *state)
{
	struct buckets *b = state;

	if (!b)
		return;
	looks_done(&b->looks);
	memory_spare_done(&b->spare);
	modules_free(b->modules);
	free(b);
}

DEFINE_CLEANUP(struct buckets *, buckets_free)

/* --- the first look ------------------------------------------------------- */

static enum go_list
list_of(enum profile_type_id type)
{
	static const enum go_list lists[] = {
		[TYPE_memory] = GO_LIST_MEMORY,
		[TYPE_alloc] = GO_LIST_MEMORY,
		[TYPE_block] = GO_LIST_BLOCK,
		[TYPE_mutex] = GO_LIST_MUTEX,
	};

	return lists[type];
}

static uint64_t
rate_of(const struct go_profiles *at, enum go_list list)
{
	return list == GO_LIST_MEMORY  ? at->memory_rate
	       : list == GO_LIST_BLOCK ? at->block_rate
	                               : at->mutex_rate;
}

static int
find_program(struct buckets *b, struct looked *v)
{
	const struct map *map = process_program(v->proc);
	int rc;

	if (!map)
		return -ENOEXEC;
	v->module = map->module;
	v->at.elf = b->modules->rows[map->module]->elf;
	v->at.bias = map->bias;
	rc = gobin_open(v->at.elf, &v->bin);
	if (rc)
		return rc == -ENOENT || rc == -EBADMSG ? -ENOEXEC : rc;
	v->mem = (struct memory){b->host, (int32_t)v->proc->pid, &b->spare};
	v->at.mem = &v->mem;
	v->at.bin = v->bin;
	return go_profiles_find(&v->at);
}

/*
 * Reads the rate of a profile. The rate is also 0 when the linker found that
 * the program never asks for its memory profile: runtime/malloc.go,
 * disableMemoryProfiling.
 */
static int
read_rate(const struct buckets *b, struct looked *v)
{
	uint64_t at = rate_of(&v->at, list_of(b->type));
	int rc = at ? memory_copy(&v->mem, at, &v->rate, sizeof(v->rate))
	            : -EPROTO;

	if (rc)
		return rc == -EFAULT ? -EPROTO : rc;
	if (v->rate > MAX_RATE)
		return -EPROTO;
	return v->rate > 0 ? 0 : -ENODATA;
}

static int64_t
our_rate(const struct buckets *b)
{
	return bucket_of_memory(b->type) ? MEMORY_BYTES
	       : b->type == TYPE_block   ? BLOCK_CYCLES
	                                 : MUTEX_ONE_OF;
}

static uint32_t
keep_of(const struct buckets *b)
{
	return !b->keep_on             ? HOST_KEEP_NOT
	       : b->type == TYPE_block ? HOST_KEEP_BLOCK
	                               : HOST_KEEP_MUTEX;
}

/* Turns on a program's profile. Counts found by the first look are of earlier
 * captures. */
static int
turn_on(struct buckets *b, struct looked *v)
{
	struct host_ask ask = {
		.op = HOST_RATE,
		.pid = (int32_t)v->proc->pid,
		.address = rate_of(&v->at, list_of(b->type)),
		.period_ns = (uint64_t)our_rate(b),
		.count = keep_of(b),
	};
	uint32_t none;
	int rc = host_value(b->host, &ask, &none);

	if (rc) /* not allowed: there is nothing to read */
		return rc == -EPERM ? -ENODATA : rc;
	v->rate = our_rate(b);
	b->turned_on++;
	return 0;
}

/* Keeps a profile turned on that another of the worker's processes has turned
 * on. */
static void
stay_on(struct buckets *b, struct looked *v)
{
	if (b->turn_on && v->rate == our_rate(b) && turn_on(b, v))
		return; /* the program set the rate itself, and keeps it */
}

/*
 * Finds the program of a process, and the variables of the profile.
 *
 *   Shape    *v is {0}; looked_done() it, also on failure. b's modules exist
 *   Errors   as buckets_open(); -ENODATA: the rate is 0, but buckets can be
 *            read
 */
static int
look_at_program(struct buckets *b, struct looked *v, int32_t pid)
{
	int rc = engine_process(b->modules, pid, &v->proc);

	if (!rc)
		rc = find_program(b, v);
	if (!rc)
		rc = read_rate(b, v);
	return engine_error(rc);
}

/* Reads a process. counts_all: its counts so far belong to the profile, too. */
static int
look(struct buckets *b, struct looked *v, int32_t pid, bool counts_all)
{
	int rc = look_at_program(b, v, pid);
	bool off = rc == -ENODATA && b->turn_on;

	if (off)
		rc = 0;
	if (!rc && b->type != TYPE_memory && !counts_all)
		rc = go_buckets_read(&v->at, list_of(b->type), &v->before);
	if (!rc && off)
		rc = turn_on(b, v);
	else if (!rc)
		stay_on(b, v);
	return engine_error(rc);
}

static int
first_look(void *arg, void *row, int32_t pid, bool joined)
{
	struct buckets *b = arg;
	struct host_usage now;
	int rc = joined ? engine_usage(b->host, pid, &now) : 0;

	return rc ? rc
	          : look(b, row, pid,
	                 joined && now.began_ns + TICK_NS >= b->boot_ns);
}

static int look_again(void *arg, void *row);

static const struct looks_verbs verbs = {
	.size = sizeof(struct looked),
	.first = first_look,
	.again = look_again,
	.done = looked_done,
};

static int
buckets_join(void *state, const int32_t *pids, size_t n)
{
	struct buckets *b = state;

	return looks_join(&b->looks, pids, n);
}

static int
buckets_open(const struct engine_ask *ask, void **out)
{
	CLEANUP(buckets_free_ptr) struct buckets *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return -ENOMEM;
	b->host = ask->host;
	b->type = ask->type;
	b->turn_on = ask->turn_on;
	rc = modules_new(ask->host, &b->modules);
	b->boot_ns = engine_boot_ns();
	b->start_ms = clock_wall_ms();
	b->start_ns = clock_mono_ns();
	b->start_cycles = bucket_cycles();
	if (!rc)
		rc = looks_open(&b->looks, &verbs, b, ask);
	if (!rc)
		*out = TAKE(b);
	return rc;
}

static bool
buckets_counts(const void *state)
{
	const struct buckets *b = state;

	return b->turned_on != 0;
}

/* --- the second look ------------------------------------------------------ */

struct second {
	struct buckets *b;
	struct go_elapsed elapsed;
	struct profile *p;
	struct quality *q;
};

/* Adds the increase of a process since v->before. */
static int
add_rows(const struct second *s, struct looked *v, const struct go_buckets *now)
{
	CLEANUP_FREE struct go_runtime *r = calloc(1, sizeof(*r));
	CLEANUP(bucket_rows_done)
	struct bucket_rows rows = {
		.type = s->b->type,
		.from = &v->at,
		.rate = v->rate,
		.elapsed = s->elapsed,
		.stacks = {.bin = v->bin,
	                   .bias = v->at.bias,
	                   .hide_runtime = bucket_of_memory(s->b->type)},
		.frames = {.r = r,
	                   .modules = s->b->modules,
	                   .module = v->module,
	                   .p = s->p,
	                   .known = {.max = PAIRS_MAX}},
		.p = s->p,
		.q = s->q,
	};

	if (!r)
		return -ENOMEM;
	r->bin = v->bin;
	r->bias = v->at.bias;
	return bucket_rows_add(&rows, &v->before, now);
}

static int
look_again(void *arg, void *row)
{
	const struct second *s = arg;
	CLEANUP(go_buckets_done) struct go_buckets now = {0};
	struct looked *v = row;
	int rc = go_buckets_read(&v->at, list_of(s->b->type), &now);

	return rc ? rc : add_rows(s, v, &now);
}

/* Sets type, time and duration of the profile. */
static int
add_header(const struct second *s, int64_t start_ms, int64_t rate)
{
	s->p->time_ns = start_ms * NS_PER_MS;
	if (s->b->type != TYPE_memory)
		s->p->duration_ns = (int64_t)s->elapsed.ns;
	return buckets_header(s->p, s->b->type, rate);
}

static int
buckets_finish(void *state, struct profile **out, struct quality *quality)
{
	struct buckets *b = state;
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct quality q = {0};
	struct second s = {.b = b, .p = p, .q = &q};
	int rc;

	if (!p)
		return -ENOMEM;
	s.elapsed.now = bucket_cycles();
	s.elapsed.cycles = s.elapsed.now - b->start_cycles;
	s.elapsed.ns = (uint64_t)(clock_mono_ns() - b->start_ns);
	rc = add_header(&s, b->start_ms,
	                ((struct looked *)looks_row(&b->looks, 0))->rate)
	             ?: looks_again(&b->looks, &s, p, &q);
	if (rc || !q.processes)
		return rc ? rc : b->looks.last;
	q.duration_ms = p->duration_ns / NS_PER_MS;
	if (b->turned_on)
		q.notes |= QUALITY_NOTE_OF(TURNED_ON);
	if (!q.kept)
		quality_nothing(&q, profile_types[b->type].name);
	*quality = q;
	*out = TAKE(p);
	return 0;
}

/* --- consecutive windows -------------------------------------------------- */

/* A window: one look, and the last reading. */
struct grown {
	struct buckets b;
	const struct engine_ask *ask;
	const struct reading_head *last; /* NULL: no reading */
	struct second s;
	struct buf *next;
};

static void
grown_done(struct grown *g)
{
	memory_spare_done(&g->b.spare);
	modules_free(g->b.modules);
}

void
buckets_nobody(enum profile_type_id type, uint32_t known_ms, struct buf *out)
{
	reading_begin(out, type, known_ms);
}

/* --- one process of a window ---------------------------------------------- */

/* True when a process made all its counts since the last reading. */
static bool
is_new(const struct grown *g, uint64_t began_ns)
{
	return g->last && (int64_t)began_ns + EXEC_NS >= g->last->known_ns;
}

/* Compares a process with the last reading, if that contains the process. */
static int
compare(struct grown *g, struct looked *v, const struct reading_part *part,
        struct go_buckets *now)
{
	bool same = false;
	int rc = part->process ? reading_compare(part, g->b.type, now,
	                                         &v->before, &same)
	                       : 0;

	if (rc)
		return rc;
	g->s.q->execs += part->process && !same;
	g->s.q->processes++;
	return add_rows(&g->s, v, now);
}

static int
read_one(struct grown *g, struct looked *v, const struct reading_part *part,
         uint64_t began_ns)
{
	CLEANUP(go_buckets_done) struct go_buckets now = {0};
	int32_t pid = (int32_t)v->proc->pid;
	int rc = go_buckets_read(&v->at, list_of(g->b.type), &now);

	if (!rc && v->rate <= 0)
		rc = turn_on(&g->b, v);
	else if (!rc)
		stay_on(&g->b, v);
	if (!rc && !g->s.p->ntypes)
		rc = add_header(&g->s, g->b.start_ms, v->rate);
	if (!rc && (part->process || is_new(g, began_ns)))
		rc = compare(g, v, part, &now);
	return rc ? rc : reading_add(g->next, pid, began_ns, &now);
}

/* Reads a process. If that fails, the last reading of the process is kept, for
 * a later comparison. */
static int
grown_look(struct grown *g, int32_t pid)
{
	CLEANUP(looked_done) struct looked v = {0};
	struct reading_part part = {NULL, NULL};
	struct host_usage usage;
	int rc = engine_usage(g->b.host, pid, &usage), kept = 0;

	if (rc)
		return rc;
	if (g->last)
		part = reading_find(g->last, pid, usage.began_ns);
	rc = look_at_program(&g->b, &v, pid);
	if (!rc || (rc == -ENODATA && g->b.turn_on))
		rc = read_one(g, &v, &part, usage.began_ns);
	if (rc && rc != -ESRCH && !looks_fatal(rc) && part.process)
		kept = reading_keep(g->next, &part);
	return kept ? kept : engine_error(rc);
}

/* --- all processes of a window -------------------------------------------- */

static int
grown_look_at_all(struct grown *g)
{
	int last = g->ask->npids ? -ESRCH : 0;
	uint32_t had = 0;

	for (uint32_t i = 0; i < g->ask->npids; i++) {
		int rc = grown_look(g, g->ask->pids[i]);

		if (looks_fatal(rc) || rc == -EFBIG)
			return rc;
		if (rc)
			last = looks_worse(last, rc);
		had += !rc;
	}
	return had ? 0 : last;
}

static bool
has(const struct reading_head *h, const struct reading_process *p)
{
	return reading_find(h, p->pid, p->began_ns).process != NULL;
}

static void
count_ends(const struct grown *g)
{
	const struct reading_head *now = (const void *)g->next->p;

	for (uint32_t i = 0; g->last && i < g->last->nprocesses; i++)
		g->s.q->exits += !has(now, reading_part(g->last, i).process);
}

static void
begin(struct grown *g)
{
	const struct reading_head *now = (const void *)g->next->p;
	const struct reading_head *from = g->last ? g->last : now;

	g->b.start_ms = from->wall_ms;
	g->s.elapsed = (struct go_elapsed){
		.cycles = now->cycles - from->cycles,
		.ns = (uint64_t)(now->mono_ns - from->mono_ns),
		.now = now->cycles,
	};
}

static int
buckets_grow(const struct engine_ask *ask, const void *last, size_t n,
             struct buf *next, struct profile **out, struct quality *quality)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct quality q = {0};
	CLEANUP(grown_done)
	struct grown g = {
		.b = {.host = ask->host,
	              .type = ask->type,
	              .turn_on = ask->turn_on && ask->type != TYPE_alloc,
	              .keep_on = true},
		.ask = ask,
		.next = next};
	int rc = p ? 0 : -ENOMEM;

	g.s = (struct second){.b = &g.b, .p = p, .q = &q};
	if (!rc && n)
		rc = reading_check(last, n, ask->type, &g.last);
	if (!rc)
		rc = modules_new(ask->host, &g.b.modules);
	if (rc)
		return rc;
	reading_begin(next, ask->type, ask->known_ms);
	rc = buf_err(next);
	if (rc)
		return rc;
	begin(&g);
	rc = grown_look_at_all(&g);
	if (!rc && !p->ntypes)
		rc = add_header(&g.s, g.b.start_ms, 0);
	if (rc)
		return rc;
	count_ends(&g);
	q.duration_ms = p->duration_ns / NS_PER_MS;
	if (g.b.turned_on)
		q.notes |= QUALITY_NOTE_OF(TURNED_ON);
	*quality = q;
	*out = TAKE(p);
	return 0;
}

const struct engine buckets_engine = {
	.open = buckets_open,
	.counts = buckets_counts,
	.join = buckets_join,
	.finish = buckets_finish,
	.grow = buckets_grow,
	.free = buckets_free,
};
