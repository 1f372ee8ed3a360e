#include "store/link.h"

#include "store/files/digest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#define LINK_KEY_PREFIX "key-"
#define HOUR_S          3600

static int
load(struct store *s, struct link_key *out, enum sql sql,
     const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct link_key k;
	int rc = db_query(s->db, sql, v, n, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	if (!id_valid(LINK_KEY_PREFIX, db_col_text(&rows, 0)) ||
	    hex_decode(db_col_text(&rows, 1), k.secret, sizeof(k.secret)))
		return -EBADMSG;
	snprintf(k.id, sizeof(k.id), "%s", db_col_text(&rows, 0));
	*out = k;
	return 0;
}

int
link_key_current(struct store *s, struct link_key *out)
{
	return load(s, out, SQL_LINK_KEY_NEWEST, NO_ARGS);
}

static int
make(struct store *s)
{
	char secret[2 * LINK_SECRET_BYTES + 1];
	struct link_key k;
	int rc = link_key_current(s, &k);

	if (rc != -ENOENT) /* another process was first */
		return rc;
	id_new(LINK_KEY_PREFIX, k.id);
	random_bytes(k.secret, sizeof(k.secret));
	hex_encode(k.secret, sizeof(k.secret), secret);
	rc = db_run(s->db, SQL_LINK_KEY_INSERT, ARGS(V(k.id), V(secret)));
	return rc < 0 ? rc : 0;
}

int
link_key_make(struct store *s)
{
	struct link_key k;
	int rc = link_key_current(s, &k);

	if (rc == -ENOENT)
		rc = store_begin(s) ?: store_end(s, make(s));
	return rc;
}

int
link_key_get(struct store *s, const char *id, struct link_key *out)
{
	return load(s, out, SQL_LINK_KEY_GET, ARGS(V(id)));
}

/* Computes the signature as lower-case hexadecimal. */
static int
link_sign(const unsigned char secret[static LINK_SECRET_BYTES],
          const struct link_claim *claim,
          char out[static LINK_SIGNATURE_LEN + 1])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned int len = sizeof(mac);
	char text[STORE_TENANT_MAX + LINK_SUBJECT_MAX + 64];
	int n = snprintf(text, sizeof(text), "%s\n%s\n%s\n%lld", claim->kind,
	                 claim->tenant, claim->subject,
	                 (long long)claim->expires_s);

	if (n < 0 || (size_t)n >= sizeof(text))
		return -EINVAL;
	if (!HMAC(EVP_sha256(), secret, LINK_SECRET_BYTES,
	          (unsigned char *)text, (size_t)n, mac, &len))
		return -EIO;
	hex_encode(mac, len, out);
	return 0;
}

static int
key_current(struct store *s, struct link_keys *k, int64_t now_ms)
{
	int rc;

	if (k->read_ms && now_ms >= k->read_ms &&
	    now_ms - k->read_ms < LINK_KEY_MS)
		return 0;
	rc = link_key_current(s, &k->current);
	if (!rc)
		k->read_ms = now_ms;
	return rc;
}

int
link_make(struct store *s, struct link_keys *k, const struct link_page *page,
          int64_t now_ms, int64_t ttl_s, struct buf *out)
{
	struct link_claim claim = page->claim;
	char signature[LINK_SIGNATURE_LEN + 1];
	int64_t hour = now_ms / 1000 / HOUR_S + 1;
	int rc = key_current(s, k, now_ms);

	if (rc)
		return rc;
	claim.expires_s = hour * HOUR_S + ttl_s;
	rc = link_sign(k->current.secret, &claim, signature);
	if (rc)
		return rc;
	buf_addf(out, "%s%ctenant=%s&key=%s&expires=%lld&signature=%s",
	         page->url, strchr(page->url, '?') ? '&' : '?', claim.tenant,
	         k->current.id, (long long)claim.expires_s, signature);
	return buf_err(out);
}

int
link_flamegraph(struct store *s, struct link_keys *k, const char *base,
                const char *tenant, const char *id, int64_t now_ms,
                int64_t ttl_s, struct buf *out)
{
	CLEANUP_BUF struct buf url = BUF_INIT(LINK_MAX);
	struct link_page page = {
		.claim = {"flamegraph", id, .tenant = tenant},
	};

	buf_addf(&url, "%s/api/v1/observability/profiling/%s/flamegraph", base,
	         id);
	page.url = buf_str(&url);
	return buf_err(&url) ?: link_make(s, k, &page, now_ms, ttl_s, out);
}

static int
key_named(struct store *s, const struct link_keys *k, const char *id,
          struct link_key *out)
{
	if (k->read_ms && !strcmp(k->current.id, id)) {
		*out = k->current;
		return 0;
	}
	return link_key_get(s, id, out);
}

int
link_check(struct store *s, struct link_keys *k, const struct link_claim *claim,
           const char *signature, int64_t now_ms)
{
	char expected[LINK_SIGNATURE_LEN + 1];
	struct link_key key;
	int rc;

	if (strlen(signature) != LINK_SIGNATURE_LEN)
		return -EACCES;
	rc = key_named(s, k, claim->key, &key);
	if (rc)
		return rc == -ENOENT ? -EACCES : rc;
	rc = link_sign(key.secret, claim, expected);
	if (rc)
		return -EACCES;
	if (CRYPTO_memcmp(expected, signature, LINK_SIGNATURE_LEN))
		return -EACCES;
	return claim->expires_s * 1000 < now_ms ? -EKEYEXPIRED : 0;
}
