/*
 * JSON Web Tokens, checked by rhonabwy against the keys of a JWKS file.
 *
 * Accepted are HS256, RS256, ES256 and EdDSA, each only by a key of its own
 * kind: a public key never serves as a shared secret, and "none" is refused.
 * A token that names a key (kid) is checked by that key alone. Keys or
 * addresses inside a token's header are ignored.
 * Source: RFC 7515, 7517, 7519; RFC 8725 for the checks.
 */
#pragma once

#include "base/conf.h"
#include "endpoint/call.h"

#define JWT_MAX_BYTES ((size_t)8 << 10)
#define JWT_MAX_KEYS  64
#define JWT_LEEWAY_S  30 /* for clocks that differ */

struct jwt_keys;

/* Names a caller for the audit log and idempotency, "jwt:SUBJECT". A subject
 * that is too long ends in a hash, so that two of them stay different. */
void subject_name(const char *from, const char *subject,
                  char out[static ID_MAX]);

/*
 * Reads the JWKS file, and again when the file changes.
 *   Owns     *out is the caller's; jwt_keys_close() it
 *   Errors   -errno, -EINVAL with one line in *why
 */
MUST_CHECK int
jwt_keys_open(const char *path, struct jwt_keys **out, struct buf *why);
void jwt_keys_close(struct jwt_keys *k);

/*
 * Checks a token and reads its subject, role and tenants.
 *
 *   Shape    out->tenant is the first or only tenant of the claim
 *   Units    now_s since the epoch
 *   Owns     out->tenants is the caller's
 *   Errors   -EACCES, with the reason in *why (else NULL); *out untouched
 */
MUST_CHECK int
jwt_check(struct jwt_keys *k, const struct conf *conf, const char *token,
          int64_t now_s, struct caller *out, const char **why);
