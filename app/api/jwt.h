/*
 * JSON Web Tokens, verified by rhonabwy with the keys of a JWKS file.
 *
 * HS256, RS256, ES256 and EdDSA are accepted, each only with a key of its kind:
 * a public key never serves as a shared secret, and "none" is refused. A token
 * that names a key (kid) is verified with that key alone. Keys and URLs in a
 * token's header are ignored. Source: RFC 7515, 7517, 7519; RFC 8725 for the
 * checks.
 */
#pragma once

#include "base/conf.h"
#include "endpoint/call.h"

#define JWT_MAX_BYTES ((size_t)8 << 10)
#define JWT_MAX_KEYS  64
#define JWT_LEEWAY_S  30 /* clock skew */

struct jwt_keys;

/* Names a caller for the audit log and idempotency, as "jwt:SUBJECT". The end
 * of a subject that is too long is replaced by a hash, so that names stay
 * distinct. */
void
subject_name(const char *from, const char *subject, char out[static ID_MAX]);

/*
 * Reads the JWKS file. jwt_check() reads it again after it has changed.
 *   Owns     *out is the caller's; jwt_keys_close() it
 *   Errors   -errno, -EINVAL with a one-line explanation in *why
 */
MUST_CHECK int
jwt_keys_open(const char *path, struct jwt_keys **out, struct buf *why);
void jwt_keys_close(struct jwt_keys *k);

/*
 * Verifies a token and reads its subject, role and tenants.
 *
 *   Shape    out->tenant is the claim's only or first tenant
 *   Units    now_s since the epoch
 *   Owns     out->tenants is the caller's
 *   Errors   -EACCES, with the reason in *why (NULL on success); *out untouched
 */
MUST_CHECK int
jwt_check(struct jwt_keys *k, const struct conf *conf, const char *token,
          int64_t now_s, struct caller *out, const char **why);
