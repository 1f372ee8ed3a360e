/*
 * Signed links: a flame graph opens in a browser without a token.
 *
 * The signature is HMAC-SHA256 over kind, tenant, subject and end of
 * validity, by a key kept in the store. The end is rounded up to a full
 * hour, so that a link stays the same for an hour and caches work.
 *
 * A kind is a page that a route marked LINK serves, its subject what decides
 * whose data it shows: auth.c has the parameters of each. Others, such as
 * format, may be changed by whoever has the link.
 */
#pragma once

#include "store/store.h"

#include <stdbool.h>

#define LINK_MAX           1024
#define LINK_SECRET_BYTES  32
#define LINK_SUBJECT_MAX   ((size_t)8 << 10)
#define LINK_SIGNATURE_LEN 64
/* How long a link to what is pinned works, if not for longer. */
#define LINK_PINNED_S INT64_C(31536000)
/* A key is asked of the store again after this. */
#define LINK_KEY_MS 60000

/* A key that signs links: made once, kept in the store, shared by the pool. */
struct link_key {
	char id[ID_MAX];
	unsigned char secret[LINK_SECRET_BYTES];
};

/* The newest key, remembered; zeroed: none yet. */
struct link_keys {
	struct link_key current;
	int64_t read_ms; /* 0: never */
};

/* A link names these. */
struct link_claim {
	const char *kind;    /* "flamegraph" */
	const char *subject; /* the parameters of its kind, a line each */
	const char *tenant, *key;
	int64_t expires_s; /* epoch */
};

/* A page to be linked to: key and end of its claim are link_make()'s. */
struct link_page {
	struct link_claim claim;
	const char *url; /* without the signature, perhaps with a query */
};

/*
 * Appends the signed URL of a page.
 *   Units    ttl_s seconds from now_ms at least, an hour more at most
 */
MUST_CHECK int
link_make(struct store *s, struct link_keys *k, const struct link_page *page,
          int64_t now_ms, int64_t ttl_s, struct buf *out);
/* A link's ttl_s: the setting's, or more where all that it shows is pinned. */
static inline int64_t
link_ttl(int64_t setting_s, bool pinned)
{
	return pinned && setting_s < LINK_PINNED_S ? LINK_PINNED_S : setting_s;
}
/* 0 when the signature is good at now_ms; -EACCES, -EKEYEXPIRED, -errno. */
MUST_CHECK int
link_check(struct store *s, struct link_keys *k, const struct link_claim *claim,
           const char *signature, int64_t now_ms);
/*
 * Appends the signed URL of a profile's flame graph.
 *   Shape    base: [api] public_url
 */
MUST_CHECK int
link_flamegraph(struct store *s, struct link_keys *k, const char *base,
                const char *tenant, const char *id, int64_t now_ms,
                int64_t ttl_s, struct buf *out);

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
