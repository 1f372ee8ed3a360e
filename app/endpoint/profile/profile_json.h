/* ProfileResult, as seeds and clients know it. */
#pragma once

#include "endpoint/call.h"
#include "store/session.h"

/* Path of family B; ids are appended. */
#define PROFILE_PATH "/api/v1/observability/profiling/"

/*
 * Writes its members into an open object; top < 0: all topFunctions.
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int profile_put(struct call *c, struct buf *out,
                           const struct session *s, int64_t top);
/* Answers with the session: Location, Retry-After while it runs, ETag after. */
MUST_CHECK int profile_answer(struct call *c, const struct session *s);
/* Seconds after which asking again may show something new. */
int profile_retry_s(const struct session *s);

/* It has not ended. */
bool profile_runs(const struct session *s);
/*
 * Reads a session again until it has ended or so many seconds are over; at
 * once when too many of the pool wait. As it was when it is gone meanwhile.
 */
void profile_wait(struct call *c, int64_t seconds, struct session *s);
