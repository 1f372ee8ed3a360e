/* Sessions and baselines, for several commands. */
#pragma once

#include "cli.h"

#define PROFILING "/api/v1/profiling"

/* Appends PROFILING, rest and, as one more segment, id. */
void session_path(struct buf *out, const char *rest, const char *id);
/* Appends ?service=&profileType= from the options. */
void session_filter(const struct cli *c, struct buf *out);
/*
 * Fetches a session.
 *   Owns     *out is the caller's; http_reply_done() it
 *   Errors   those of ask()
 */
MUST_CHECK int
session_ask(struct cli *c, const char *id, struct http_reply *out);
/* Sets "result" of each profile of a list to a text such as "complete",
 * "capturing, 45 %" or "failed: no process is running", and removes internal
 * labels. On a terminal, the text is only the phase; the reason for a failure
 * is the row's TABLE_NOTE. */
void session_results_put(json_t *profiles, const struct screen *s);
/* Prints the goroutines or threads of a session. Prints an error and returns an
 * exit status on failure. */
MUST_CHECK int session_analysis_show(struct cli *c, const json_t *session);
