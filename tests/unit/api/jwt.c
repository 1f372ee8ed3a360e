#include "api/jwt.h"
#include "base/file.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <rhonabwy.h>
#include <string.h>

#define NOW_S 1770000000

/* One key of each kind, and a JWKS file with their public halves. */
struct ring {
	jwk_t *hs, *rsa, *ec, *ed, *stranger;
	char dir[64], path[96];
	struct jwt_keys *keys;
	struct conf conf;
};
#define CLEANUP_RING CLEANUP(ring_done)

static void
ring_done(struct ring *r)
{
	jwk_t *all[] = {r->hs, r->rsa, r->ec, r->ed, r->stranger};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		r_jwk_free(all[i]);
	jwt_keys_close(r->keys);
	conf_done(&r->conf);
	unlink(r->path);
	rmdir(r->dir);
}

static jwk_t *
pair(int type, unsigned bits, const char *kid, jwks_t *set)
{
	jwk_t *private, *public;

	ck_assert_int_eq(r_jwk_init(&private), RHN_OK);
	ck_assert_int_eq(r_jwk_init(&public), RHN_OK);
	ck_assert_int_eq(
		r_jwk_generate_key_pair(private, public, type, bits, kid),
		RHN_OK);
	if (set)
		ck_assert_int_eq(r_jwks_append_jwk(set, public), RHN_OK);
	r_jwk_free(public);
	return private;
}

static void
write_ring(struct ring *r, jwks_t *set)
{
	char *text = r_jwks_export_to_json_str(set, 0);
	int dir = open(r->dir, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(file_replace(dir, "jwks", 0600, text, strlen(text)),
	                 0);
	close(dir);
	r_free(text);
}

static struct ring
ring(void)
{
	struct ring r = {.dir = "/tmp/stoker-jwt.XXXXXX"};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	jwks_t *set;

	ck_assert_ptr_nonnull(mkdtemp(r.dir));
	snprintf(r.path, sizeof(r.path), "%s/jwks", r.dir);
	ck_assert_int_eq(r_jwks_init(&set), RHN_OK);
	r_jwk_init(&r.hs);
	r_jwk_import_from_symmetric_key(
		r.hs, (const unsigned char *)"0123456789abcdef0123456789abcdef",
		32);
	r_jwk_set_property_str(r.hs, "kid", "hs");
	r_jwks_append_jwk(set, r.hs);
	r.rsa = pair(R_KEY_TYPE_RSA, 2048, "rsa", set);
	r.ec = pair(R_KEY_TYPE_EC, 256, "ec", set);
	r.ed = pair(R_KEY_TYPE_EDDSA, 256, "ed", set);
	r.stranger = pair(R_KEY_TYPE_EC, 256, "ec", NULL);
	write_ring(&r, set);
	r_jwks_free(set);
	ck_assert_int_eq(jwt_keys_open(r.path, &r.keys, &why), 0);
	ck_assert_int_eq(conf_parse("test",
	                            "[api]\njwt_issuer = me\n"
	                            "jwt_audience = stoker\n",
	                            &r.conf, &why),
	                 0);
	return r;
}

static char *
sign(jwk_t *key, jwa_alg alg, const char *claims)
{
	jwt_t *jwt;
	char *token;

	ck_assert_int_eq(r_jwt_init(&jwt), RHN_OK);
	r_jwt_set_sign_alg(jwt, alg);
	ck_assert_int_eq(r_jwt_set_full_claims_json_str(jwt, claims), RHN_OK);
	token = r_jwt_serialize_signed(jwt, key, 0);
	r_jwt_free(jwt);
	ck_assert_ptr_nonnull(token);
	return token;
}

static int
check(struct ring *r, const char *token, struct caller *c)
{
	const char *why = "";
	int rc = jwt_check(r->keys, &r->conf, token, NOW_S, c, &why);

	ck_assert_int_eq(rc != 0, why != NULL);
	return rc;
}

static int
check_signed(struct ring *r, jwk_t *key, jwa_alg alg, const char *claims)
{
	struct caller c = {0};
	char *token = sign(key, alg, claims);
	int rc = check(r, token, &c);

	r_free(token);
	free(c.tenants);
	return rc;
}

#define GOOD                                                     \
	"{\"iss\":\"me\",\"aud\":\"stoker\",\"exp\":1770000060," \
	"\"sub\":\"ann\",\"role\":\"operator\",\"tenant\":\"t1\"}"

TEST(each_algorithm_is_taken_with_its_key)
{
	CLEANUP_RING struct ring r = ring();

	ck_assert_int_eq(check_signed(&r, r.hs, R_JWA_ALG_HS256, GOOD), 0);
	ck_assert_int_eq(check_signed(&r, r.rsa, R_JWA_ALG_RS256, GOOD), 0);
	ck_assert_int_eq(check_signed(&r, r.ec, R_JWA_ALG_ES256, GOOD), 0);
	ck_assert_int_eq(check_signed(&r, r.ed, R_JWA_ALG_EDDSA, GOOD), 0);
}
END

TEST(other_algorithms_are_refused)
{
	CLEANUP_RING struct ring r = ring();

	ck_assert_int_eq(check_signed(&r, r.hs, R_JWA_ALG_HS512, GOOD),
	                 -EACCES);
	ck_assert_int_eq(check_signed(&r, r.rsa, R_JWA_ALG_RS512, GOOD),
	                 -EACCES);
	ck_assert_int_eq(check_signed(&r, r.rsa, R_JWA_ALG_PS256, GOOD),
	                 -EACCES);
}
END

TEST(a_key_that_is_not_in_the_file_is_refused)
{
	CLEANUP_RING struct ring r = ring();

	ck_assert_int_eq(check_signed(&r, r.stranger, R_JWA_ALG_ES256, GOOD),
	                 -EACCES);
}
END

/* The token names one key of the file and is signed with another. */
TEST(a_token_is_checked_with_the_key_that_it_names)
{
	static const char *const named[] = {"rsa", "none"};
	CLEANUP_RING struct ring r = ring();

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		struct caller c = {0};
		jwt_t *jwt;
		char *token;

		ck_assert_int_eq(r_jwt_init(&jwt), RHN_OK);
		r_jwt_set_sign_alg(jwt, R_JWA_ALG_ES256);
		r_jwt_set_full_claims_json_str(jwt, GOOD);
		r_jwt_set_header_str_value(jwt, "kid", named[i]);
		token = r_jwt_serialize_signed(jwt, r.ec, 0);
		ck_assert_ptr_nonnull(token);
		ck_assert_int_eq(check(&r, token, &c), -EACCES);
		r_free(token);
		r_jwt_free(jwt);
	}
}
END

