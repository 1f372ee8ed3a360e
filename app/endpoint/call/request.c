#include "endpoint/request.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum method
request_method(const char *name)
{
	for (int m = 0; m < METHOD_OTHER; m++)
		if (!strcmp(name, method_names[m]))
			return (enum method)m;
	return METHOD_OTHER;
}

const char *
request_query(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->nquery; i++)
		if (!strcmp(r->query[i].name, name))
			return r->query[i].value;
	return NULL;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a piece of the path in place, or of the query, where '+' is a
 * space. */
static int
decode(char *s, bool query)
{
	char *start = s, *to = s;

	for (; *s; s++, to++) {
		int hi, lo;

		*to = *s == '+' && query ? ' ' : *s;
		if (*s != '%')
			continue;
		hi = hex_digit(s[1]);
		lo = hi < 0 ? -1 : hex_digit(s[2]);
		if (lo < 0)
			return -EINVAL;
		*to = (char)(hi << 4 | lo);
		if (!*to || (*to == '/' && !query))
			return -EINVAL;
		s += 2;
	}
	*to = '\0';
	return utf8_valid(start, (size_t)(to - start)) ? 0 : -EINVAL;
}

static int
add_segment(struct request *r, char *s)
{
	if (r->nsegments == REQUEST_MAX_SEGMENTS)
		return -E2BIG;
	if (decode(s, false) || !*s || !strcmp(s, ".") || !strcmp(s, ".."))
		return -ENOENT;
	r->segments[r->nsegments++] = s;
	return 0;
}

static int
add_path(struct request *r, char *path)
{
	size_t n = strlen(path);

	if (*path != '/')
		return -ENOENT;
	if (n > 1 && path[n - 1] == '/')
		path[n - 1] = '\0';
	path++;
	while (*path) {
		char *next = strchr(path, '/');
		int rc;

		if (next)
			*next = '\0';
		rc = add_segment(r, path);
		if (rc)
			return rc;
		if (!next)
			return 0;
		path = next + 1;
		if (!*path) /* "a//": the piece after the last '/' is empty */
			return -ENOENT;
	}
	return 0;
}

static int
add_query(struct request *r, char *query)
{
	char *rest = query, *pair;

	while ((pair = strsep(&rest, "&"))) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (r->nquery == REQUEST_MAX_QUERY)
			return -E2BIG;
		if (value)
			*value++ = '\0';
		if (decode(pair, true) || (value && decode(value, true)))
			return -EINVAL;
		r->query[r->nquery].name = pair;
		r->query[r->nquery++].value = value ? value : "";
	}
	return 0;
}

int
request_target(struct request *r, const char *uri)
{
	size_t n = strlen(uri);
	char *query;
	int rc;

	r->nsegments = r->nquery = 0;
	if (n > REQUEST_MAX_URI)
		return -E2BIG;
	memcpy(r->text, uri, n + 1);
	query = strchr(r->text, '?');
	if (query)
		*query++ = '\0';
	rc = add_path(r, r->text);
	return rc || !query ? rc : add_query(r, query);
}

int
request_cookie(const struct request *r, char *out, size_t size)
{
	const char *name = request_cookie_name(r), *s = r->cookie;
	size_t len = strlen(name);

	while (*s) {
		size_t n;

		s += strspn(s, "; ");
		n = strcspn(s, ";");
		if (n > len && s[len] == '=' && !strncmp(s, name, len)) {
			n -= len + 1;
			if (n >= size)
				return -ENOENT;
			memcpy(out, s + len + 1, n);
			out[n] = '\0';
			return 0;
		}
		s += n;
	}
	return -ENOENT;
}

bool
request_same_origin(const struct request *r)
{
	const char *scheme = r->secure ? "https://" : "http://";
	size_t n = strlen(scheme);

	if (!*r->origin)
		return !strcmp(r->fetch_site, "same-origin");
	return *r->host && !strncmp(r->origin, scheme, n) &&
	       !strcasecmp(r->origin + n, r->host);
}
