#include "store/source.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	const char *type, *kind;
	enum source source;
} rows[] = {
#define SOURCE(type, kind, source) {#type, #kind, SOURCE_##source},
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

const char *
source_missing(const struct service *s, const char *type)
{
	struct service with = *s;

	with.pprof_url = (char *)"http://localhost/";
	if (!*s->pprof_url && source_of(&with, type))
		return "a pprofUrl";
	with = *s;
	with.source = (char *)"auto";
	return source_of(&with, type) ? "another source"
	                              : "an engine that this release lacks";
}
