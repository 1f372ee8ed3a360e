/*
 * Ranges of time (range/range.h) in requests.
 */
#pragma once

#include "endpoint/call.h"
#include "endpoint/call/links.h"
#include "profile/sift.h"
#include "range/range.h"

#define RANGE_MAX_LINK ((size_t)16 << 10)

/* Parameters that choose a range. */
struct range_rows {
	enum param service, type, host, label, from, to;
};
#define RANGE_ROWS(op)                                                      \
	(&(const struct range_rows){P_##op##_service, P_##op##_profileType, \
	                            P_##op##_host, P_##op##_label,          \
	                            P_##op##_from, P_##op##_to})

/* Reads these parameters; origin stays NULL. Everything is borrowed from c. */
struct range range_asked(struct call *c, const struct range_rows *rows);
/* True if a label of samples is asked for that is an id of a span or trace. */
bool range_asks_ids(const struct sift *by);
/* Checks that from is not after to, and that the service exists. Returns 0, or
 * -1 with the reply. */
MUST_CHECK int range_check(struct call *c, const struct range *r);
/*
 * Fails for the result of a function of range/range.h. Returns -1, or 0 with an
 * empty reply for an empty range if the caller wants that: optional=true.
 *   Shape    why has one line about a part that could not be read, or is NULL
 */
int range_fail(struct call *c, const struct range *r, int rc,
               const struct buf *why);
/* Calls call_reads() for the parts of a range. */
MUST_CHECK int range_reads(struct call *c, const struct range *r);
/* Calls range_merge() and range_note_lost(). Returns 0, or what range_fail()
 * does; *out is then untouched. */
MUST_CHECK int
range_merged(struct call *c, struct range *r, struct profile **out);
/* Names the parts that range_merge() left out: appends "sess-1, sess-2, sess-3
 * and 7 others: no cpu/nanoseconds values". */
void range_put_unfit(const struct range *r, struct buf *out);
/* Names the parts whose bytes are missing or damaged, and says what to do. */
void range_put_lost(const struct range *r, struct buf *out);
/* Writes notices about lost parts, unfit parts and wrong clocks, if any: items
 * of an array. */
void range_put_notices(const struct range *r, struct buf *out);
/* Logs the lost parts of a reply, if any. It is then neither kept nor has an
 * ETag, since they may be restored. */
void range_note_lost(struct call *c, const struct range *r);
/*
 * Appends a signed link to the page of a range, "merge" or "diff", whose whole
 * query decides what it shows. Returns -E2BIG past RANGE_MAX_LINK, -errno.
 */
MUST_CHECK int range_link(struct call *c, const char *page,
                          const struct link_query *q, struct buf *out);
