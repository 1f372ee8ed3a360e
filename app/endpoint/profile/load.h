/*
 * Sessions and their profiles, as parameters name them: found, finished, of
 * the right type, decoded; or the error that says why not. A PROFILE that is
 * unknown is UnknownProfile, a SESSION UnknownSession. A PROFILE may be a
 * window ("win-..."): it is read as a session that is complete.
 *
 *   Errors   0, or -1 with the reply
 */
#pragma once

#include "endpoint/call.h"
#include "profile/profile.h"
#include "profile/timeline.h"
#include "store/session.h"

/* In whatever state it is. */
MUST_CHECK int load_session(struct call *c, enum param p, struct session *out);
/* Completed; of the type unless that is NULL. */
MUST_CHECK int load_completed(struct call *c, enum param p, const char *type,
                              struct session *out);
/* The profile of a completed one. */
MUST_CHECK int
load_profile(struct call *c, const struct session *s, struct profile **out);
/*
 * The same where it may be gone: *out is NULL then, or when it can't be read.
 */
void load_if_kept(struct call *c, const char *session, struct profile **out);
/* What lies beside its profile; NULL: nothing, or nothing that can be read. */
struct timeline *load_timeline(struct call *c, const struct session *s);
/* UnknownSession or UnknownProfile; always -1. */
int fail_unknown(struct call *c, enum param p);
/* Fills topFunctions from the profile: 0, or -1 with the reply. */
MUST_CHECK int load_top(struct call *c, int64_t top, struct session *s);
