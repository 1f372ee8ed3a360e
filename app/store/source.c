#include "store/source.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	const char *type, *kind;
	enum source source;
	enum check check;
} rows[] = {
#define SOURCE(type, kind, source, check) \
	{#type, #kind, SOURCE_##source, check},
#include "sources.def"
#undef SOURCE
};

/* True unless the service is native. For kind auto the worker decides later,
 * from the process. */
static bool
may_be_go(const struct service *s)
{
	return strcmp(s->kind, "native") != 0;
}

static bool
may_be_native(const struct service *s)
{
	return strcmp(s->kind, "go") != 0;
}

static bool
fits(const struct service *s, size_t row)
{
	bool endpoint = rows[row].source == SOURCE_ENDPOINT;

	if (strcmp(s->source, "auto") != 0 &&
	    strcmp(s->source, endpoint ? "endpoint" : "outside") != 0)
		return false;
	if (endpoint && !*s->pprof_url)
		return false;
	/* Without a match there is no process to look at, though perhaps an
	 * endpoint. */
	if (!endpoint && !*s->match_kind && *s->pprof_url &&
	    !strcmp(s->source, "auto"))
		return false;
	if (!strcmp(rows[row].kind, "native"))
		return may_be_native(s);
	return !strcmp(rows[row].kind, "any") || may_be_go(s);
}

enum source
source_of(const struct service *s, const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].type, type) && fits(s, i))
			return rows[i].source;
	return SOURCE_NONE;
}

size_t
source_checks(const struct service *s, const char *type,
              enum check out[static SOURCE_CHECKS])
{
	enum source source = source_of(s, type);
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows) && n < SOURCE_CHECKS; i++)
		if (!strcmp(rows[i].type, type) && rows[i].source == source &&
		    fits(s, i))
			out[n++] = rows[i].check;
	return n;
}

const char *
source_missing(const struct service *s, const char *type)
{
	struct service with = *s;

	with.pprof_url = (char *)"http://localhost/";
	if (!*s->pprof_url && source_of(&with, type))
		return "a pprofUrl";
	with = *s;
	with.source = (char *)"auto";
	if (source_of(&with, type))
		return "another source";
	with.match_kind = (char *)"exe";
	if (!source_of(&with, type))
		return "an engine that this release lacks";
	return strcmp(s->source, "auto") != 0
	               ? "another source, and a match of its processes"
	               : "a match of its processes";
}
