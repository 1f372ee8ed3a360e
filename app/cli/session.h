/* Sessions, baselines and comparisons, for several commands. */
#pragma once

#include "cli.h"

#define PROFILING "/api/v1/profiling"

/* Appends PROFILING, rest and, as one more segment, id. */
void family_path(struct buf *out, const char *rest, const char *id);
/* Appends ?service=&profileType= from the options. */
void filter_path(const struct cli *c, struct buf *out);
/*
 * Fetches a session.
 *   Owns     *out is the caller's; http_reply_done() it
 *   Errors   those of ask()
 */
MUST_CHECK int ask_session(struct cli *c, const char *id, struct reply *out);
/* Sets "result" of each profile of a list to a text such as "complete",
 * "capturing, 45 %" or "failed: no process is running", and removes internal
 * labels. On a terminal the text is short: the phase alone, with the reason of
 * a failure as the row's TABLE_NOTE. */
void results_put(json_t *profiles, const struct screen *s);
/* Appends the parameters that select what a comparison tests, from the
 * options. */
void work_query(const struct cli *c, struct buf *path);
/* Appends the verdict of a comparison, in its colour. */
void verdict_show(struct buf *out, const char *verdict, const struct screen *s);
/* Appends a line that explains the verdict. */
void
reason_show(struct buf *out, const json_t *comparison, const struct screen *s);
/* Appends "cost per second: +12.3 % (95 %: +3.0 to +22.0)", and how it was
 * tested. */
void delta_show(struct buf *out, const json_t *comparison);
/* Appends the link to the differential flame graph, if the reply has one. */
void diff_link_show(struct buf *out, const json_t *reply);
/* The quantity that a comparison tested; functions are shown by it. */
struct cost {
	const char *by;          /* "share", "rate", "work" or "none" */
	const char *unit;        /* of values: "nanoseconds" */
	int64_t base_work, work; /* if by is "work" */
};
/*
 * Finds the quantity that a comparison tested.
 *   Shape    now is the profile that was judged; "" or a range of time if it is
 *            not a profile
 */
struct cost cost_of(struct cli *c, const json_t *comparison, const char *now);
#define RISEN_TITLE "functions, each with what it calls"
/*
 * Appends at most limit functions of a comparison; all if limit is negative.
 *   Shape    cost is the quantity to show; NULL for their totals, as shares
 */
void
changes_show(struct buf *out, const char *title, json_t *rows,
             const struct cost *cost, int64_t limit, const struct screen *s);
/* Prints the goroutines or threads of a session. Prints an error and returns an
 * exit status on failure. */
MUST_CHECK int analysis_show(struct cli *c, const json_t *session);
