/*
 * URLs made for the fetcher: the first line is a service's pprofUrl and a list
 * of debuginfod servers; the rest is a URL and a file's name.
 */
#include "worker/ipc/debuginfod_url.h"
#include "worker/ipc/pull_pages.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
pull(const char *base)
{
	char out[URL_MAX + 1];

	for (enum pull_step step = 0; step < PULL_STEPS; step++)
		if (!pull_url(base, step, 30, out))
			assert(strlen(out) <= URL_MAX);
}

static void
find_debug_file(const char *list, const char *name)
{
	char out[URL_MAX + 1];

	for (unsigned i = 0; i <= DEBUGINFOD_MAX_SERVERS; i++)
		if (!debuginfod_url(list, i, name, out))
			assert(i < DEBUGINFOD_MAX_SERVERS &&
			       strlen(out) <= URL_MAX);
	if (debuginfod_allows(list, name))
		assert(strstr(name, "/buildid/"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_FREE char *text = strndup((const char *)data, n);
	char *rest;

	assert(text);
	rest = strchr(text, '\n');
	if (rest)
		*rest++ = '\0';
	pull(text);
	find_debug_file(text, rest ? rest : "");
	return 0;
}
