#include "base/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define NAME  LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
#define PATH  NAME "~/%!$&'()*+,;=:?"

static bool
ipv6_ok(const char *host)
{
	struct in6_addr a;

	return inet_pton(AF_INET6, host, &a) == 1;
}

/* Copies n bytes of a host name in lower case, for comparison. */
static int
take_host(const char *p, size_t n, char out[static URL_HOST_MAX])
{
	if (!n || n >= URL_HOST_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		out[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] | 0x20)
		                                    : p[i];
	out[n] = '\0';
	return 0;
}

/* Reads "host" or "[address]" at *p and moves *p past it. */
static int
parse_host(const char **p, char out[static URL_HOST_MAX])
{
	size_t n;
	int rc;

	if (**p != '[') {
		n = strspn(*p, NAME);
		rc = take_host(*p, n, out);
		*p += n;
		return rc;
	}
	n = strcspn(*p, "]");
	if ((*p)[n] != ']')
		return -EINVAL;
	rc = take_host(*p + 1, n - 1, out);
	*p += n + 1;
	return rc ? rc : ipv6_ok(out) ? 0 : -EINVAL;
}

/* Reads ":port" or nothing at *p and moves *p past it. */
static int
parse_port(const char **p, uint16_t *port)
{
	unsigned v = 0;
	size_t n;

	if (**p != ':')
		return 0;
	n = strspn(++*p, "0123456789");
	if (!n || n > 5)
		return -EINVAL;
	for (; n; n--)
		v = 10 * v + (unsigned)(*(*p)++ - '0');
	if (!v || v > UINT16_MAX)
		return -EINVAL;
	*port = (uint16_t)v;
	return 0;
}

int
url_parse(const char *text, struct url *out)
{
	struct url u = {0};
	const char *p = text;
	int rc;

	if (strlen(text) > URL_MAX)
		return -EINVAL;
	u.tls = !strncasecmp(p, "https://", 8);
	if (!u.tls && strncasecmp(p, "http://", 7) != 0)
		return -EINVAL;
	p += u.tls ? 8 : 7;
	u.port = u.tls ? 443 : 80;
	rc = parse_host(&p, u.host);
	if (!rc)
		rc = parse_port(&p, &u.port);
	if (rc)
		return rc;
	if (*p && *p != '/')
		return -EINVAL;
	if (p[strspn(p, PATH)])
		return -EINVAL;
	u.path = p;
	*out = u;
	return 0;
}

bool
url_is_local(const struct url *u)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (!strcmp(u->host, "localhost"))
		return true;
	if (inet_pton(AF_INET, u->host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, u->host, &v6) == 1 &&
	       IN6_IS_ADDR_LOOPBACK(&v6);
}

/* True if pattern, a word of a list, allows the host: they are equal, or
 * pattern is "*" or "*." and a domain that the host is below. */
static bool
host_matches(const char *pattern, const char *host)
{
	size_t n = strlen(pattern), h = strlen(host);

	if (!strcmp(pattern, "*"))
		return true;
	if (pattern[0] != '*' || pattern[1] != '.')
		return !strcasecmp(pattern, host);
	return h > n - 1 && !strcasecmp(host + h - (n - 1), pattern + 1);
}

static bool
word_matches(const char *word, const struct url *u, const char *own)
{
	char host[URL_HOST_MAX];
	const char *p = word;
	uint16_t port = 0;
	size_t n;

	if (!strcmp(word, "localhost"))
		return url_is_local(u);
	if (!strcmp(word, "self"))
		return own && *own && !strcasecmp(own, u->host);
	if (*p == '*') {
		n = strcspn(p, ":");
		if (take_host(p, n, host))
			return false;
		p += n;
	} else if (parse_host(&p, host)) {
		return false;
	}
	if (parse_port(&p, &port) || *p)
		return false;
	return (!port || port == u->port) && host_matches(host, u->host);
}

bool
url_allowed(const char *list, const struct url *u, const char *own)
{
	while (*list) {
		size_t n = strcspn(list, " ");
		char word[URL_HOST_MAX + 16];

		if (n && n < sizeof(word)) {
			memcpy(word, list, n);
			word[n] = '\0';
			if (word_matches(word, u, own))
				return true;
		}
		list += n + strspn(list + n, " ");
	}
	return false;
}
