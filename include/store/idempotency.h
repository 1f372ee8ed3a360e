/*
 * Replies kept for a day, so that a repeated POST gets the same one. Look up
 * and keep in the transaction that does the work: two requests with one key
 * then wait for each other.
 */
#pragma once

#include "store/store.h"

#define IDEMPOTENCY_MS      INT64_C(86400000)
#define IDEMPOTENCY_KEY_MAX 256 /* with its NUL */

struct idempotency {
	char *fingerprint; /* of the request that was answered */
	int64_t status;
	char *location, *body;
};
#define CLEANUP_IDEMPOTENCY CLEANUP(idempotency_done)

/* Whose key it is; strings are borrowed. */
struct idempotency_key {
	const char *tenant, *actor, *key;
};

void idempotency_done(struct idempotency *i);
/* The reply under a key of the last 24 h; -ENOENT. */
MUST_CHECK int idempotency_get(struct store *s, const struct idempotency_key *k,
                               struct idempotency *out);
/* Keeps one, in place of an expired one. */
MUST_CHECK int idempotency_put(struct store *s, const struct idempotency_key *k,
                               const struct idempotency *v);
/* Removes expired ones. */
MUST_CHECK int idempotency_prune(struct store *s);
