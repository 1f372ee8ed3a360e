#include "digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#define STEP ((size_t)64 << 10)

void
hex_encode(const unsigned char *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[p[i] >> 4];
		*out++ = digits[p[i] & 15];
	}
	*out = '\0';
}

static int
nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

int
hex_decode(const char *text, unsigned char *out, size_t n)
{
	if (strlen(text) != 2 * n || strspn(text, "0123456789abcdef") != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)(nibble(text[2 * i]) << 4 |
		                         nibble(text[2 * i + 1]));
	return 0;
}

int
digest(const void *p, size_t n, char out[static DIGEST_CHARS])
{
	unsigned char sum[EVP_MAX_MD_SIZE];

	if (!EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL))
		return -ENOMEM;
	hex_encode(sum, 32, out);
	return 0;
}

static void
free_context(EVP_MD_CTX **c)
{
	EVP_MD_CTX_free(*c);
}

int
digest_file(int fd, int64_t n, char out[static DIGEST_CHARS])
{
	CLEANUP(free_context) EVP_MD_CTX *c = EVP_MD_CTX_new();
	CLEANUP_FREE unsigned char *step = malloc(STEP);
	unsigned char sum[EVP_MAX_MD_SIZE];
	int64_t at = 0;

	if (!c || !step || !EVP_DigestInit_ex(c, EVP_sha256(), NULL))
		return -ENOMEM;
	while (at < n) {
		ssize_t got = pread(fd, step, STEP, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		EVP_DigestUpdate(c, step, (size_t)got);
		at += got;
	}
	if (at != n || !EVP_DigestFinal_ex(c, sum, NULL))
		return -EBADMSG;
	hex_encode(sum, 32, out);
	return 0;
}
