/* Windows side by side: one look each, compared to the reading before. */
#include "base/clock.h"
#include "bucket_reading.h"
#include "buckets_private.h"

#include <errno.h>
#include <string.h>

/* From the begin of a process until it runs the program that it is known by:
 * before that nobody could know it. */
#define EXEC_NS (10 * NS_PER_S)

struct grown {
	struct buckets b;
	const struct buckets_ask *ask;
	const struct reading_head *last; /* NULL: there is none */
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
buckets_nobody(enum buckets_type type, uint32_t known_ms, struct buf *out)
{
	reading_begin(out, type, known_ms);
}

/* --- one process -----------------------------------------------------------
 */

/* Whether all that a process has counted came since the last reading. */
static bool
is_new(const struct grown *g, uint64_t began_ns)
{
	return g->last && (int64_t)began_ns + EXEC_NS >= g->last->known_ns;
}

/* Its rows beyond those of the last reading, if that can be told. */
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
	return buckets_add_rows(&g->s, v, now);
}

static int
read_one(struct grown *g, struct looked *v, const struct reading_part *part,
         uint64_t began_ns)
{
	CLEANUP(go_buckets_done) struct go_buckets now = {0};
	int32_t pid = (int32_t)v->proc->pid;
	int rc = go_buckets_read(&v->at, buckets_list(g->b.type), &now);

	if (!rc && v->rate <= 0)
		rc = buckets_turn_on(&g->b, v);
	else if (!rc)
		buckets_stay_on(&g->b, v);
	if (!rc && !g->s.p->ntypes)
		rc = buckets_header(&g->s, g->b.start_ms, v->rate);
	if (!rc && (part->process || is_new(g, began_ns)))
		rc = compare(g, v, part, &now);
	return rc ? rc : reading_add(g->next, pid, began_ns, &now);
}

/* One that can't be read now is compared to its last reading when it can. */
static int
look(struct grown *g, int32_t pid)
{
	CLEANUP_LOOKED struct looked v = {0};
	struct reading_part part = {NULL, NULL};
	uint64_t began_ns;
	int rc = buckets_began(&g->b, pid, &began_ns), kept = 0;

	if (rc)
		return rc;
	if (g->last)
		part = reading_find(g->last, pid, began_ns);
	rc = buckets_look(&g->b, &v, pid);
	if (!rc || (rc == -ENODATA && g->b.turn_on))
		rc = read_one(g, &v, &part, began_ns);
	if (rc && rc != -ESRCH && !buckets_is_fatal(rc) && part.process)
		kept = reading_keep(g->next, &part);
	return kept ? kept : rc == -EACCES || rc == -EPERM ? -EXDEV : rc;
}

/* --- all of them -----------------------------------------------------------
 */

/* What can't be had of one process is not missed while others have it. */
static int
look_at_all(struct grown *g)
{
	int last = g->ask->npids ? -ESRCH : 0;
	uint32_t had = 0;

	for (uint32_t i = 0; i < g->ask->npids; i++) {
		int rc = look(g, g->ask->pids[i]);

		if (buckets_is_fatal(rc) || rc == -EFBIG)
			return rc;
		if (rc)
			last = buckets_telling(last, rc);
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

int
buckets_grown(const struct host *host, const struct buckets_ask *ask,
              const void *last, size_t n, struct buf *next,
              struct profile **out, struct quality *quality)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct quality q = {0};
	CLEANUP(grown_done)
	struct grown g = {
		.b = {.host = host,
	              .type = ask->type,
	              .turn_on = ask->turn_on && ask->type != BUCKETS_ALLOC,
	              .keep_on = true},
		.ask = ask,
		.next = next};
	int rc = p ? 0 : -ENOMEM;

	g.s = (struct second){.b = &g.b, .p = p, .q = &q};
	if (!rc && n)
		rc = reading_check(last, n, ask->type, &g.last);
	if (!rc)
		rc = modules_new(host, &g.b.modules);
	if (rc)
		return rc;
	reading_begin(next, ask->type, ask->known_ms);
	rc = buf_err(next);
	if (rc)
		return rc;
	begin(&g);
	rc = look_at_all(&g);
	if (!rc && !p->ntypes)
		rc = buckets_header(&g.s, g.b.start_ms, 0);
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
