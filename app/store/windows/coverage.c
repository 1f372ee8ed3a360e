#include "store/coverage.h"

#include <errno.h>
#include <string.h>

/* A sweep over time, from each start or end of a window to the next. */
struct sweep {
	struct span *spans; /* ordered by start */
	size_t n, next;
	const struct span **active;
	size_t nactive;
};

static void
sweep_done(struct sweep *w)
{
	free(w->spans);
	free(w->active);
}

static int
by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start_ms > y->start_ms) - (x->start_ms < y->start_ms);
}

static int
by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
sweep_init(struct sweep *w, const struct span *spans, size_t n)
{
	w->spans = calloc(n + 1, sizeof(*w->spans));
	w->active = calloc(n + 1, sizeof(*w->active));
	if (!w->spans || !w->active)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (spans[i].end_ms > spans[i].start_ms)
			w->spans[w->n++] = spans[i];
	qsort(w->spans, w->n, sizeof(*w->spans), by_start);
	return 0;
}

/* Returns the covered part of the time right after at_ms, 0..1. */
static double
density(struct sweep *w, int64_t at_ms)
{
	double most = 0;
	size_t n = 0;

	while (w->next < w->n && w->spans[w->next].start_ms <= at_ms)
		w->active[w->nactive++] = &w->spans[w->next++];
	for (size_t i = 0; i < w->nactive; i++) {
		const struct span *s = w->active[i];
		double share = (double)s->covered_ms /
		               (double)(s->end_ms - s->start_ms);

		if (s->end_ms <= at_ms)
			continue;
		w->active[n++] = s;
		most = share > most ? share : most;
	}
	w->nactive = n;
	return most < 1 ? most : 1;
}

/* Collects all times at which the covered part may change, in order. */
static int
edges(const struct sweep *w, int64_t from_ms, int64_t step_ms, size_t n,
      int64_t **out, size_t *out_n)
{
	int64_t *at = calloc(2 * w->n + n + 1, sizeof(*at));
	size_t k = 0;

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		at[k++] = w->spans[i].start_ms;
		at[k++] = w->spans[i].end_ms;
	}
	for (size_t i = 0; i <= n; i++)
		at[k++] = from_ms + (int64_t)i * step_ms;
	qsort(at, k, sizeof(*at), by_time);
	*out = at;
	*out_n = k;
	return 0;
}

int
coverage_of(const struct span *spans, size_t nspans, int64_t from_ms,
            int64_t step_ms, size_t n, double *out_ms)
{
	CLEANUP(sweep_done) struct sweep w = {0};
	CLEANUP_FREE int64_t *at = NULL;
	int64_t to_ms = from_ms + (int64_t)n * step_ms;
	size_t nat = 0;
	int rc = sweep_init(&w, spans, nspans)
	                 ?: edges(&w, from_ms, step_ms, n, &at, &nat);

	if (rc)
		return rc;
	memset(out_ms, 0, n * sizeof(*out_ms));
	for (size_t i = 0; i + 1 < nat; i++) {
		double part = density(&w, at[i]);

		if (at[i] >= from_ms && at[i] < to_ms)
			out_ms[(at[i] - from_ms) / step_ms] +=
				part * (double)(at[i + 1] - at[i]);
	}
	return 0;
}

int
coverage_gaps(const struct span *spans, size_t nspans, const struct gap *range,
              int64_t least_ms, struct gap *out, size_t max, size_t *out_n)
{
	CLEANUP(sweep_done) struct sweep w = {0};
	int64_t at = range->from_ms;
	size_t found = 0;
	int rc = sweep_init(&w, spans, nspans);

	for (size_t i = 0; !rc && i <= w.n && at < range->to_ms; i++) {
		int64_t next = i < w.n ? w.spans[i].start_ms : range->to_ms;

		next = next < range->to_ms ? next : range->to_ms;
		if (next - at >= least_ms && found++ < max)
			out[found - 1] = (struct gap){at, next};
		if (i < w.n && w.spans[i].end_ms > at)
			at = w.spans[i].end_ms;
	}
	if (!rc)
		*out_n = found;
	return rc;
}
