/* The parts of a range as one profile. */
#include "ahead.h"
#include "range/names.h"
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

/* Adds a profile, which may be changed. If reduce is not NULL, adds only the
 * value that this type shows; -ENODATA if there is none. */
static int
add_one(struct packed *k, int64_t weight, const struct type *reduce,
        struct merge *m)
{
	int rc = reduce ? profile_reduce(k->p, reduce) : 0;

	return rc ?: profile_scale(k->p, weight, 1) ?: merge_add_packed(m, k);
}

/* A range that is being added up. */
struct adding {
	struct range *r;
	bool weighted;
	const struct type *reduce;
	struct merge *m;
};

static int64_t
weight_in(const struct adding *a, size_t part)
{
	return a->weighted ? weight_of(&a->r->parts[part]) : 1;
}

/* Sums the counted parts of a unit, and adds the sum. */
static int
add_counted(const struct adding *a, struct ahead_unit *u)
{
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < u->n && !rc; i++) {
		if (!u->ones[i].counted)
			continue;
		if (!any)
			packed_counts_begin(&u->base);
		any = true;
		rc = packed_counts_add(&u->base, &u->ones[i].counts,
		                       weight_in(a, u->parts[i]));
	}
	if (rc || !any)
		return rc;
	rc = packed_counts_end(&u->base)
	             ?: add_one(&u->base, 1, a->reduce, a->m);
	for (size_t i = 0; i < u->n && rc == -ENODATA; i++)
		if (u->ones[i].counted)
			a->r->parts[u->parts[i]].unfit = true;
	return rc == -ENODATA ? 0 : rc;
}

/* Adds a unit. Parts without the value that is wanted are marked as unfit. */
static int
add_unit(const struct adding *a, struct ahead_unit *u)
{
	int rc = add_counted(a, u);

	for (size_t i = 0; i < u->n && !rc; i++) {
		struct range_part *part = &a->r->parts[u->parts[i]];

		if (!u->ones[i].whole.p)
			continue;
		rc = add_one(&u->ones[i].whole, weight_in(a, u->parts[i]),
		             a->reduce, a->m);
		if (rc == -ENODATA) {
			part->unfit = true;
			rc = 0;
		}
	}
	return rc;
}

/* Returns 0 while a client waits for the result, and time is left. */
static int
go_on(const struct range *r, int64_t end_ns)
{
	if (r->peer && fd_hung_up(*r->peer))
		return -ECANCELED;
	return clock_mono_ns() > end_ns ? -ETIME : 0;
}

static int
add_all(const struct adding *adding, struct buf *why)
{
	const struct range *r = adding->r;
	CLEANUP_AHEAD struct ahead *a = NULL;
	int64_t end = r->end_ns ? r->end_ns : clock_mono_ns() + RANGE_MAX_NS;
	int rc = ahead_new(r, &a);

	while (!rc) {
		struct ahead_unit *u;

		rc = go_on(r, end) ?: ahead_next(a, &u, why)
		             ?: add_unit(adding, u);
	}
	return rc == -ENODATA ? 0 : rc;
}

static int
merge_parts(struct range *r, const struct type *reduce, struct profile **out,
            struct buf *why)
{
	CLEANUP_RANGE_NAMES struct range_names names = {0};
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	bool gauge = type_is_gauge(r->type), alike = weighs_alike(r);
	int rc = merge_new(RANGE_MAX_MERGED, &m);

	if (rc)
		return rc;
	range_names_begin(&names, r->store, r->tenant, m);
	rc = add_all(&(struct adding){r, gauge && !alike, reduce, m}, why);
	if (!rc)
		rc = range_leave_out(r);
	if (!rc)
		rc = merge_end(m, &p);
	if (!rc)
		r->wanted = range_names_want(&names, r->service);
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
