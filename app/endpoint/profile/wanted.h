/* The programs of which a profile has frames without names. */
#pragma once

#include "profile/profile.h"
#include "store/store.h"

/* Records their build-ids for a session (store/debug_file.h), DEBUG_FILE_WANTED
 * at most. Returns 0 or an error of the store. */
MUST_CHECK int
wanted_note(struct store *s, const char *session, const struct profile *p);
