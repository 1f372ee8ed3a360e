/*
 * Parts of captures as profiles of their own: "sess-ID.FROM-TO" is a profileId
 * like any other, in milliseconds of the capture, and "sess-ID.FROM-TO.TID" of
 * one thread. A part is made of the capture's timeline when it is asked for.
 */
#pragma once

#include "base/id.h"
#include "profile/timeline.h"
#include "store/session.h"

struct slice {
	char session[ID_MAX];
	struct timeline_part part;
};

/* False, with *out untouched, for an id that names no part. */
bool slice_parse(const char *id, struct slice *out);
/*
 * Makes a part of the completed session it is of: its id, its time and length.
 * topFunctions and the count of samples need the profile, and are not set.
 *   Errors   -ENOENT the capture ended before, -ENOMEM
 */
MUST_CHECK int
slice_session(const struct slice *x, const char *id, struct session *s);
