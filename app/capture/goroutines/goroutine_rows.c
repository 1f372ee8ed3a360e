#include "goroutine_rows.h"

#include "base/clock.h"
#include "goroutine_labels.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Limit of channels and locks of one group that get separate rows. */
#define MAX_SHOWN 16

struct rows {
	const struct go_groups *groups;
	struct go_frames frames;
	struct profile *p;
	struct quality *q;
	int64_t now_ns;
	const struct go_member **order; /* members by group */
};

static void
rows_done(struct rows *r)
{
	go_frames_done(&r->frames);
	free(r->order);
}

/* --- order ---------------------------------------------------------------- */

static int
by_goid(const void *a, const void *b)
{
	const struct go_member *x = *(struct go_member *const *)a;
	const struct go_member *y = *(struct go_member *const *)b;

	return (x->goid > y->goid) - (x->goid < y->goid);
}

static int
by_target(const void *a, const void *b)
{
	const struct go_member *x = *(struct go_member *const *)a;
	const struct go_member *y = *(struct go_member *const *)b;
	int by = (x->target > y->target) - (x->target < y->target);

	return by ? by : by_goid(a, b);
}

/* Orders members by group, and within a group in the order they were read. */
static int
order_members(struct rows *r)
{
	const struct go_groups *s = r->groups;
	const struct go_member *m = (const void *)s->members.p;
	size_t n = s->members.len / sizeof(*m);
	CLEANUP_FREE uint32_t *next = calloc(s->keys.n + 1, sizeof(*next));

	r->order = calloc(n + 1, sizeof(struct go_member *));
	if (!next || !r->order)
		return -ENOMEM;
	for (uint32_t i = 1; i < s->keys.n; i++)
		next[i] = next[i - 1] + s->groups[i - 1].n;
	for (size_t i = 0; i < n; i++)
		r->order[next[m[i].group]++] = &m[i];
	return 0;
}

static void
sort(const struct go_member **m, uint32_t n,
     int (*by)(const void *, const void *))
{
	uint32_t i = 1;

	while (i < n && by(&m[i - 1], &m[i]) <= 0)
		i++;
	if (i < n)
		qsort(m, n, sizeof(struct go_member *), by);
}

/* --- rows ----------------------------------------------------------------- */

/* Writes the stack of a group, leaf first. */
static int
stack_of(struct rows *r, const struct go_group *g, uint32_t *out, uint32_t *n)
{
	const struct pair *nodes = r->groups->stacks.rows;
	CLEANUP_FREE uint64_t *pcs = calloc(PROFILE_MAX_FRAMES, sizeof(*pcs));
	uint32_t count = 0;

	if (!pcs)
		return -ENOMEM;
	for (uint32_t i = g->stack; i && count < PROFILE_MAX_FRAMES;
	     i = nodes[i].a)
		pcs[count++] = nodes[i].b;
	return go_frames_stack(&r->frames, pcs, count, out, n);
}

static int
add_row(struct rows *r, const struct go_row *row, const uint32_t *stack,
        uint32_t n)
{
	struct label labels[PROFILE_MAX_LABELS];
	int64_t value = row->n;
	uint32_t nlabels;
	int rc = go_labels(r->groups, &r->frames, row, stack, n, r->now_ns,
	                   labels, &nlabels);

	r->q->frames += value * n;
	r->q->symbolized += value * n;
	return rc ? rc
	          : profile_sample(r->p, stack, n, labels, nlabels, &value);
}

/* Counts the members from m on that wait for the first one's target. */
static uint32_t
run_of(const struct go_member *const *m, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && m[i]->target == m[0]->target)
		i++;
	return i;
}

/* Lists the targets of a group whose members are sorted by target. Returns
 * their number, or 0 when there are too many. */
static uint32_t
list_targets(const struct go_member *const *m, uint32_t n,
             struct go_chan out[MAX_SHOWN])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i += run_of(m + i, n - i)) {
		if (count == MAX_SHOWN)
			return 0;
		out[count++] = (struct go_chan){.addr = m[i]->target};
	}
	return count;
}

/* True when the wait reason says that the target is a channel. */
static bool
is_channel(const struct go_groups *s, const struct go_group *g)
{
	return g->reason < GO_MAX_REASONS &&
	       !strncmp(s->r->reasons[g->reason], "chan ", strlen("chan "));
}

