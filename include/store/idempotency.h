/*
 * Replies kept for a day, so that a repeated POST gets the same one. Call
 * idempotency_get() and _put() in the transaction that does the work, so that
 * two requests with one key wait for each other.
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

/* The owner of a key; strings are borrowed. */
struct idempotency_key {
	const char *tenant, *actor, *key;
};

void idempotency_done(struct idempotency *i);
/* Finds the reply to a request with this key in the last 24 h; -ENOENT. */
MUST_CHECK int idempotency_get(struct store *s, const struct idempotency_key *k,
                               struct idempotency *out);
/* Keeps a reply, and replaces an expired one. */
MUST_CHECK int idempotency_put(struct store *s, const struct idempotency_key *k,
                               const struct idempotency *v);
/* Removes expired replies. */
MUST_CHECK int idempotency_prune(struct store *s);
