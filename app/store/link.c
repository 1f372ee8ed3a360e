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
/* Characters of a key's id, after its prefix, that identify it. */
#define KEY_CHARS 4
/* 128 bits, the least that RFC 2104, section 5, recommends for this HMAC */
#define MAC_BYTES 16
#define MAC_CHARS 22 /* MAC_BYTES in base64 */
/* Length of an older signature, all of it hexadecimal. */
#define LONG_CHARS    64
#define SIGNATURE_MAX (LONG_CHARS + 1)

static int
load(struct store *s, struct link_key *out, enum sql sql,
     const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct link_key k;
	int rc = db_first(s->db, sql, v, n, &rows);

	if (rc)
		return rc;
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

	if (rc != -ENOENT) /* another process has made the key */
		return rc;
	id_new(LINK_KEY_PREFIX, k.id);
	random_bytes(k.secret, sizeof(k.secret));
	hex_encode(k.secret, sizeof(k.secret), secret);
	return db_do(s->db, SQL_LINK_KEY_INSERT, ARGS(V(k.id), V(secret)));
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

static int
link_mac(const struct link_key *key, const struct link_claim *claim,
         unsigned char out[static EVP_MAX_MD_SIZE], unsigned int *out_len)
{
	char text[STORE_TENANT_MAX + LINK_SUBJECT_MAX + 64];
	int n = snprintf(text, sizeof(text), "%s\n%s\n%s\n%lld", claim->kind,
	                 claim->tenant, claim->subject,
	                 (long long)claim->expires_s);

	if (n < 0 || (size_t)n >= sizeof(text))
		return -EINVAL;
	return HMAC(EVP_sha256(), key->secret, LINK_SECRET_BYTES,
	            (unsigned char *)text, (size_t)n, out, out_len)
	               ? 0
	               : -EIO;
}

/* Writes the first bytes of a MAC in the base64 of RFC 4648, section 5. */
static void
put_mac(const unsigned char *mac, char out[static SIGNATURE_MAX])
{
	EVP_EncodeBlock((unsigned char *)out, mac, MAC_BYTES);
	out[MAC_CHARS] = '\0';
	for (char *p = out; *p; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
}

/* Writes HOUR.KEY.MAC, or the older form. Each claim has exactly one text in
 * either form, so that a signature changed in any way is refused. */
static int
link_sign(const struct link_key *key, const struct link_claim *claim,
          bool is_long, char out[static SIGNATURE_MAX])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned int len = sizeof(mac);
	char text[SIGNATURE_MAX];
	int rc = link_mac(key, claim, mac, &len);

	if (rc)
		return rc;
	if (is_long) {
		hex_encode(mac, len, out);
		return 0;
	}
	put_mac(mac, text);
	snprintf(out, SIGNATURE_MAX, "%lld.%.*s.%.*s",
	         (long long)(claim->expires_s / HOUR_S), KEY_CHARS,
	         key->id + strlen(LINK_KEY_PREFIX), MAC_CHARS, text);
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
	char signature[SIGNATURE_MAX];
	int rc = key_current(s, k, now_ms);

	if (rc)
		return rc;
	claim.expires_s = ((now_ms / 1000 + ttl_s) / HOUR_S + 1) * HOUR_S;
	rc = link_sign(&k->current, &claim, false, signature);
	if (rc)
		return rc;
	buf_addf(out, "%s%ctenant=%s&signature=%s", page->url,
	         strchr(page->url, '?') ? '&' : '?', claim.tenant, signature);
	return buf_err(out);
}

int
link_flamegraph(struct store *s, struct link_keys *k, const char *base,
                const char *tenant, const char *id, int64_t now_ms,
                int64_t ttl_s, struct buf *out)
{
	CLEANUP_BUF struct buf url = BUF_INIT(LINK_URL_MAX);
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
	if (k->read_ms && !strncmp(k->current.id, id, strlen(id))) {
		*out = k->current;
		return 0;
	}
	return link_key_get(s, id, out);
}

/* Reads the end of validity and the key. In an older link they are in
 * claim. */
static int
read_signature(const char *signature, char key[static ID_MAX],
               struct link_claim *claim)
{
	char chars[KEY_CHARS + 1];
	long long hours;

	_Static_assert(KEY_CHARS == 4, "as below");
	if (sscanf(signature, "%9lld.%4[a-z2-7].", &hours, chars) != 2)
		return -EACCES;
	snprintf(key, ID_MAX, LINK_KEY_PREFIX "%s", chars);
	claim->key = key;
	claim->expires_s = hours * HOUR_S;
	return 0;
}

int
link_check(struct store *s, struct link_keys *k, const struct link_claim *claim,
           const char *signature, int64_t now_ms)
{
	bool is_long = claim->key && strlen(signature) == LONG_CHARS;
	char expected[SIGNATURE_MAX], id[ID_MAX];
	struct link_claim c = *claim;
	struct link_key key;
	int rc = is_long ? 0 : read_signature(signature, id, &c);

	if (rc)
		return rc;
	rc = key_named(s, k, c.key, &key);
	if (rc)
		return rc == -ENOENT ? -EACCES : rc;
	if (link_sign(&key, &c, is_long, expected) ||
	    strlen(signature) != strlen(expected) ||
	    CRYPTO_memcmp(expected, signature, strlen(expected)))
		return -EACCES;
	return c.expires_s * 1000 < now_ms ? -EKEYEXPIRED : 0;
}
