/*
 * A service's profiles of a range of time: what windows of continuous
 * profiling add up to it, each sample once; where the service has none, the
 * sessions that began in it.
 */
#pragma once

#include "endpoint/call.h"
#include "endpoint/call/links.h"
#include "profile/blocks.h"
#include "profile/packed.h"
#include "store/blob.h"
#include "store/coverage.h"
#include "store/session.h"
#include "store/window.h"

#define RANGE_MAX_PARTS  WINDOW_PLAN_MAX
#define RANGE_MAX_SERIES 500
#define RANGE_MAX_STORED ((int64_t)256 << 20) /* bytes, as stored */
#define RANGE_MAX_MERGED ((size_t)512 << 20)  /* bytes in memory */
#define RANGE_MAX_NS     (20 * NS_PER_S)      /* nginx waits for 30 s */

/* A window, or a session. */
struct part {
	struct span span;
	int64_t windows; /* as captured, that it holds */
	int64_t samples, value, length;
	const struct window *window;
	const struct series *series;
	const struct session *session;
	struct blob blob; /* of the session */
};

struct range {
	const char *service, *type, *host;
	const char *origin; /* a word of PT_WINDOWS; NULL: all */
	enum param labels;  /* row of label.K=V */
	int64_t from_ms, to_ms;
	struct series_list series;
	struct window_list *plans; /* by series */
	struct session_list sessions;
	struct part *parts; /* in order of time */
	size_t n, left_out; /* parts: taken, and pushed ones that were not */
	double covered_ms;
	int64_t end_ns; /* when range_merge() gives up; 0: RANGE_MAX_NS from
	                   when it begins */
};
#define CLEANUP_RANGE CLEANUP(range_done)
void range_done(struct range *r);

/* Where an operation's rows are, but for origin. */
#define RANGE_OF(c, op)                                        \
	((struct range){                                       \
		.service = param_text((c), P_##op##_service),  \
		.type = param_text((c), P_##op##_profileType), \
		.host = param_text((c), P_##op##_host),        \
		.labels = P_##op##_label,                      \
		.from_ms = param_int((c), P_##op##_from),      \
		.to_ms = param_int((c), P_##op##_to),          \
	})

/*
 * Each answers 0, or -1 with the reply.
 *
 * range_check: from is not after to, and there is such a service.
 * range_series: those that the filters let through, at most RANGE_MAX_SERIES.
 * range_plan: parts that add up to the range; none is an error. A worker and
 * clients that push see the same work: one of them is taken, if not told
 * otherwise.
 * range_trend: windows no coarser than a level, where these are kept; they may
 * reach past both ends. Without any, sessions; without these, nothing.
 * range_merge: all of them as one profile. A gauge is averaged over time: its
 * mean while it was covered, of all series together.
 */
MUST_CHECK int range_check(struct call *c, const struct range *r);
MUST_CHECK int range_series(struct call *c, struct range *r);
MUST_CHECK int range_plan(struct call *c, struct range *r);
MUST_CHECK int
range_trend(struct call *c, struct range *r, enum window_level level);
MUST_CHECK int
range_merge(struct call *c, struct range *r, struct profile **out);

/* Names the parts that a plan has taken. */
uint64_t range_hash(const struct range *r);
/*
 * What parts of a range differ by: of its own, or of finer windows where
 * these are few. t: of the profile that they add up to. By its functions, or
 * by its nodes. NULL: too few parts, or too much to read.
 */
struct blocks *range_blocks(struct call *c, const struct range *r,
                            const struct tree *t, bool nodes);
/* The same of a rollup, by its id; NULL for a window as captured. */
struct blocks *
window_blocks(struct call *c, const char *id, const struct tree *t, bool nodes);
#define RANGE_MAX_LINK ((size_t)16 << 10)
/*
 * Appends a signed link to the page of a range, "merge" or "diff", whose whole
 * query decides what it shows; -E2BIG past RANGE_MAX_LINK, -errno.
 */
MUST_CHECK int range_link(struct call *c, const char *page,
                          const struct link_query *q, struct buf *out);
/* Of series of pushes, not of a worker. */
bool range_is_pushed(const struct series *s);
/* Whether an object of labels has all of label.K=V. */
bool
range_labels_match(const struct call *c, enum param labels, const char *json);
/* The answer where there is no profile; always -1. */
int range_nothing(struct call *c, const struct range *r);
/* Borrows both. */
struct part part_of_window(const struct series *s, const struct window *w);
/* In order of time. */
void parts_sort(struct part *parts, size_t n);
/* A window during which nothing was sampled has no bytes. */
bool part_is_empty(const struct part *p);
/* The profile of one that is not; -errno, one line in *why. */
MUST_CHECK int part_packed(struct call *c, const struct part *p,
                           struct packed *out, struct buf *why);
/* What answers for a part that can't be read; always -1. */
int part_damaged(struct call *c, int rc, const struct buf *why);
/* Refuses parts [0, n) that are too many or too big together: the newest
 * that fit are told. */
MUST_CHECK int
range_check_size(struct call *c, const struct part *parts, size_t n);
