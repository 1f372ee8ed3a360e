/* Keys that sign links: made once, kept in the store, shared by the pool. */
#pragma once

#include "store/store.h"

#define LINK_SECRET_BYTES 32

struct link_key {
	char id[ID_MAX];
	unsigned char secret[LINK_SECRET_BYTES];
};

/* The newest key; made when there is none. */
MUST_CHECK int link_key_current(struct store *s, struct link_key *out);
/* The key of a link's signature; -ENOENT. */
MUST_CHECK int
link_key_get(struct store *s, const char *id, struct link_key *out);
