/*
 * Stored profiles and timelines by the id of their session, or of a part of a
 * session (range/slice.h).
 */
#pragma once

#include "profile/blocks.h"
#include "profile/listing.h"
#include "profile/profile.h"
#include "profile/timeline.h"
#include "store/blob.h"

/* Finds a file of the session; for a part, of the whole session. -ENOENT. */
MUST_CHECK int stored_find(struct store *s, const char *id, const char *kind,
                           struct blob *out);
/*
 * Reads the profile of the session, uncut for a part.
 *   Errors   -ENOENT, or as blob_read() and pprof_decode(); *why: one line for
 *            a damaged profile
 */
MUST_CHECK int stored_profile(struct store *s, const char *id,
                              struct profile **out, struct buf *why);
/* Reads the timeline of the session, uncut for a part. Returns NULL if it does
 * not exist or cannot be read. */
struct timeline *stored_timeline_uncut(struct store *s, const char *id);
/* As stored_timeline_uncut(), cut to the part. */
struct timeline *stored_timeline(struct store *s, const char *id);
/* Reads the listing of the session. Returns NULL if there is none, or it cannot
 * be read. */
struct listing *stored_listing(struct store *s, const char *id);
/* Cuts the session into blocks, by its timeline. Returns NULL without one, or
 * if it is too short. */
struct blocks *stored_blocks(struct store *s, const char *id,
                             const struct tree *t, enum blocks_what what);
