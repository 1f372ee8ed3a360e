/*
 * Profiles that targets and uploads make, as goroutine analysis, diffs and
 * comparisons read them.
 */
#include "profile/analysis.h"
#include "profile/compare.h"
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

/* A profile does not differ from itself, whatever it holds. */
static void
compare(const struct profile *p, uint32_t type)
{
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_COMPARISON struct comparison *c = NULL;

	if (tree_new(p, type, &t))
		return;
	const struct compare_side side = {t, 1};

	if (!compare_new(&side, &side, false, &c))
		assert(c->nregressions + c->nimprovements == 0);
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
