/*
 * Texts that the fetcher gets from a server: an address of its name, and lines
 * of its header. The first byte is the length of the address.
 */
#include "worker/fetcher/fetcher_transfer.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Loopback addresses must be refused unless the host is local by name. */
static void
look(const struct sockaddr_storage *a, socklen_t n)
{
	const struct sockaddr_in *v4 = (const void *)a;

	if (!fetch_address_ok((const struct sockaddr *)a, n, false))
		return;
	assert(n >= sizeof(*v4));
	if (a->ss_family == AF_INET)
		assert(ntohl(v4->sin_addr.s_addr) >> 24 != 127);
	else
		assert(a->ss_family == AF_INET6);
	assert(fetch_address_ok((const struct sockaddr *)a, n, true));
}

/* Reads line by line, each in a separate block of memory. */
static void
read_header(const uint8_t *p, size_t n)
{
	struct fetch_answer a = {.type = MSG_FETCHED};
	struct fetch_answer none = a;

	while (n) {
		const uint8_t *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) + 1 : n;
		CLEANUP_FREE char *line = malloc(len);

		assert(line);
		memcpy(line, p, len);
		transfer_header(&a, line, len);
		p += len;
		n -= len;
	}
	assert(!memcmp(&a, &none, offsetof(struct fetch_answer, bytes)));
#define FETCH_HEADER(field, name, size) \
	assert(memchr(a.field, '\0', sizeof(a.field)));
#include "worker/ipc/fetch.def"
#undef FETCH_HEADER
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sockaddr_storage a = {0};
	size_t len;

	if (!n)
		return 0;
	len = data[0] % sizeof(a) < n ? data[0] % sizeof(a) : n - 1;
	memcpy(&a, data + 1, len);
	look(&a, (socklen_t)len);
	read_header(data + 1 + len, n - 1 - len);
	return 0;
}