/* A confused verifier takes a public key for a shared secret.
 * Source: RFC 8725, 2.1. */
TEST(a_public_key_is_no_shared_secret)
{
	CLEANUP_RING struct ring r = ring();
	jwk_t *confused;
	unsigned char pem[4096];
	size_t n = sizeof(pem);
	jwk_t *public;

	r_jwk_init(&public);
	ck_assert_int_eq(r_jwk_extract_pubkey(r.rsa, public, 0), RHN_OK);
	ck_assert_int_eq(
		r_jwk_export_to_pem_der(public, R_FORMAT_PEM, pem, &n, 0),
		RHN_OK);
	r_jwk_init(&confused);
	r_jwk_import_from_symmetric_key(confused, pem, n);
	r_jwk_set_property_str(confused, "kid", "rsa");
	ck_assert_int_eq(check_signed(&r, confused, R_JWA_ALG_HS256, GOOD),
	                 -EACCES);
	r_jwk_free(confused);
	r_jwk_free(public);
}
END

TEST(a_key_is_used_only_for_what_it_says)
{
	static const struct {
		const char *property, *value;
		int rc;
	} cases[] = {
		{"use", "sig", 0},
		{"use", "enc", -EACCES},
		{"alg", "HS256", 0},
		{"alg", "HS512", -EACCES},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP_RING struct ring r = ring();
		jwks_t *set;

		r_jwks_init(&set);
		r_jwk_set_property_str(r.hs, cases[i].property, cases[i].value);
		r_jwks_append_jwk(set, r.hs);
		write_ring(&r, set);
		r_jwks_free(set);
		r_jwk_delete_property_str(r.hs, cases[i].property);
		ck_assert_msg(check_signed(&r, r.hs, R_JWA_ALG_HS256, GOOD) ==
		                      cases[i].rc,
		              "%s %s", cases[i].property, cases[i].value);
	}
}
END

