/*
 * Stored profiles whose functions are to be named anew: asked for by clients,
 * done by the worker of the host that captured them.
 *
 * The profile is replaced in the transaction that ends the work; until then
 * the old one stands. Claiming raises the attempt, which every later write
 * names, as with jobs. A worker that starts takes over what the one before
 * left, SYMBOLIZE_TRIES times.
 */
#pragma once

#include "store/blob.h"

#define SYMBOLIZE_TRIES 3

struct symbolize {
	char *session, *tenant;
	char *state;   /* "queued", "running", "done" or "failed" */
	char *error;   /* for a person; "" unless failed */
	char *quality; /* of the session: a JSON object */
	int64_t attempt, asked_ms, ended_ms;
};
#define CLEANUP_SYMBOLIZE CLEANUP(symbolize_done)

void symbolize_done(struct symbolize *y);
/* Queues it, or leaves it be when it is on its way.
 *   Errors   -ENOENT no such session, or one that no worker captured */
MUST_CHECK int
symbolize_ask(struct store *s, const char *tenant, const char *session);
/* -ENOENT when it was never asked for. */
MUST_CHECK int symbolize_get(struct store *s, const char *tenant,
                             const char *session, struct symbolize *out);

/* --- the worker's side --------------------------------------------------- */

/* The one that waits longest, now running; -ENOENT when none does. */
MUST_CHECK int
symbolize_claim(struct store *s, const char *host, struct symbolize *out);
/*
 * Ends it: the new profile takes the old one's place.
 *   Shape    top_functions, quality: as of session_result
 *   Errors   -ESTALE it was given up or deleted since
 */
MUST_CHECK int symbolize_finish(struct store *s, const struct symbolize *y,
                                const char *top_functions, const char *quality,
                                const struct blob *blob);
/* Ends it and leaves the profile; error is for a person. */
MUST_CHECK int
symbolize_fail(struct store *s, const struct symbolize *y, const char *error);
/* For a worker that starts, or that lost its analyser; the number of them. */
MUST_CHECK int symbolize_take_over(struct store *s, const char *host);
