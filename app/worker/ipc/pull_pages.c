#include "pull_pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PAGES "/debug/pprof"

enum { NOW, TIMED };

static const struct {
	const char *type, *page;
	bool timed;
	enum pull_form form;
} steps[] = {
#define PULL(step, type, page, time, form) {#type, page, time, PULL_##form},
#include "pull.def"
#undef PULL
};

enum pull_step
pull_first(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (!strcmp(steps[i].type, type))
			return (enum pull_step)i;
	return PULL_STEPS;
}

bool
pull_adds(enum pull_step step)
{
	return steps[step].form == PULL_LEAKED;
}

bool
pull_is_timed(enum pull_step step)
{
	return steps[step].timed;
}

int
pull_url(const char *base, enum pull_step step, int64_t seconds,
         char out[static URL_MAX + 1])
{
	char query[32] = "";
	struct url u;
	size_t n = strlen(base);
	int wrote;

	if (url_parse(base, &u))
		return -EINVAL;
	while (n && base[n - 1] == '/' && base + n > u.path)
		n--;
	if (steps[step].timed)
		snprintf(query, sizeof(query), "?seconds=%lld",
		         (long long)seconds);
	wrote = snprintf(out, URL_MAX + 1, "%.*s%s/%s%s", (int)n, base,
	                 base + n > u.path ? "" : PAGES, steps[step].page,
	                 query);
	return wrote > URL_MAX ? -E2BIG : 0;
}

enum pull_form
pull_form(enum pull_step step)
{
	return steps[step].form;
}

const char *
pull_type(enum pull_step step)
{
	return steps[step].type;
}
