#include "debuginfod_url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH "/buildid/"
#define LEAF "/debuginfo"

size_t
debuginfod_server(const char *list, unsigned which, const char **at)
{
	for (;; which--) {
		size_t n;

		list += strspn(list, " ");
		n = strcspn(list, " ");
		*at = list;
		list += n;
		while (n && (*at)[n - 1] == '/')
			n--;
		if (!n || !which)
			return n;
	}
}

int
debuginfod_url(const char *list, unsigned which, const char *name,
               char out[static URL_MAX + 1])
{
	const char *at;
	size_t n = debuginfod_server(list, which, &at);
	int wrote;

	if (!n || which >= DEBUGINFOD_MAX_SERVERS)
		return -ENOENT;
	wrote = snprintf(out, URL_MAX + 1, "%.*s" PATH "%.*s" LEAF, (int)n, at,
	                 (int)strcspn(name, "."), name);
	return wrote > URL_MAX ? -E2BIG : 0;
}

bool
debuginfod_allows(const char *list, const char *url)
{
	const char *at;
	size_t n;

	for (unsigned i = 0; i < DEBUGINFOD_MAX_SERVERS; i++) {
		n = debuginfod_server(list, i, &at);
		if (!n)
			return false;
		if (strncmp(url, at, n) != 0 ||
		    strncmp(url + n, PATH, strlen(PATH)) != 0)
			continue;
		url += n + strlen(PATH);
		return !strcmp(url + strspn(url, "0123456789abcdef"), LEAF);
	}
	return false;
}
