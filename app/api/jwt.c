#include "jwt.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <rhonabwy.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define JWKS_MAX_BYTES ((size_t)1 << 20)

struct jwt_keys {
	char *path;
	struct timespec mtime;
	ino_t inode;
	jwks_t *set;
};

static void
free_jwks(jwks_t **p)
{
	r_jwks_free(*p);
}

static void
free_jwk(jwk_t **p)
{
	r_jwk_free(*p);
}

static void
free_jwt(jwt_t **p)
{
	r_jwt_free(*p);
}

/* The algorithms, with the kind of key that each requires. */
static const struct {
	jwa_alg alg;
	const char *name;
	int key_type;
	const char *curve; /* "crv" of the key; NULL: none */
} algorithms[] = {
	{R_JWA_ALG_HS256, "HS256", R_KEY_TYPE_HMAC, NULL},
	{R_JWA_ALG_RS256, "RS256", R_KEY_TYPE_RSA, NULL},
	{R_JWA_ALG_ES256, "ES256", R_KEY_TYPE_EC, "P-256"},
	{R_JWA_ALG_EDDSA, "EdDSA", R_KEY_TYPE_EDDSA, "Ed25519"},
};

/* True if the key is of the kind that the algorithm requires and is not meant
 * for another use. */
static bool
key_fits(jwk_t *key, jwa_alg alg)
{
	const char *use = r_jwk_get_property_str(key, "use");
	const char *own = r_jwk_get_property_str(key, "alg");
	const char *crv = r_jwk_get_property_str(key, "crv");
	int type = r_jwk_key_type(key, NULL, R_FLAG_IGNORE_REMOTE);

	if (use && strcmp(use, "sig"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		const char *curve = algorithms[i].curve;

		if (algorithms[i].alg != alg)
			continue;
		return (type & algorithms[i].key_type) &&
		       (!own || !strcmp(own, algorithms[i].name)) &&
		       (!curve || (crv && !strcmp(crv, curve)));
	}
	return false;
}

static int
load(struct jwt_keys *k, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(JWKS_MAX_BYTES);
	CLEANUP(free_jwks) jwks_t *set = NULL;
	struct stat st;
	int rc = stat(k->path, &st) ? -errno : 0;

	if (!rc)
		rc = file_read(AT_FDCWD, k->path, &text);
	if (rc) {
		buf_addf(why, "%s: %s", k->path,
		         rc == -E2BIG ? "larger than a JWKS file may be"
		                      : strerror(-rc));
		return rc;
	}
	if (r_jwks_init(&set) ||
	    r_jwks_import_from_json_str(set, buf_str(&text)) ||
	    r_jwks_size(set) > JWT_MAX_KEYS) {
		buf_addf(why, "%s: not a JWKS of at most %d keys", k->path,
		         JWT_MAX_KEYS);
		return -EINVAL;
	}
	r_jwks_free(k->set);
	k->set = TAKE(set);
	k->mtime = st.st_mtim;
	k->inode = st.st_ino;
	return 0;
}

/* Reads the file again if it has changed: keys were rotated. A malformed file
 * changes nothing. */
static void
reload(struct jwt_keys *k)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	struct stat st;

	if (stat(k->path, &st) ||
	    (st.st_ino == k->inode && st.st_mtim.tv_sec == k->mtime.tv_sec &&
	     st.st_mtim.tv_nsec == k->mtime.tv_nsec))
		return;
	(void)!load(k, &why);
}

int
jwt_keys_open(const char *path, struct jwt_keys **out, struct buf *why)
{
	struct jwt_keys *k = calloc(1, sizeof(*k));
	int rc = k && (k->path = strdup(path)) ? 0 : -ENOMEM;

	if (!rc && r_global_init() != RHN_OK)
		rc = -ENOMEM;
	if (!rc)
		rc = load(k, why);
	if (rc)
		jwt_keys_close(k);
	else
		*out = k;
	return rc;
}

void
jwt_keys_close(struct jwt_keys *k)
{
	if (!k)
		return;
	r_jwks_free(k->set);
	free(k->path);
	free(k);
}

static bool
signed_by(const struct jwt_keys *k, jwt_t *jwt)
{
	const char *kid = r_jwt_get_header_str_value(jwt, "kid");
	jwa_alg alg = r_jwt_get_sign_alg(jwt);

	for (size_t i = 0; i < r_jwks_size(k->set); i++) {
		CLEANUP(free_jwk) jwk_t *key = r_jwks_get_at(k->set, i);
		const char *id = r_jwk_get_property_str(key, "kid");

		if (kid && (!id || strcmp(kid, id)))
			continue;
		if (key_fits(key, alg) &&
		    r_jwt_verify_signature(jwt, key, R_FLAG_IGNORE_REMOTE) ==
		            RHN_OK)
			return true;
	}
	return false;
}

/* True if the token requires extensions; none is supported. Source: RFC 7515,
 * 4.1.11. */
