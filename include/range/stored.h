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
#include "store/session.h"

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
/* Likewise of a blob that was found. For a blob in a file, the store needs no
 * database, and a thread may read it. */
MUST_CHECK int stored_read(const struct store *files, const struct blob *b,
                           struct profile **out, struct buf *why);
/* Reads the timeline of the session, uncut for a part. Returns NULL if it does
 * not exist or cannot be read. */
struct timeline *stored_timeline_uncut(struct store *s, const char *id);
/* As stored_timeline_uncut(), cut to the part. */
struct timeline *stored_timeline(struct store *s, const char *id);
/*
 * Reads the listings that have text for a profile: that of its session or, if
 * it has none, those of captures of the same service, the newest first.
 */
#define LISTINGS_MAX 8
struct listings {
	struct listing_source items[LISTINGS_MAX];
	uint32_t n;
	struct listed_sessions of; /* private: owns ids */
};
void listings_done(struct listings *l);
#define CLEANUP_LISTINGS CLEANUP(listings_done)
void stored_listings(struct store *s, const char *tenant, const char *service,
                     const char *id, struct listings *out);
/* Cuts the session into blocks, by its timeline. Returns NULL without one, or
 * if it is too short. */
struct blocks *stored_blocks(struct store *s, const char *id,
                             const struct tree *t, enum blocks_what what);
