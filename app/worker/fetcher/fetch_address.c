#include "worker/ipc/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const struct {
	const char *address;
	unsigned bits;
} denied[] = {
#define FETCH_DENIED(address, bits) {address, bits},
#include "worker/ipc/fetch.def"
#undef FETCH_DENIED
};

static bool
same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return !rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool
is_denied(int family, const uint8_t *bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
		uint8_t row[16];

		if (inet_pton(family, denied[i].address, row) == 1 &&
		    same_bits(bytes, row, denied[i].bits))
			return true;
	}
	return false;
}

static bool
ipv4_ok(const uint8_t bytes[static 4], bool local)
{
	return !is_denied(AF_INET, bytes) && (local || bytes[0] != 127);
}

/* Where an IPv6 address carries one of IPv4, or NULL. */
static const uint8_t *
embedded(const uint8_t bytes[static 16])
{
	static const uint8_t compatible[12], mapped[12] = {[10] = 255, 255},
					     nat64[12] = {0, 0x64, 0xff, 0x9b};
	static const uint8_t six_to_four[2] = {0x20, 0x02};

	if (!memcmp(bytes, mapped, 12) || !memcmp(bytes, nat64, 12) ||
	    !memcmp(bytes, compatible, 12))
		return bytes + 12;
	return !memcmp(bytes, six_to_four, 2) ? bytes + 2 : NULL;
}

static bool
ipv6_ok(const struct in6_addr *a, bool local)
{
	const uint8_t *v4 = embedded(a->s6_addr);

	if (IN6_IS_ADDR_LOOPBACK(a))
		return local;
	return !is_denied(AF_INET6, a->s6_addr) && (!v4 || ipv4_ok(v4, local));
}

bool
fetch_address_ok(const struct sockaddr *a, socklen_t n, bool local)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (n >= sizeof(v4) && a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		return ipv4_ok((const uint8_t *)&v4.sin_addr, local);
	}
	if (n >= sizeof(v6) && a->sa_family == AF_INET6) {
		memcpy(&v6, a, sizeof(v6));
		return ipv6_ok(&v6.sin6_addr, local);
	}
	return false;
}
