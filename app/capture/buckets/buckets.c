#include "capture/buckets.h"

#include "base/clock.h"
#include "buckets_private.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define MAX_RATE  (INT64_C(1) << 62)
#define TICK_NS   UINT64_C(10000000) /* that the begin of a process is exact */
#define MAX_NAMED 64 /* processes whose programs a profile names */

void
looked_done(struct looked *v)
{
	process_free(v->proc);
	gobin_free(v->bin);
	go_buckets_done(&v->before);
}

void
buckets_free(struct buckets *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->n; i++)
		looked_done(&b->rows[i]);
	free(b->rows);
	memory_spare_done(&b->spare);
	modules_free(b->modules);
	free(b);
}

/* --- the first look --------------------------------------------------------
 */

enum go_list
buckets_list(enum buckets_type type)
{
	static const enum go_list lists[] = {
		[BUCKETS_MEMORY] = GO_LIST_MEMORY,
		[BUCKETS_ALLOC] = GO_LIST_MEMORY,
		[BUCKETS_BLOCK] = GO_LIST_BLOCK,
		[BUCKETS_MUTEX] = GO_LIST_MUTEX,
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
 * A program that the linker found not to ask for its memory profile has a
 * rate of 0 as one that set it: runtime/malloc.go, disableMemoryProfiling.
 */
static int
read_rate(const struct buckets *b, struct looked *v)
{
	uint64_t at = rate_of(&v->at, buckets_list(b->type));
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
	return b->type == BUCKETS_BLOCK ? BLOCK_CYCLES : MUTEX_ONE_OF;
}

static uint32_t
keep_of(const struct buckets *b)
{
	return !b->keep_on                ? HOST_KEEP_NOT
	       : b->type == BUCKETS_BLOCK ? HOST_KEEP_BLOCK
	                                  : HOST_KEEP_MUTEX;
}

/* After the first look: there was nothing, and what comes now counts. */
int
buckets_turn_on(struct buckets *b, struct looked *v)
{
	struct host_ask ask = {
		.op = HOST_RATE,
		.pid = (int32_t)v->proc->pid,
		.address = rate_of(&v->at, buckets_list(b->type)),
		.period_ns = (uint64_t)our_rate(b),
		.count = keep_of(b),
	};
	uint32_t none;
	int rc = host_value(b->host, &ask, &none);

	if (rc) /* it may not be: then there is nothing to be had */
		return rc == -EPERM ? -ENODATA : rc;
	v->rate = our_rate(b);
	b->turned_on++;
	return 0;
}

void
buckets_stay_on(struct buckets *b, struct looked *v)
{
	if (b->turn_on && v->rate == our_rate(b) && buckets_turn_on(b, v))
		return; /* the program set it: nobody takes it back */
}

int
buckets_look(struct buckets *b, struct looked *v, int32_t pid)
{
	uint32_t threads;
	int rc;

	v->proc = calloc(1, sizeof(*v->proc));
	if (!v->proc)
		return -ENOMEM;
	v->proc->pid = v->proc->parent = v->proc->origin = (uint32_t)pid;
	v->proc->modules = b->modules;
	rc = process_read_maps(v->proc, b->modules, &threads);
	if (!rc)
		rc = find_program(b, v);
	if (!rc)
		rc = read_rate(b, v);
	return rc == -EACCES || rc == -EPERM ? -EXDEV : rc;
}

int
buckets_began(const struct buckets *b, int32_t pid, uint64_t *out)
{
	struct host_ask ask = {.op = HOST_USAGE, .count = 1, .list = {pid}};
	CLEANUP_FREE struct host_reply *reply = malloc(sizeof(*reply));
	int rc = reply ? host_answer(b->host, &ask, reply) : -ENOMEM;

	if (rc)
		return rc;
	if (reply->value != 1 || reply->usage[0].pid != pid)
		return -ESRCH;
	*out = reply->usage[0].began_ns;
	return 0;
}

/* counts_all: what it has counted so far belongs to the profile, too. */
static int
look(struct buckets *b, struct looked *v, int32_t pid, bool counts_all)
{
	int rc = buckets_look(b, v, pid);
	bool off = rc == -ENODATA && b->turn_on;

	if (off)
		rc = 0;
	if (!rc && b->type != BUCKETS_MEMORY && !counts_all)
		rc = go_buckets_read(&v->at, buckets_list(b->type), &v->before);
	if (!rc && off)
		rc = buckets_turn_on(b, v);
	else if (!rc)
		buckets_stay_on(b, v);
	return rc == -EACCES || rc == -EPERM ? -EXDEV : rc;
}

bool
buckets_is_fatal(int rc)
{
	return rc == -ENOMEM || rc == -E2BIG;
}

static int
rank(int rc)
{
	switch (rc) {
	case -ESRCH:
		return 0;
	case -ENOEXEC:
		return 1;
	case -EPROTO:
		return 3;
	case -ENODATA:
		return 4;
	default:
		return 2;
	}
}

int
buckets_telling(int last, int rc)
{
	return rank(rc) >= rank(last) ? rc : last;
}

/* What can't be had of one process is not missed while others have it. */
static int
look_at_all(struct buckets *b, const struct buckets_ask *ask)
{
	int last = -ESRCH;

	for (uint32_t i = 0; i < ask->npids; i++) {
		struct looked *v = &b->rows[b->n];
		int rc = look(b, v, ask->pids[i], false);

		if (!rc) {
			b->n++;
			v->mem.spare = &b->spare;
			continue;
		}
		looked_done(v);
		*v = (struct looked){0};
		if (buckets_is_fatal(rc))
			return rc;
		b->unread += rc != -ESRCH;
		last = buckets_telling(last, rc);
	}
	return b->n ? 0 : last;
}

static bool
is_looked_at(const struct buckets *b, int32_t pid)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->rows[i].proc->pid == (uint32_t)pid)
			return true;
	return false;
}