static int
add_by_target(struct rows *r, struct go_row *row, const uint32_t *stack,
              uint32_t n)
{
	const struct go_member *const *m = row->members;
	struct go_chan targets[MAX_SHOWN];
	uint32_t all = row->n, count = list_targets(m, all, targets);
	int rc = 0;

	if (is_channel(r->groups, row->group))
		rc = go_wait_channels(r->groups->r, targets, count);
	for (uint32_t i = 0, k = 0; i < all && !rc; i += row->n, k++) {
		row->members = m + i;
		row->n = run_of(m + i, all - i);
		row->target = targets[k].addr ? &targets[k] : NULL;
		rc = add_row(r, row, stack, n);
	}
	return rc;
}

static int
add_group(struct rows *r, const struct go_group *g, const struct go_member **m)
{
	struct go_row row = {.group = g, .members = m, .n = g->n};
	struct go_chan targets[MAX_SHOWN];
	uint32_t stack[PROFILE_MAX_FRAMES], n;
	int rc = stack_of(r, g, stack, &n);

	if (rc || !g->n)
		return rc;
	sort(m, g->n, by_target);
	if (list_targets(m, g->n, targets))
		return add_by_target(r, &row, stack, n);
	sort(m, g->n, by_goid);
	return add_row(r, &row, stack, n);
}

static int
add_groups(struct rows *r)
{
	const struct go_groups *s = r->groups;
	const struct go_member **m;
	int rc = order_members(r);

	m = r->order;
	for (uint32_t i = 0; i < s->keys.n && !rc; i++) {
		rc = add_group(r, &s->groups[i], m);
		m += s->groups[i].n;
	}
	return rc;
}

/* --- the whole process ---------------------------------------------------- */

static int
open_program(const struct goroutines_ask *ask, struct go_runtime *r)
{
	const struct elf_image *elf = ask->modules->rows[ask->module]->elf;
	int rc;

	if (elf->machine != EM_X86_64) /* go_walk() knows only this machine */
		return -ENOEXEC;
	rc = gobin_open(elf, &r->bin);
	return rc == -ENOENT || rc == -EBADMSG ? -ENOEXEC : rc;
}

static void
count(const struct go_groups *s, const struct go_read_stats *stats,
      struct quality *q)
{
	q->goroutines += (int64_t)s->seen;
	q->goroutines_system += (int64_t)s->system;
	q->kept += (int64_t)s->seen;
	q->unread += (int64_t)s->unread;
	q->reached_root += (int64_t)s->whole;
	q->truncated += (int64_t)s->deep;
	q->unwind_failed += (int64_t)s->lost;
	q->retried += (int64_t)stats->retried;
	q->stopped += (int64_t)stats->stopped;
	q->stopped_ns += (int64_t)stats->stopped_ns;
}

static int
read_groups(struct go_runtime *r, struct go_groups *s, struct profile *p,
            struct quality *q)
{
	struct go_read_stats stats = {0};
	struct go_sink sink = go_groups_sink(s);
	int64_t start = clock_mono_ns();
	int rc = go_groups_init(s, r, p);

	if (!rc)
		rc = go_read(r, &sink, &stats);
	if (!rc)
		rc = go_wait_targets(s);
	p->duration_ns += clock_mono_ns() - start;
	if (!rc)
		count(s, &stats, q);
	return rc;
}

static void
runtime_free(struct go_runtime *r)
{
	if (r)
		gobin_free(r->bin);
	free(r);
}
DEFINE_CLEANUP(struct go_runtime *, runtime_free)

int
goroutines_add(const struct goroutines_ask *ask, struct profile *p,
               struct quality *q)
{
	CLEANUP(memory_spare_done) struct memory_spare spare = {.n = 0};
	struct memory mem = {ask->host, ask->pid, &spare};
	CLEANUP(runtime_free_ptr) struct go_runtime *r = calloc(1, sizeof(*r));
	CLEANUP(go_groups_done) struct go_groups s = {.cap = 0};
	CLEANUP(rows_done)
	struct rows rows = {
		.groups = &s, .p = p, .q = q, .now_ns = clock_mono_ns()};
	int rc;

	if (!r)
		return -ENOMEM;
	r->mem = &mem;
	r->bias = ask->bias;
	rc = open_program(ask, r);
	if (!rc)
		rc = go_runtime_find(r);
	if (!rc)
		rc = read_groups(r, &s, p, q);
	if (rc)
		return rc;
	rows.frames = (struct go_frames){.r = r,
	                                 .modules = ask->modules,
	                                 .module = ask->module,
	                                 .p = p,
	                                 .known = {.max = PAIRS_MAX}};
	return add_groups(&rows);
}
