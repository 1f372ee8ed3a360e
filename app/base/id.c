#include "base/id.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

void
random_bytes(void *out, size_t n)
{
	unsigned char *p = out;

	while (n) {
		ssize_t got = getrandom(p, n, 0);

		assert(got > 0);
		p += got;
		n -= (size_t)got;
	}
}

void
id_new(const char *prefix, char out[static ID_MAX])
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t n = strlen(prefix);
	unsigned char r[ID_RANDOM_CHARS];

	assert(n + ID_RANDOM_CHARS < ID_MAX);
	random_bytes(r, sizeof(r));
	memcpy(out, prefix, n);
	for (size_t i = 0; i < sizeof(r); i++)
		out[n + i] = alphabet[r[i] & 31];
	out[n + sizeof(r)] = '\0';
}

bool
id_valid(const char *prefix, const char *id)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(prefix), len = strlen(id);

	return len > n && len < ID_MAX && !strncmp(id, prefix, n) &&
	       strspn(id, ok) == len;
}
