/*
 * Shows comparisons: their verdict, its reason, and the functions. The numbers
 * come from the reply and are computed by profile/compare; only the CHANGE of
 * a function is computed here.
 */
#pragma once

#include "cli.h"

/* Appends the parameters that select what a comparison tests, from the
 * options. */
void verdict_query(const struct cli *c, struct buf *path);
/* Appends the verdict of a comparison, in its colour. */
void
verdict_show(struct buf *out, const json_t *comparison, const struct screen *s);
/* Appends a line that explains the verdict. */
void verdict_reason_show(struct buf *out, const json_t *comparison,
                         const struct screen *s);
/* Appends "cost per second: +12.3 % (95 %: +3.0 to +22.0)", and the test that
 * was used. */
void verdict_delta_show(struct buf *out, const json_t *comparison);
/* Appends the link to the differential flame graph, if the reply has one. */
void verdict_link_show(struct buf *out, const json_t *reply);
/* The quantity that a comparison tested; functions are shown by it. */
struct verdict_cost {
	const char *by;          /* "share", "rate", "work" or "none" */
	const char *unit;        /* of values: "nanoseconds" */
	int64_t base_work, work; /* if by is "work" */
};
/*
 * Finds the quantity that a comparison tested.
 *   Shape    now is the profile that was judged; "" or a range of time if it is
 *            not a profile
 */
struct verdict_cost
verdict_cost_of(struct cli *c, const json_t *comparison, const char *now);
#define RISEN_TITLE "functions, each with what it calls"
/*
 * Appends at most limit functions of a comparison; all if limit is negative.
 *   Shape    cost is the quantity to show; NULL for their totals, as shares
 */
void verdict_changes_show(struct buf *out, const char *title, json_t *rows,
                          const struct verdict_cost *cost, int64_t limit,
                          const struct screen *s);
