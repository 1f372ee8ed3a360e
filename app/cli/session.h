/* Sessions and baselines, as several commands ask for them. */
#pragma once

#include "cli.h"

#define PROFILING "/api/v1/profiling"

/* Appends PROFILING and the rest, then one more segment. */
void family_path(struct buf *out, const char *rest, const char *id);
/* Appends ?service=&profileType= as the options say. */
void filter_path(const struct cli *c, struct buf *out);
/*
 * The session itself.
 *   Owns     *out is the caller's; http_reply_done() it
 *   Errors   as ask()
 */
MUST_CHECK int ask_session(struct cli *c, const char *id, struct reply *out);
/* Sets "result" of each profile of a list, as people read it: "complete",
 * "capturing, 45 %", "failed: no process is running"; hides labels that are
 * not for people. On a terminal, where the line is short, a phase stands alone,
 * and the reason of a failure becomes the row's TABLE_NOTE. */
void results_put(json_t *profiles, const struct screen *s);
/* Appends what a comparison is asked to test, as the options say. */
void work_query(const struct cli *c, struct buf *path);
/* Writes the verdict of a comparison, in its colour. */
void verdict_show(struct buf *out, const char *verdict, const struct screen *s);
/* Writes why the verdict is what it is, a line of its own. */
void
reason_show(struct buf *out, const json_t *comparison, const struct screen *s);
/* "cost per second: +12.3 % (95 %: +3.0 to +22.0)", and how it was tested */
void delta_show(struct buf *out, const json_t *comparison);
/* The link to the flame graph of two profiles, where the reply has it. */
void diff_link_show(struct buf *out, const json_t *reply);
/* The quantity that was tested, by which functions are shown. */
struct cost {
	const char *by;          /* "share", "rate", "work" or "none" */
	const char *unit;        /* of values: "nanoseconds" */
	int64_t base_work, work; /* where by is "work" */
};
/*
 * Reads which quantity a comparison tested.
 *   Shape    now: the profile that was judged, "" or a range of time when there
 *            is none
 */
struct cost cost_of(struct cli *c, const json_t *comparison, const char *now);
#define RISEN_TITLE "functions, each with what it calls"
/*
 * Functions of a comparison: at most limit, all when that is negative.
 *   Shape    cost: the quantity that is shown; NULL: their totals, as shares
 */
void
changes_show(struct buf *out, const char *title, json_t *rows,
             const struct cost *cost, int64_t limit, const struct screen *s);
/* Prints what the goroutines or threads of a session do.
 *   Errors   an exit status, told to the user */
MUST_CHECK int analysis_show(struct cli *c, const json_t *session);
