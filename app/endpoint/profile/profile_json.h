/*
 * Writes ProfileResult.
 */
#pragma once

#include "endpoint/call.h"
#include "store/session.h"

/* Path of profiles; an id follows. */
#define PROFILE_PATH "/api/v1/observability/profiling/"

/*
 * Writes the members into an open object; top < 0: all topFunctions.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int profile_put(struct call *c, struct buf *out,
                           const struct session *s, int64_t top);
/* Answers with the session: with Retry-After while it runs, with ETag
 * afterwards. */
MUST_CHECK int profile_answer(struct call *c, const struct session *s);
/* A capture begun by a start. */
struct profile_started {
	const char *host;
	char id[ID_MAX];
};
/* Answers a start with the session of its first capture, and the list of all.
 */
MUST_CHECK int
profile_answer_start(struct call *c, const struct session *s,
                     const struct profile_started *started, size_t n);
/* Returns the seconds after which another request may see a change. */
int profile_retry_s(const struct session *s);

/* True until the session has ended. */
bool profile_runs(const struct session *s);
/*
 * Reads a session again until it has ended or the time has passed; returns at
 * once if too much of the pool is waiting. Leaves *s unchanged if the session
 * was deleted meanwhile.
 */
void profile_wait(struct call *c, int64_t seconds, struct session *s);