static const char *const malformed[] = {
	"",
	".",
	"..",
	"a.b.c",
	/* {"alg":"none"} */
	"eyJhbGciOiJub25lIn0."
	"eyJleHAiOjE3NzAwMDAwNjAsInRlbmFudCI6InQxIn0.",
	"eyJhbGciOiJub25lIn0."
	"eyJleHAiOjE3NzAwMDAwNjAsInRlbmFudCI6InQxIn0",
	"eyJhbGciOiJIUzI1NiJ9..",
	"eyJhbGciOiJIUzI1NiJ9.e30.AAAA",
};

TEST(unsigned_and_broken_tokens_are_refused)
{
	CLEANUP_RING struct ring r = ring();
	struct caller c = {0};

	for (size_t i = 0; i < ARRAY_LEN(malformed); i++)
		ck_assert_int_eq(check(&r, malformed[i], &c), -EACCES);
	ck_assert_ptr_null(c.tenants);
}
END

TEST(every_changed_byte_breaks_the_signature)
{
	CLEANUP_RING struct ring r = ring();
	char *token = sign(r.hs, R_JWA_ALG_HS256, GOOD);
	struct caller c = {0};
	size_t last = strlen(token) - 1; /* its lowest bits are unused */

	for (size_t i = 0; i < last; i++) {
		char was = token[i];

		token[i] = was == 'A' ? 'B' : 'A';
		ck_assert_int_eq(check(&r, token, &c), -EACCES);
		token[i] = was;
	}
	r_free(token);
}
END

#define CLAIMS(iss, aud, times, who) \
	"{\"iss\":" iss ",\"aud\":" aud "," times ",\"sub\":\"a\"," who "}"
#define TIMES "\"exp\":1770000060"
#define WHO   "\"role\":\"viewer\",\"tenant\":\"t1\""

static const struct {
	const char *label, *claims;
	int rc;
} claims[] = {
	{"good", CLAIMS("\"me\"", "\"stoker\"", TIMES, WHO), 0},
	{"one of several audiences",
         CLAIMS("\"me\"", "[\"x\",\"stoker\"]", TIMES, WHO), 0},
	{"another issuer", CLAIMS("\"you\"", "\"stoker\"", TIMES, WHO),
         -EACCES},
	{"another audience", CLAIMS("\"me\"", "\"x\"", TIMES, WHO), -EACCES},
	{"audience of another type", CLAIMS("\"me\"", "1", TIMES, WHO),
         -EACCES},
	{"no end", CLAIMS("\"me\"", "\"stoker\"", "\"x\":1", WHO), -EACCES},
	{"end as text",
         CLAIMS("\"me\"", "\"stoker\"", "\"exp\":\"1770000060\"", WHO),
         -EACCES},
	{"ended within leeway",
         CLAIMS("\"me\"", "\"stoker\"", "\"exp\":1769999970", WHO), 0},
	{"ended", CLAIMS("\"me\"", "\"stoker\"", "\"exp\":1769999969", WHO),
         -EACCES},
	{"starts within leeway",
         CLAIMS("\"me\"", "\"stoker\"", TIMES ",\"nbf\":1770000030", WHO), 0},
	{"not yet",
         CLAIMS("\"me\"", "\"stoker\"", TIMES ",\"nbf\":1770000031", WHO),
         -EACCES},
	{"no role", CLAIMS("\"me\"", "\"stoker\"", TIMES, "\"tenant\":\"t1\""),
         -EACCES},
	{"unknown role",
         CLAIMS("\"me\"", "\"stoker\"", TIMES,
                "\"role\":\"root\",\"tenant\":\"t1\""),
         -EACCES},
	{"no tenant",
         CLAIMS("\"me\"", "\"stoker\"", TIMES, "\"role\":\"viewer\""), -EACCES},
	{"every tenant",
         CLAIMS("\"me\"", "\"stoker\"", TIMES,
                "\"role\":\"viewer\",\"tenant\":\"*\""),
         -EACCES},
	{"a tenant of two words",
         CLAIMS("\"me\"", "\"stoker\"", TIMES,
                "\"role\":\"viewer\",\"tenant\":\"a b\""),
         -EACCES},
	{"a subject that is no text",
         "{\"iss\":\"me\",\"aud\":\"stoker\"," TIMES ",\"sub\":7," WHO "}",
         -EACCES},
	{"no subject", "{\"iss\":\"me\",\"aud\":\"stoker\"," TIMES "," WHO "}",
         -EACCES},
	{"an empty subject",
         "{\"iss\":\"me\",\"aud\":\"stoker\"," TIMES ",\"sub\":\"\"," WHO "}",
         -EACCES},
	{"a second tenant of two words",
         CLAIMS("\"me\"", "\"stoker\"", TIMES,
                "\"role\":\"viewer\",\"tenant\":[\"t1\",\"a b\"]"),
         -EACCES},
	{"every tenant beside one",
         CLAIMS("\"me\"", "\"stoker\"", TIMES,
                "\"role\":\"viewer\",\"tenant\":[\"t1\",\"*\"]"),
         -EACCES},
	{"no tenants in the list",
         CLAIMS("\"me\"", "\"stoker\"", TIMES,
                "\"role\":\"viewer\",\"tenant\":[]"),
         -EACCES},
};

