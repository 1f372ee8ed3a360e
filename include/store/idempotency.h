/*
 * Replies kept for IDEMPOTENCY_HOURS, so that a repeated POST gets the same
 * one. A tenant has at most kept_replies of them (quotas.def). The transaction
 * that does the work begins with idempotency_claim() and ends with
 * idempotency_keep(); of two that claim one key, the later waits for the end of
 * the other, whatever the database.
 */
#pragma once

#include "base/clock.h"
#include "store/store.h"

#define IDEMPOTENCY_HOURS    24
#define IDEMPOTENCY_MS       (IDEMPOTENCY_HOURS * 60 * 60 * MS_PER_S)
#define IDEMPOTENCY_KEY_MAX  256 /* with its NUL */
#define IDEMPOTENCY_BODY_MAX ((size_t)64 << 10)

struct idempotency {
	char *fingerprint; /* of the request that was answered, as claimed:
	                      SHA-256 of its route, path, query and body */
	int64_t status;
	char *location, *body;
};
#define CLEANUP_IDEMPOTENCY CLEANUP(idempotency_done)

/* The owner of a key; strings are borrowed. */
struct idempotency_key {
	const char *tenant, *actor, *key;
};

void idempotency_done(struct idempotency *i);
/* Finds the reply to a request with this key that is still kept; -ENOENT. */
MUST_CHECK int idempotency_get(struct store *s, const struct idempotency_key *k,
                               struct idempotency *out);
/*
 * Claims a key for the transaction that has begun, until that is rolled back.
 * Returns 1, or 0 when the reply to an earlier request is kept, which
 * idempotency_get() then finds.
 *   Errors   -EBUSY when the other transaction took too long; -EXFULL; -errno
 */
MUST_CHECK int
idempotency_claim(struct store *s, const struct idempotency_key *k,
                  const char *fingerprint);
/* Keeps the reply of the transaction that has claimed the key; -ENOENT, or
 * -EMSGSIZE for a body of more than IDEMPOTENCY_BODY_MAX bytes. */
MUST_CHECK int
idempotency_keep(struct store *s, const struct idempotency_key *k,
                 const struct idempotency *v);
/* Removes replies that are older than IDEMPOTENCY_HOURS: upkeep/retention.c
 * calls it each minute. */
MUST_CHECK int idempotency_prune(struct store *s);
