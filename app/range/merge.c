/* The parts of a range as one profile. */
#include "range/range.h"
#include "ahead.h"

#include "base/clock.h"
#include "profile/model/types.h"
#include "profile/merge.h"
#include "profile/scale.h"
#include "endpoint/profile/window_session.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* How fine the weights of a gauge's windows are: coarser ones would tell
 * short windows badly apart, finer ones leave 64 bits too soon. */
#define WEIGHT_MS 100

bool
part_is_empty(const struct part *p)
{
	return p->window && !p->length;
}

int
part_packed(struct call *c, const struct part *p, struct packed *out,
            struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	struct store *s = &c->env->store;
	int rc = p->window ? window_read(s, p->window, &stored)
	                   : blob_read(s, &p->blob, &stored);

	return rc ? rc
	          : packed_decode(stored.p, stored.len, STORED_MAX_RAW, out,
	                          why);
}

int
part_damaged(struct call *c, int rc, const struct buf *why)
{
	if (rc == -EINVAL)
		return fail(c, ProfilesDiffer);
	if (rc == -E2BIG || rc == -ETIME)
		return fail(c, RangeTooDear);
	buf_addf(&c->reply->cause, "profile of a range: %s (%s)", buf_str(why),
	         strerror(-rc));
	return fail(c, InternalError);
}

/* For how long each of a part's windows stands. */
static int64_t
weight_of(const struct part *p)
{
	int64_t each = p->span.covered_ms / p->windows;

	return each < WEIGHT_MS ? 1 : (each + WEIGHT_MS / 2) / WEIGHT_MS;
}

/* All windows of equal weight, which most are, need no more than a count. */
static bool
weighs_alike(const struct range *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (weight_of(&r->parts[i]) != weight_of(&r->parts[0]))
			return false;
	return true;
}

/*
 * What the sum of weighted values is divided by to be a mean over the time
 * that is covered: the weights of one series add up to its time, those of
 * series at once to that many times of it.
 */
static int64_t
divisor(const struct range *r, bool alike)
{
	double weights = 0, all_ms = 0, most;

	for (size_t i = 0; i < r->n; i++) {
		const struct part *p = &r->parts[i];

		weights += (double)(p->windows * (alike ? 1 : weight_of(p)));
		all_ms += (double)p->span.covered_ms;
	}
	most = all_ms > 0 ? weights * r->covered_ms / all_ms : weights;
	return most < 1 ? 1 : llround(most);
}

static int
add_next(struct ahead *a, int64_t weight, struct merge *m, struct buf *why)
{
	CLEANUP_PACKED struct packed one = {0};
	int rc = ahead_take(a, &one, why);

	if (rc || !one.p)
		return rc;
	rc = profile_scale(one.p, weight, 1);
	return rc ? rc : merge_add_packed(m, &one);
}

static int
add_all(struct call *c, const struct range *r, bool weighted, struct merge *m,
        struct buf *why)
{
	CLEANUP_AHEAD struct ahead *a = NULL;
	int64_t end = r->end_ns ? r->end_ns : clock_mono_ns() + RANGE_MAX_NS;
	int rc = ahead_new(c, r->parts, r->n, &a);

	for (size_t i = 0; i < r->n && !rc; i++) {
		int64_t weight = weighted ? weight_of(&r->parts[i]) : 1;

		rc = clock_mono_ns() > end ? -ETIME
		                           : add_next(a, weight, m, why);
	}
	return rc;
}

int
range_merge(struct call *c, struct range *r, struct profile **out)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	bool gauge = type_is_gauge(r->type), alike = weighs_alike(r);
	int rc = merge_new(RANGE_MAX_MERGED, &m);

	if (!rc)
		rc = add_all(c, r, gauge && !alike, m, &why);
	if (!rc)
		rc = merge_end(m, &p);
	if (!rc && gauge)
		rc = profile_scale(p, 1, divisor(r, alike));
	if (rc == -ENODATA)
		return range_nothing(c, r);
	if (rc)
		return part_damaged(c, rc, &why);
	p->duration_ns = (int64_t)(r->covered_ms * (double)NS_PER_MS);
	*out = TAKE(p);
	return 0;
}
