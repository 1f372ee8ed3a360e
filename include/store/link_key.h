/* Keys that sign links: made once, kept in the store, shared by the pool. */
#pragma once

#include "store/store.h"

#define LINK_SECRET_BYTES 32

struct link_key {
	char id[ID_MAX];
	unsigned char secret[LINK_SECRET_BYTES];
};

/*
 * Makes a key in a store that has none. Every program that signs links calls
 * this when it starts, so that a request that only reads never writes.
 */
MUST_CHECK int link_key_make(struct store *s);
/* The newest key; -ENOENT. */
MUST_CHECK int link_key_current(struct store *s, struct link_key *out);
/* The key of a link's signature; -ENOENT. */
MUST_CHECK int
link_key_get(struct store *s, const char *id, struct link_key *out);
