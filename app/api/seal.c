#include "seal.h"

#include "base/id.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define KEY_BYTES 32
#define IV_BYTES  12
#define TAG_BYTES 16

static void
free_cipher(EVP_CIPHER_CTX **c)
{
	EVP_CIPHER_CTX_free(*c);
}
#define CLEANUP_CIPHER CLEANUP(free_cipher)

static int
derive(const char *secret, unsigned char key[static KEY_BYTES])
{
	static const char label[] = "stoker idempotency";
	unsigned int len = KEY_BYTES;

	return HMAC(EVP_sha256(), secret, (int)strlen(secret),
	            (const unsigned char *)label, sizeof(label), key, &len)
	               ? 0
	               : -EIO;
}

static void
add_hex(struct buf *out, const unsigned char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		buf_putc(out, digits[p[i] >> 4]);
		buf_putc(out, digits[p[i] & 15]);
	}
}

static int
nibble(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	                              : -1;
}

static int
read_hex(const char *s, struct buf *out)
{
	for (; *s; s += 2) {
		int hi = nibble(s[0]), lo = hi < 0 ? -1 : nibble(s[1]);

		if (lo < 0)
			return -EBADMSG;
		buf_putc(out, (char)(hi << 4 | lo));
	}
	return buf_err(out);
}

int
seal(const char *secret, const char *plain, size_t n, struct buf *out)
{
	CLEANUP_CIPHER EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	unsigned char key[KEY_BYTES], iv[IV_BYTES], tag[TAG_BYTES];
	unsigned char *to = (unsigned char *)buf_reserve(&text, n + TAG_BYTES);
	int len = 0, rest = 0;

	if (!c || !to)
		return -ENOMEM;
	random_bytes(iv, sizeof(iv));
	if (derive(secret, key) ||
	    !EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, iv) ||
	    !EVP_EncryptUpdate(c, to, &len, (const unsigned char *)plain,
	                       (int)n) ||
	    !EVP_EncryptFinal_ex(c, to + len, &rest) ||
	    !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag))
		return -EIO;
	add_hex(out, iv, sizeof(iv));
	add_hex(out, tag, sizeof(tag));
	add_hex(out, to, (size_t)(len + rest));
	return buf_err(out);
}

int
unseal(const char *secret, const char *sealed, struct buf *out)
{
	CLEANUP_CIPHER EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_REPLY);
	unsigned char key[KEY_BYTES], *p, *to;
	int len = 0, rest = 0, n, rc = read_hex(sealed, &raw);

	if (!c)
		return -ENOMEM;
	if (rc || raw.len < IV_BYTES + TAG_BYTES)
		return rc ? rc : -EBADMSG;
	p = (unsigned char *)raw.p;
	n = (int)raw.len - IV_BYTES - TAG_BYTES;
	to = (unsigned char *)buf_reserve(out, (size_t)n + TAG_BYTES);
	if (!to)
		return buf_err(out);
	if (derive(secret, key) ||
	    !EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, p) ||
	    !EVP_DecryptUpdate(c, to, &len, p + IV_BYTES + TAG_BYTES, n) ||
	    !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG_BYTES,
	                         p + IV_BYTES) ||
	    EVP_DecryptFinal_ex(c, to + len, &rest) <= 0)
		return -EBADMSG;
	out->len += (size_t)(len + rest);
	return 0;
}
