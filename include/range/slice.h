/*
 * Parts of captures as separate profiles: "sess-ID.FROM-TO" is a profileId like
 * any other, in milliseconds of the capture, and "sess-ID.FROM-TO.TID" of one
 * thread. A part is made from the capture's timeline on request.
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
 * Turns the completed session of a part into the part: sets its id, start and
 * duration. topFunctions and the number of samples need the profile and are not
 * set.
 *   Errors   -ENOENT the capture ended before, -ENOMEM
 */
MUST_CHECK int
slice_session(const struct slice *x, const char *id, struct session *s);
