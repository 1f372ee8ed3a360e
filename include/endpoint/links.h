/*
 * Signed links: a flame graph opens in a browser without a token.
 *
 * The signature is HMAC-SHA256 over path kind, tenant, id and end of
 * validity, by a key kept in the store. The end is rounded up to a full
 * hour, so that a link stays the same for an hour and caches work.
 */
#pragma once

#include "store/link_key.h"

#define LINK_MAX           1024
#define LINK_SIGNATURE_LEN 64
/* A key is asked of the store again after this. */
#define LINK_KEY_MS 60000

/* The newest key, remembered; zeroed: none yet. */
struct link_keys {
	struct link_key current;
	int64_t read_ms; /* 0: never */
};

/* What a link names. */
struct link_claim {
	const char *tenant, *id, *key;
	int64_t expires_s; /* epoch */
};

/*
 * Appends "BASE/api/.../ID/flamegraph?tenant=..." to out.
 *   Units    ttl_s seconds from now_ms at least, an hour more at most
 */
MUST_CHECK int link_make(struct store *s, struct link_keys *k, const char *base,
                         const char *tenant, const char *id, int64_t now_ms,
                         int64_t ttl_s, struct buf *out);
/* 0 when the signature is good at now_ms; -EACCES, -EKEYEXPIRED, -errno. */
MUST_CHECK int
link_check(struct store *s, struct link_keys *k, const struct link_claim *claim,
           const char *signature, int64_t now_ms);
/* The signature itself: lower case hexadecimal. */
MUST_CHECK int link_sign(const unsigned char secret[static LINK_SECRET_BYTES],
                         const struct link_claim *claim,
                         char out[static LINK_SIGNATURE_LEN + 1]);