static bool
asks_extension(jwt_t *jwt)
{
	CLEANUP_JSON json_t *crit = r_jwt_get_header_json_t_value(jwt, "crit");

	return crit != NULL;
}

/* True if claim, a string or an array of strings, contains wanted. */
static bool
claim_has(const json_t *claim, const char *wanted)
{
	size_t i;
	json_t *v;

	if (json_is_string(claim))
		return !strcmp(json_string_value(claim), wanted);
	json_array_foreach(claim, i, v)
		if (json_is_string(v) && !strcmp(json_string_value(v), wanted))
			return true;
	return false;
}

static const char *
refuse_claims(const json_t *claims, const struct conf *conf, int64_t now_s)
{
	const json_t *exp = json_object_get(claims, "exp");
	const json_t *nbf = json_object_get(claims, "nbf");

	if (!json_is_number(exp))
		return "the token has no exp";
	if (json_number_value(exp) + JWT_LEEWAY_S < (double)now_s)
		return "the token has expired";
	if (nbf && (!json_is_number(nbf) ||
	            json_number_value(nbf) - JWT_LEEWAY_S > (double)now_s))
		return "the token is not valid yet";
	if (*conf->api_jwt_issuer &&
	    !claim_has(json_object_get(claims, "iss"), conf->api_jwt_issuer))
		return "the token is of another issuer";
	if (*conf->api_jwt_audience &&
	    !claim_has(json_object_get(claims, "aud"), conf->api_jwt_audience))
		return "the token is for another audience";
	return NULL;
}

static bool
tenant_ok(const json_t *v)
{
	const char *s = json_string_value(v);

	return s && *s && strlen(s) < STORE_TENANT_MAX && id_valid("", s);
}

/* Reads a claim's tenants as words; the first is the default. */
static bool
read_tenants(const json_t *claim, struct caller *out)
{
	CLEANUP_BUF struct buf words = BUF_INIT(BUF_MAX_SMALL);
	const json_t *first = json_is_array(claim) ? json_array_get(claim, 0)
	                                           : claim;
	size_t i;
	json_t *v;

	if (!tenant_ok(first))
		return false;
	buf_puts(&words, json_string_value(first));
	json_array_foreach(claim, i, v) {
		if (!tenant_ok(v))
			return false;
		buf_putc(&words, ' ');
		buf_puts(&words, json_string_value(v));
	}
	snprintf(out->tenant, sizeof(out->tenant), "%s",
	         json_string_value(first));
	return !buf_take(&words, &out->tenants, NULL);
}

void
subject_name(const char *from, const char *subject, char out[static ID_MAX])
{
	int n = snprintf(out, ID_MAX, "%s:%s", from, subject);

	if (n >= ID_MAX)
		snprintf(out, ID_MAX, "%s:%.40s~%016llx", from, subject,
		         (unsigned long long)hash_bytes(subject,
		                                        strlen(subject)));
}

static const char *
read_claims(const json_t *claims, const struct conf *conf, struct caller *out)
{
	const char *role = json_string_value(
		json_object_get(claims, conf->api_jwt_role_claim));
	const json_t *sub = json_object_get(claims, "sub");

	/* the audit log and others identify callers by the subject */
	if (!json_string_length(sub))
		return "the token's sub is not a text, or it is missing or "
		       "empty";
	out->who = role ? who_parse(role) : WHO_ANYONE;
	if (out->who == WHO_ANYONE)
		return "the token names no role";
	if (!read_tenants(json_object_get(claims, conf->api_jwt_tenant_claim),
	                  out))
		return "the token names no tenant";
	subject_name("jwt", json_string_value(sub), out->id);
	return NULL;
}

/* The end of the year 9999, the latest expiry that is kept. */
#define LAST_S 253402300799.0

static int64_t
expiry_ms(const json_t *exp)
{
	double s = json_number_value(exp);

	return (int64_t)(s < LAST_S ? s : LAST_S) * MS_PER_S;
}

int
jwt_check(struct jwt_keys *k, const struct conf *conf, const char *token,
          int64_t now_s, struct caller *out, const char **why)
{
	CLEANUP(free_jwt) jwt_t *jwt = NULL;
	CLEANUP_JSON json_t *claims = NULL;
	struct caller caller = {0};

	*why = "it is neither a key nor a JWT";
	if (strlen(token) > JWT_MAX_BYTES || r_jwt_init(&jwt) ||
	    r_jwt_advanced_parse(jwt, token, R_PARSE_NONE,
	                         R_FLAG_IGNORE_REMOTE))
		return -EACCES;
	reload(k);
	*why = "no configured key has signed the token";
	if (asks_extension(jwt) || !signed_by(k, jwt))
		return -EACCES;
	claims = r_jwt_get_full_claims_json_t(jwt);
	*why = refuse_claims(claims, conf, now_s);
	if (!*why)
		*why = read_claims(claims, conf, &caller);
	if (*why) {
		free(caller.tenants);
		return -EACCES;
	}
	caller.expires_ms = expiry_ms(json_object_get(claims, "exp"));
	*out = caller;
	return 0;
}
