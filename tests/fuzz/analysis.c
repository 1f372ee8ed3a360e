/*
 * Goroutine analysis, comparisons and differential flame graphs of profiles
 * that targets and uploads make.
 */
#include "profile/analysis.h"
#include "profile/diff.h"
#include "profile/pprof.h"

#include <assert.h>

#define MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
analyse(const struct profile *p)
{
	static const struct leak_limits limits = {.crowd = 1, .allow = "f*"};
	CLEANUP_ANALYSIS struct analysis *a = NULL;
	int64_t sum = 0;

	if (analysis_new(p, p, &limits, &a))
		return;
	for (uint32_t i = 0; i < a->groups->n; i++)
		sum += a->groups->items[i].count[1];
	assert(sum == a->count && a->count == a->base_count);
	assert(a->nsuspects <= a->groups->n);
}

static void
diff(const struct compare_side *side, const struct comparison *c)
{
	const struct export_meta one = {
		.title = "", .id = "", .service = "", .type = ""};
	const struct diff_meta meta = {one, one, c, DIFF_BOTH};
	CLEANUP_DIFF struct diff *d = NULL;

	if (diff_new(side, side, c, &d))
		return;
	assert(d->tree->n == side->tree->n);
	for (uint32_t i = 0; i < d->tree->n; i++) {
		assert(d->tree->total[i] == d->base_total[i]);
		assert(d->tree->end[i] == side->tree->end[i]);
		assert(!d->sure[i]);
	}
	for (size_t i = 0; i < ndiff_formats; i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(MAX_BYTES);

		(void)!diff_formats[i].write(d, &meta, &out);
	}
}

/* Marks all functions as changed, so that nodes are tested, too. */
static void
list_all(struct comparison *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->functions[i].change = COMPARE_REGRESSION;
	c->nregressions = c->n;
}

/* Cuts the profile into blocks, as if each row had been sampled value times
 * without a break. */
static struct blocks *
cut(const struct tree *t, enum blocks_what what)
{
	CLEANUP_TIMELINE struct timeline *line = timeline_new();
	struct blocks *b = NULL;

	if (!line || timeline_thread(line, &(struct timeline_thread){0}))
		return NULL;
	for (uint32_t i = 0; i < 2 * BLOCKS_SAMPLES && t->profile->nsamples;
	     i++)
		if (timeline_sample(
			    line, &(struct timeline_sample){
					  .time_us = i,
					  .weight_ns = i,
					  .sample = i % t->profile->nsamples}))
			return NULL;
	return blocks_of_timeline(t, line, what, &b) ? NULL : b;
}

/* A profile must not differ from itself. */
static void
compare(const struct profile *p, uint32_t type)
{
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BLOCKS struct blocks *b = NULL;
	CLEANUP_BLOCKS struct blocks *nodes = NULL;

	if (tree_new(p, type, &t))
		return;
	b = cut(t, BLOCKS_OF_FUNCTIONS);
	nodes = cut(t, BLOCKS_OF_NODES);
	const struct tree *const others[] = {t, t};
	const struct compare_side side = {t, 1, 2, b, nodes, others, 2};

	for (int by = COMPARE_BY_SHARE; by <= COMPARE_BY_NONE; by++) {
		CLEANUP_COMPARISON struct comparison *c = NULL;

		if (compare_new(&side, &side, false, (enum compare_by)by, &c))
			return;
		assert(c->nregressions + c->nimprovements == 0);
		list_all(c);
		diff(&side, c);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;

	if (pprof_decode(data, n, MAX_BYTES, &p, &why))
		return 0;
	analyse(p);
	for (uint32_t type = 0; type < p->ntypes; type++)
		compare(p, type);
	return 0;
}
