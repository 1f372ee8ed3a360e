/*
 * Windows of continuous profiling used as sessions: "win-..." is a profileId
 * like any other.
 */
#pragma once

#include "endpoint/call.h"
#include "profile/profile.h"
#include "store/session.h"
#include "store/window.h"

/*
 * Describes a window as a completed session. topFunctions need its profile and
 * are not set.
 *   Shape    note is about its quality; "" if there is none
 *   Owns     session_done() it
 *   Errors   -ENOMEM
 */
MUST_CHECK int window_session(const struct window *w, const struct series *of,
                              const char *note, struct session *out);
/* Finds a window by id; -ENOENT. */
MUST_CHECK int window_find(struct call *c, const char *id, struct session *out);
/* Finds the first window like this one that began less than an hour before it;
 * -ENOENT. */
MUST_CHECK int
window_find_earlier(struct call *c, const char *id, struct session *out);
/*
 * Reads a window's profile; for a gauge, the mean of the windows that it holds.
 *   Errors   -ENOENT, -EBADMSG with one line in *why
 */
MUST_CHECK int window_profile(struct call *c, const char *id,
                              struct profile **out, struct buf *why);