TEST(claims_are_checked)
{
	CLEANUP_RING struct ring r = ring();

	for (size_t i = 0; i < ARRAY_LEN(claims); i++)
		ck_assert_msg(check_signed(&r, r.hs, R_JWA_ALG_HS256,
		                           claims[i].claims) == claims[i].rc,
		              "%s", claims[i].label);
}
END

TEST(claims_name_role_tenants_and_subject)
{
	CLEANUP_RING struct ring r = ring();
	struct caller c = {0};
	char *token = sign(r.hs, R_JWA_ALG_HS256,
	                   CLAIMS("\"me\"", "\"stoker\"", TIMES,
	                          "\"role\":\"admin\","
	                          "\"tenant\":[\"t1\",\"t2\"]"));

	ck_assert_int_eq(check(&r, token, &c), 0);
	ck_assert_int_eq(c.who, WHO_ADMIN);
	ck_assert_str_eq(c.tenant, "t1");
	ck_assert(conf_list_has(c.tenants, "t2"));
	ck_assert_str_eq(c.id, "jwt:a");
	free(c.tenants);
	r_free(token);
}
END

#define LONG_SUBJECT                                                         \
	"spiffe://example.org/ns/production/sa/a-service-account-of-a-name-" \
	"that-differs-at-its-end-"
#define LONG_CLAIMS(end)                                                     \
	"{\"iss\":\"me\",\"aud\":\"stoker\"," TIMES                          \
	",\"role\":\"viewer\",\"tenant\":\"t1\",\"sub\":\"" LONG_SUBJECT end \
	"\"}"

TEST(long_subjects_stay_apart)
{
	static const char *const claims_of[] = {LONG_CLAIMS("1"),
	                                        LONG_CLAIMS("2")};
	CLEANUP_RING struct ring r = ring();
	struct caller c[2] = {0};

	for (size_t i = 0; i < 2; i++) {
		char *token = sign(r.hs, R_JWA_ALG_HS256, claims_of[i]);

		ck_assert_int_eq(check(&r, token, &c[i]), 0);
		free(c[i].tenants);
		r_free(token);
	}
	ck_assert_int_eq(strncmp(c[0].id, "jwt:spiffe://example.org/", 25), 0);
	ck_assert_str_ne(c[0].id, c[1].id);
}
END

TEST(a_replaced_file_changes_the_keys)
{
	CLEANUP_RING struct ring r = ring();
	jwks_t *set;

	ck_assert_int_eq(check_signed(&r, r.ec, R_JWA_ALG_ES256, GOOD), 0);
	r_jwks_init(&set);
	r_jwks_append_jwk(set, r.hs);
	write_ring(&r, set);
	r_jwks_free(set);
	ck_assert_int_eq(check_signed(&r, r.ec, R_JWA_ALG_ES256, GOOD),
	                 -EACCES);
	ck_assert_int_eq(check_signed(&r, r.hs, R_JWA_ALG_HS256, GOOD), 0);
}
END

SUITE("jwt");
