/* The parts of a range as one profile. */
#include "ahead.h"
#include "range/range.h"

#include "base/clock.h"
#include "base/file.h"
#include "profile/merge.h"
#include "profile/types.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Unit of the weights of a gauge's windows: a coarser one would distort short
 * windows, a finer one would overflow 64 bits too soon. */
#define WEIGHT_MS 100

/* Returns the time that each of a part's windows covers, in WEIGHT_MS. */
static int64_t
weight_of(const struct range_part *p)
{
	int64_t each = p->span.covered_ms / p->windows;

	return each < WEIGHT_MS ? 1 : (each + WEIGHT_MS / 2) / WEIGHT_MS;
}

/* True if all windows have equal weight, as most do: a count is then enough. */
static bool
weighs_alike(const struct range *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (weight_of(&r->parts[i]) != weight_of(&r->parts[0]))
			return false;
	return true;
}

/*
 * Returns the number by which the sum of weighted values is divided for the
 * mean over the covered time. The weights of one series add up to its time;
 * those of n concurrent series to n times that.
 */
static int64_t
divisor(const struct range *r, bool alike)
{
	double weights = 0, all_ms = 0, most;

	for (size_t i = 0; i < r->n; i++) {
		const struct range_part *p = &r->parts[i];

		weights += (double)(p->windows * (alike ? 1 : weight_of(p)));
		all_ms += (double)p->span.covered_ms;
	}
	most = all_ms > 0 ? weights * r->covered_ms / all_ms : weights;
	return most < 1 ? 1 : llround(most);
}

/* Adds the next part. If reduce is not NULL, adds only the value that this type
 * shows, and marks a part without such a value as unfit. */
static int
add_next(struct ahead *a, int64_t weight, const struct type *reduce,
         struct range_part *part, struct merge *m, struct buf *why)
{
	CLEANUP_PACKED struct packed one = {0};
	int rc = ahead_take(a, &one, why);

	if (rc || !one.p)
		return rc;
	rc = reduce ? profile_reduce(one.p, reduce) : 0;
	part->unfit = rc == -ENODATA;
	if (part->unfit)
		return 0;
	rc = rc ?: profile_scale(one.p, weight, 1);
	return rc ? rc : merge_add_packed(m, &one);
}

/* Returns 0 while somebody waits for the result. */
static int
go_on(const struct range *r, int64_t end_ns)
{
	if (r->peer && fd_hung_up(*r->peer))
		return -ECANCELED;
	return clock_mono_ns() > end_ns ? -ETIME : 0;
}

static int
add_all(struct range *r, bool weighted, const struct type *reduce,
        struct merge *m, struct buf *why)
{
	CLEANUP_AHEAD struct ahead *a = NULL;
	int64_t end = r->end_ns ? r->end_ns : clock_mono_ns() + RANGE_MAX_NS;
	int rc = ahead_new(r, &a);

	for (size_t i = 0; i < r->n && !rc; i++) {
		int64_t weight = weighted ? weight_of(&r->parts[i]) : 1;

		rc = go_on(r, end)
		             ?: add_next(a, weight, reduce, &r->parts[i], m,
		                         why);
	}
	return rc;
}

/* Removes unfit parts from the range, and keeps the ids of the first few. */
static int
leave_unfit_out(struct range *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct range_part *p = &r->parts[i];

		if (!p->unfit)
			r->parts[n++] = *p;
		else if (r->nunfit++ < RANGE_UNFIT_NAMED)
			r->unfit[r->nunfit - 1] = p->window ? p->window->id
			                                    : p->session->id;
	}
	if (n == r->n)
		return 0;
	r->n = n;
	return n ? range_cover(r) : -EINVAL;
}

static int
merge_parts(struct range *r, const struct type *reduce, struct profile **out,
            struct buf *why)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	bool gauge = type_is_gauge(r->type), alike = weighs_alike(r);
	int rc = merge_new(RANGE_MAX_MERGED, &m);

	if (!rc)
		rc = add_all(r, gauge && !alike, reduce, m, why);
	if (!rc)
		rc = leave_unfit_out(r);
	if (!rc)
		rc = merge_end(m, &p);
	if (!rc && gauge)
		rc = profile_scale(p, 1, divisor(r, alike));
	if (!rc)
		*out = TAKE(p);
	return rc;
}

int
range_merge(struct range *r, struct profile **out, struct buf *why)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = merge_parts(r, NULL, &p, why);

	if (rc == -EINVAL) /* their values differ */
		rc = merge_parts(r, type_find(r->type), &p, why);
	if (rc)
		return rc;
	p->duration_ns = (int64_t)(r->covered_ms * (double)NS_PER_MS);
	*out = TAKE(p);
	return 0;
}