static int
join(struct buckets *b, struct looked *v, int32_t pid)
{
	uint64_t began_ns;
	int rc = buckets_began(b, pid, &began_ns);

	return rc ? rc : look(b, v, pid, began_ns + TICK_NS >= b->boot_ns);
}

int
buckets_join(struct buckets *b, const int32_t *pids, size_t n)
{
	for (size_t i = 0; i < n && b->n < b->room; i++) {
		struct looked *v = &b->rows[b->n];
		int rc = is_looked_at(b, pids[i]) ? -EEXIST
		                                  : join(b, v, pids[i]);

		if (!rc) {
			b->n++;
			v->mem.spare = &b->spare;
			continue;
		}
		looked_done(v);
		*v = (struct looked){0};
		if (buckets_is_fatal(rc))
			return rc;
	}
	return 0;
}

static uint64_t
boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)(t.tv_sec * NS_PER_S + t.tv_nsec);
}

int
buckets_open(const struct host *host, const struct buckets_ask *ask,
             struct buckets **out)
{
	CLEANUP_BUCKETS struct buckets *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return -ENOMEM;
	b->host = host;
	b->type = ask->type;
	b->turn_on = ask->turn_on && ask->type > BUCKETS_ALLOC;
	b->room = ask->npids + BUCKETS_MAX_JOINED;
	b->rows = calloc(b->room, sizeof(*b->rows));
	if (!b->rows)
		return -ENOMEM;
	rc = modules_new(host, &b->modules);
	b->boot_ns = boot_ns();
	b->start_ms = clock_wall_ms();
	b->start_ns = clock_mono_ns();
	b->start_cycles = bucket_cycles();
	if (!rc)
		rc = look_at_all(b, ask);
	if (!rc)
		*out = TAKE(b);
	return rc;
}

/* --- the second ------------------------------------------------------------
 */

int
buckets_add_rows(const struct second *s, struct looked *v,
                 const struct go_buckets *now)
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
	                   .hide_runtime = s->b->type <= BUCKETS_ALLOC},
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

/* Says in the profile whose it is: "process 42: /usr/bin/server". */
static int
add_name(const struct second *s, const struct looked *v)
{
	CLEANUP_BUF struct buf text = BUF_INIT(HOST_MAX_PATH + 32);

	if (s->p->ncomments >= MAX_NAMED)
		return 0;
	buf_addf(&text, "process %u: %s", v->proc->pid,
	         s->b->modules->rows[v->module]->path);
	return buf_err(&text) ? 0 : profile_comment(s->p, buf_str(&text));
}

static int
look_again(const struct second *s, struct looked *v)
{
	CLEANUP(go_buckets_done) struct go_buckets now = {0};
	int rc = go_buckets_read(&v->at, buckets_list(s->b->type), &now);

	if (!rc)
		rc = add_name(s, v);
	return rc ? rc : buckets_add_rows(s, v, &now);
}

static int
look_at_all_again(const struct second *s)
{
	int last = -ESRCH;

	for (uint32_t i = 0; i < s->b->n; i++) {
		int rc = look_again(s, &s->b->rows[i]);

		if (buckets_is_fatal(rc))
			return rc;
		if (rc)
			last = rc;
		s->q->processes += !rc;
		s->q->processes_unread += rc && rc != -ESRCH;
	}
	s->q->processes_unread += s->b->unread;
	return s->q->processes ? 0 : last;
}

int
buckets_header(const struct second *s, int64_t start_ms, int64_t rate)
{
	s->p->time_ns = start_ms * NS_PER_MS;
	if (s->b->type != BUCKETS_MEMORY)
		s->p->duration_ns = (int64_t)s->elapsed.ns;
	return bucket_rows_header(s->p, s->b->type, rate);
}

int
buckets_finish(struct buckets *b, struct profile **out, struct quality *quality)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct quality q = {0};
	struct second s = {.b = b, .p = p, .q = &q};
	int rc;

	if (!p)
		return -ENOMEM;
	s.elapsed.now = bucket_cycles();
	s.elapsed.cycles = s.elapsed.now - b->start_cycles;
	s.elapsed.ns = (uint64_t)(clock_mono_ns() - b->start_ns);
	rc = buckets_header(&s, b->start_ms, b->rows[0].rate);
	if (!rc)
		rc = look_at_all_again(&s);
	if (rc)
		return rc;
	q.duration_ms = p->duration_ns / NS_PER_MS;
	if (b->turned_on)
		q.notes |= QUALITY_NOTE_OF(TURNED_ON);
	if (!q.kept)
		q.notes |= QUALITY_NOTE_OF(NOTHING_COUNTED);
	*quality = q;
	*out = TAKE(p);
	return 0;
}
