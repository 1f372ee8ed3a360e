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
digest_piece(int fd, int64_t start, int64_t n, digest_sink *sink, void *arg,
             char out[static DIGEST_CHARS])
{
	CLEANUP(free_context) EVP_MD_CTX *c = EVP_MD_CTX_new();
	CLEANUP_FREE unsigned char *step = malloc(STEP);
	unsigned char sum[EVP_MAX_MD_SIZE];

	if (!c || !step || !EVP_DigestInit_ex(c, EVP_sha256(), NULL))
		return -ENOMEM;
	while (n > 0) {
		size_t want = n < (int64_t)STEP ? (size_t)n : STEP;
		ssize_t got = pread(fd, step, want, start);
		int rc;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		EVP_DigestUpdate(c, step, (size_t)got);
		rc = sink ? sink(arg, step, (size_t)got, start) : 0;
		if (rc)
			return rc;
		start += got;
		n -= got;
	}
	if (!EVP_DigestFinal_ex(c, sum, NULL))
		return -ENOMEM;
	hex_encode(sum, 32, out);
	return 0;
}

int
digest_file(int fd, int64_t n, char out[static DIGEST_CHARS])
{
	char past;

	return digest_piece(fd, 0, n, NULL, NULL, out)
	               ?: pread(fd, &past, 1, n) ? -EBADMSG
	                                         : 0;
}
