#include "store/source.h"

#include "base/ways.h"

#include <stdbool.h>
#include <string.h>

static bool
fits(const struct service *s, const struct way_row *way)
{
	bool endpoint = way->engine == ENGINE_PAGES;

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
	return ways_fit(way, service_ways_kind(s));
}

static enum source
source_by(const struct way_row *way)
{
	return way->engine == ENGINE_PAGES ? SOURCE_ENDPOINT : SOURCE_OUTSIDE;
}

enum source
source_of(const struct service *s, const char *type)
{
	for (size_t i = 0; i < WAYS; i++)
		if (!strcmp(way_rows[i].type, type) && fits(s, &way_rows[i]))
			return source_by(&way_rows[i]);
	return SOURCE_NONE;
}

size_t
source_checks(const struct service *s, const char *type,
              enum check out[static SOURCE_CHECKS])
{
	enum source source = source_of(s, type);
	size_t n = 0;

	for (size_t i = 0; i < WAYS && n < SOURCE_CHECKS; i++)
		if (!strcmp(way_rows[i].type, type) &&
		    source_by(&way_rows[i]) == source && fits(s, &way_rows[i]))
			out[n++] = way_rows[i].check;
	return n;
}

enum lack {
	LACK_PROGRAM,
	LACK_URL,
	LACK_SOURCE,
	LACK_ENGINE,
	LACK_BOTH,
	LACK_MATCH
};

static enum lack
lack_of(const struct service *s, const char *type)
{
	struct service with = *s;

	if (!strcmp(service_ways_kind(s), WAYS_HOST))
		return LACK_PROGRAM;
	with.pprof_url = (char *)"http://localhost/";
	if (!*s->pprof_url && source_of(&with, type))
		return LACK_URL;
	with = *s;
	with.source = (char *)"auto";
	if (source_of(&with, type))
		return LACK_SOURCE;
	with.match_kind = (char *)"exe";
	if (!source_of(&with, type))
		return LACK_ENGINE;
	return strcmp(s->source, "auto") != 0 ? LACK_BOTH : LACK_MATCH;
}

const char *
source_missing(const struct service *s, const char *type)
{
	static const char *const texts[] = {
		[LACK_PROGRAM] = "a service of one program",
		[LACK_URL] = "a pprofUrl",
		[LACK_SOURCE] = "another source",
		[LACK_ENGINE] = "an engine that this release lacks",
		[LACK_BOTH] = "another source, and a match of its processes",
		[LACK_MATCH] = "a match of its processes",
	};

	return texts[lack_of(s, type)];
}

void
source_fix(const struct service *s, const char *type, struct buf *out)
{
	static const char *const options[] = {
		[LACK_URL] = "--pprof-url URL",
		[LACK_SOURCE] = "--source auto",
		[LACK_ENGINE] = "",
		[LACK_BOTH] = "--source auto --exe PATH",
		[LACK_MATCH] = "--exe PATH",
	};
	const enum lack lack = lack_of(s, type);

	if (lack == LACK_PROGRAM)
		buf_puts(out, "stoker ps lists programs, and what profiles "
		              "each");
	else if (*options[lack])
		buf_addf(out, "stoker service set %s %s", s->name,
		         options[lack]);
}
