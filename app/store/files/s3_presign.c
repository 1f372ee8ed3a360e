/* Presigned URLs of objects. */
#include "s3_private.h"

#include "base/clock.h"
#include "digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define VALID_S  60
#define MAC      32 /* bytes of HMAC-SHA-256 */
#define STAMP    17 /* 20260115T080000Z and its NUL */
#define DATE_LEN 8  /* YYYYMMDD */

static int
sign(unsigned char key[static MAC], size_t nkey, const char *text, size_t n)
{
	unsigned int got = MAC;

	return HMAC(EVP_sha256(), key, (int)nkey, (const unsigned char *)text,
	            n, key, &got)
	               ? 0
	               : -ENOMEM;
}

/* Derives the signing key: date, region and service, each signed with the
 * result of the one before. */
static int
day_key(const struct s3 *s3, const char *stamp, unsigned char out[static MAC])
{
	CLEANUP_BUF struct buf first = BUF_INIT(1024);
	unsigned int got = MAC;
	int rc;

	buf_addf(&first, "AWS4%s", s3->secret);
	rc = buf_err(&first);
	if (!rc && !HMAC(EVP_sha256(), first.p, (int)first.len,
	                 (const unsigned char *)stamp, DATE_LEN, out, &got))
		rc = -ENOMEM;
	if (first.p)
		explicit_bzero(first.p, first.len);
	return rc
	               ?: sign(out, MAC, s3->region, strlen(s3->region))
	               ?: sign(out, MAC, "s3", 2)
	               ?: sign(out, MAC, "aws4_request", 12);
}

/* Signs the request without its signature. */
static int
sign_request(const struct s3 *s3, const char *name, const char *stamp,
             const char *query, char out[static DIGEST_CHARS])
{
	CLEANUP_BUF struct buf request = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char hash[DIGEST_CHARS];
	unsigned char key[MAC];
	int rc;

	buf_addf(&request, "GET\n%s%s\n%s\nhost:%s\n\nhost\nUNSIGNED-PAYLOAD",
	         s3->path, name, query, s3->host);
	rc = buf_err(&request) ?: digest(request.p, request.len, hash);
	if (rc)
		return rc;
	buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/s3/aws4_request\n%s",
	         stamp, stamp, s3->region, hash);
	rc = buf_err(&text) ?: day_key(s3, stamp, key)
	             ?: sign(key, MAC, text.p, text.len);
	hex_encode(key, MAC, out);
	return rc;
}

/* Encodes '/' and '+', which a key id may contain; letters, digits and a few
 * signs need no encoding. */
static void
put_credential(struct buf *out, const struct s3 *s3, const char *stamp)
{
	for (const char *p = s3->key; *p; p++)
		if (strchr("/+=", *p))
			buf_addf(out, "%%%02X", (unsigned)*p);
		else
			buf_putc(out, *p);
	buf_addf(out, "%%2F%.8s%%2F%s%%2Fs3%%2Faws4_request", stamp,
	         s3->region);
}

int
s3_presign(const struct s3 *s3, const char *name, int64_t now_ms,
           struct buf *out)
{
	CLEANUP_BUF struct buf query = BUF_INIT(BUF_MAX_SMALL);
	time_t now = (time_t)(now_ms / MS_PER_S);
	char stamp[STAMP], mac[DIGEST_CHARS];
	struct tm tm;
	int rc;

	if (!bytes_name_valid(name))
		return -EBADMSG;
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	buf_puts(&query, "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=");
	put_credential(&query, s3, stamp);
	buf_addf(&query,
	         "&X-Amz-Date=%s&X-Amz-Expires=%d&X-Amz-SignedHeaders=host",
	         stamp, VALID_S);
	rc = buf_err(&query)
	             ?: sign_request(s3, name, stamp, buf_str(&query), mac);
	if (rc)
		return rc;
	buf_addf(out, "%s%s?%s&X-Amz-Signature=%s", s3->path, name,
	         buf_str(&query), mac);
	return buf_err(out);
}
