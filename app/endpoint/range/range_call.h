/* Ranges of time (range/range.h) as requests ask for them. */
#pragma once

#include "endpoint/call.h"
#include "endpoint/call/links.h"
#include "range/range.h"

#define RANGE_MAX_LINK ((size_t)16 << 10)

/* The rows of params.def that say which range is asked for. */
struct range_rows {
	enum param service, type, host, label, from, to;
};
#define RANGE_ROWS(op)                                                      \
	(&(const struct range_rows){P_##op##_service, P_##op##_profileType, \
	                            P_##op##_host, P_##op##_label,          \
	                            P_##op##_from, P_##op##_to})

/* What is asked for; origin is left NULL. Everything is borrowed from c. */
struct range range_asked(struct call *c, const struct range_rows *rows);
/* Checks that from is not after to, and that there is such a service: 0, or
 * -1 with the reply. */
MUST_CHECK int range_check(struct call *c, const struct range *r);
/*
 * Answers for what a function of range/range.h returned; always -1.
 *   Shape    why: one line about what could not be read, or NULL
 */
int range_fail(struct call *c, const struct range *r, int rc,
               const struct buf *why);
/* range_merge() with its answer: 0, or -1 with the reply. */
MUST_CHECK int
range_merged(struct call *c, const struct range *r, struct profile **out);
/*
 * Appends a signed link to the page of a range, "merge" or "diff", whose whole
 * query decides what it shows; -E2BIG past RANGE_MAX_LINK, -errno.
 */
MUST_CHECK int range_link(struct call *c, const char *page,
                          const struct link_query *q, struct buf *out);
