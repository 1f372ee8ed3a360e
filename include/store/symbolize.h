/*
 * Requests to symbolize stored profiles again. Clients make them, and debug
 * files that are pushed (store/debug_file.h). A worker that shares the store
 * serves them: if possible, that of the host which captured the profile.
 *
 * The new profile replaces the old one in the transaction that ends the work.
 * Claiming raises the attempt, which every later write names, as with jobs. A
 * worker that starts takes over requests that its predecessor left, up to
 * SYMBOLIZE_TRIES times each.
 */
#pragma once

#include "base/json.h"
#include "store/blob.h"

#include <stdbool.h>

#define SYMBOLIZE_TRIES 3

struct symbolize {
	char *session, *tenant;
	char *service, *origin; /* of the session */
	char *state;            /* "queued", "running", "done" or "failed" */
	char *error;            /* a message; "" unless failed */
	char *quality;          /* of the session: a JSON object */
	int64_t attempt, asked_ms, ended_ms;
};
#define CLEANUP_SYMBOLIZE CLEANUP(symbolize_done)

void symbolize_done(struct symbolize *y);
/*
 * Finds the host whose worker names the frames of a service's profile.
 *   Shape    captured_by: the host that captured it, which is preferred; "":
 *            none
 *   Owns     *out is the caller's; free() it
 *   Errors   -ENOENT no worker shares the store
 */
MUST_CHECK int
symbolize_host(struct store *s, const char *tenant, const char *service,
               const char *captured_by, char **out);
/*
 * Queues a request, unless one is queued or running.
 *   Shape    host: whose worker names it
 *   Errors   -ENOENT no such session
 */
MUST_CHECK int symbolize_ask(struct store *s, const char *tenant,
                             const char *session, const char *host);
/* As symbolize_ask(), for a client: a request that is queued counts as a
 * capture of the hour. -EXFULL past that quota. */
MUST_CHECK int symbolize_ask_counted(struct store *s, const char *tenant,
                                     const char *session, const char *host);
/*
 * Sets the number of frames and of those with names in the quality report of an
 * upload, with a note about the others.
 *   Shape    searched: a worker has looked for names
 *   Errors   -ENOMEM
 */
MUST_CHECK int
symbolize_report(json_t *report, int64_t frames, int64_t named, bool searched);
/* Reads a request; -ENOENT without one. */
MUST_CHECK int symbolize_get(struct store *s, const char *tenant,
                             const char *session, struct symbolize *out);

/* --- the worker's side --------------------------------------------------- */

/* Claims the oldest queued request of the tenant whose turn it is; -ENOENT when
 * there is none. */
MUST_CHECK int
symbolize_claim(struct store *s, const char *host, struct symbolize *out);
/*
 * Ends a request: the new profile replaces the old one.
 *   Shape    top_functions, quality: as of session_result
 *   Errors   -ESTALE the request was given up or deleted since
 */
MUST_CHECK int symbolize_finish(struct store *s, const struct symbolize *y,
                                const char *top_functions, const char *quality,
                                const struct blob *blob);
/* Ends a request without changing the profile; error is a message for
 * people. */
MUST_CHECK int
symbolize_fail(struct store *s, const struct symbolize *y, const char *error);
/* Queues a claimed request again, as if it had not been claimed. */
MUST_CHECK int symbolize_again(struct store *s, const struct symbolize *y);
/* Takes over requests that a worker left, when it starts or has lost its
 * analyser. Returns their number. */
MUST_CHECK int symbolize_take_over(struct store *s, const char *host);
