/*
 * Loads sessions and their profiles by parameters, and checks state and type;
 * or fails with the error that says why not. A PROFILE that is unknown is
 * UnknownProfile, a SESSION UnknownSession. A PROFILE may be a window
 * ("win-..."), or a part of a capture (slice.h): both are loaded as completed
 * sessions.
 *
 *   Errors   0, or -1 with the reply
 */
#pragma once

#include "endpoint/call.h"
#include "profile/profile.h"
#include "store/session.h"

/* Loads a session in any state. */
MUST_CHECK int load_session(struct call *c, enum param p, struct session *out);
/* Loads a completed session of this type; NULL: any type. */
MUST_CHECK int load_completed(struct call *c, enum param p, const char *type,
                              struct session *out);
/* Decodes the profile of a completed session. */
MUST_CHECK int
load_profile(struct call *c, const struct session *s, struct profile **out);
/* The two halves of load_profile(). A call that decodes several profiles
 * announces the size of all of them before it decodes the first: see
 * call_reads(). */
MUST_CHECK int load_reads(struct call *c, const struct session *s);
MUST_CHECK int
load_known(struct call *c, const struct session *s, struct profile **out);
/* Announces to call_reads() how much stored_timeline() is about to read. */
MUST_CHECK int load_reads_timeline(struct call *c, const struct session *s);
/* Writes a text that identifies the profile of a session or window, and changes
 * with it: see kept.h. */
void load_made_of(struct call *c, const struct session *s, struct buf *out);
/* Fails because a capture has no timeline; always -1. */
int fail_no_timeline(struct call *c, const struct session *s);
/* Computes topFunctions, and a slice's number of samples, from the profile.
 * Returns 0, or -1 with the reply. */
MUST_CHECK int load_top(struct call *c, int64_t top, struct session *s);
