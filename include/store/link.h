/*
 * Signed links: a flame graph opens in a browser without a token.
 *
 * A link ends in tenant=TENANT&signature=HOUR.KEY.MAC. HOUR is the end of
 * validity in hours since 1970: links made within an hour are equal, so that
 * caches work. KEY is the beginning of the id of a key in the store. MAC is
 * HMAC-SHA256 of kind, tenant, subject and end, cut to 128 bits. Older links
 * remain valid: they have the whole MAC in hexadecimal, and the parameters key
 * and expires.
 *
 * A kind is a page that a route marked LINK serves, and its subject the
 * parameters that decide whose data the page shows (auth.c lists them). Other
 * parameters, such as format, may be changed by the person who has the link.
 */
#pragma once

#include "store/store.h"

#include <stdbool.h>

#define LINK_URL_MAX      1024
#define LINK_SECRET_BYTES 32
#define LINK_SUBJECT_MAX  ((size_t)8 << 10)
/* Least validity of a link to pinned data. */
#define LINK_PINNED_S INT64_C(31536000)
/* Time after which the key is read from the store again. */
#define LINK_KEY_MS 60000

/* A key that signs links: created once, kept in the store, used by the whole
 * pool. */
struct link_key {
	char id[ID_MAX];
	unsigned char secret[LINK_SECRET_BYTES];
};

/* A cache of the newest key; zeroed: empty. */
struct link_keys {
	struct link_key current;
	int64_t read_ms; /* 0: never */
};

/* The contents of a link that its signature covers. */
struct link_claim {
	const char *kind;    /* "flamegraph" */
	const char *subject; /* parameters of its kind, one per line */
	const char *tenant;
	const char *key;   /* of an older link, or NULL */
	int64_t expires_s; /* seconds since 1970; only with key */
};

/* A page to link to; link_make() sets the end of its claim. */
struct link_page {
	struct link_claim claim;
	const char *url; /* without the signature; may have a query */
};

/*
 * Appends the signed URL of a page.
 *   Units    valid for ttl_s seconds from now_ms, and up to an hour more
 */
MUST_CHECK int
link_make(struct store *s, struct link_keys *k, const struct link_page *page,
          int64_t now_ms, int64_t ttl_s, struct buf *out);
/* Returns the ttl_s of a link: the configured one, or more when all data behind
 * it is pinned. */
static inline int64_t
link_ttl(int64_t setting_s, bool pinned)
{
	return pinned && setting_s < LINK_PINNED_S ? LINK_PINNED_S : setting_s;
}
/* Checks a signature. Returns 0 when it is valid at now_ms; -EACCES,
 * -EKEYEXPIRED, -errno. */
MUST_CHECK int
link_check(struct store *s, struct link_keys *k, const struct link_claim *claim,
           const char *signature, int64_t now_ms);
/*
 * Appends the signed URL of a flame graph.
 *   Shape    base is [api] public_url
 */
MUST_CHECK int
link_flamegraph(struct store *s, struct link_keys *k, const char *base,
                const char *tenant, const char *id, int64_t now_ms,
                int64_t ttl_s, struct buf *out);

/*
 * Creates a key in a store that has none. Every program that signs links calls
 * this when it starts, so that reading requests never write.
 */
MUST_CHECK int link_key_make(struct store *s);
/* Reads the newest key; -ENOENT. */
MUST_CHECK int link_key_current(struct store *s, struct link_key *out);
/* Reads the newest key whose id has this prefix; -ENOENT. */
MUST_CHECK int
link_key_get(struct store *s, const char *id, struct link_key *out);
