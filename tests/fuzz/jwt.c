/*
 * A bearer token and the keys that it is checked with: the first line is the
 * token, the rest a JWKS file. If there is none, a file with a key for HS256 is
 * used.
 */
#include "api/jwt.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOW_S 1700000000

static const char secret[] =
	"{\"keys\":[{\"kty\":\"oct\",\"alg\":\"HS256\","
	"\"k\":\"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3"
	"Yj0iPS4hcgUuTwjAzZr1Z9CAow\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Writes the keys to a file; *path is its path. */
static int
keep(const void *keys, size_t n, char path[static 64])
{
	int fd = memfd_create("keys", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, keys, n) == (ssize_t)n);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void
check(struct jwt_keys *k, const struct conf *conf, const char *token)
{
	struct caller who = {.who = WHO_ANYONE};
	const char *why = NULL;

	if (jwt_check(k, conf, token, NOW_S, &who, &why)) {
		assert(why && who.who == WHO_ANYONE && !who.tenants);
		return;
	}
	assert(!why && who.who != WHO_ANYONE && *who.tenant);
	assert(strlen(who.id) < ID_MAX);
	free(who.tenants);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const uint8_t *end = memchr(data, '\n', n);
	size_t len = end ? (size_t)(end - data) : n;
	CLEANUP_FREE char *token = strndup((const char *)data, len);
	struct jwt_keys *k = NULL;
	struct conf conf;
	char path[64];
	int fd = end ? keep(end + 1, n - len - 1, path)
	             : keep(secret, sizeof(secret) - 1, path);

	assert(token && !conf_parse("fuzz", "", &conf, &why));
	if (!jwt_keys_open(path, &k, &why))
		check(k, &conf, token);
	else
		assert(why.len);
	jwt_keys_close(k);
	conf_done(&conf);
	close(fd);
	return 0;
}
