#include "snapshot_creator.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <string.h>

#define STARTERS 2 /* functions of a library, one calling the other */

static const char *const starters[] = {
#define SNAPSHOT_STARTER(name) name,
#include "snapshot.def"
#undef SNAPSHOT_STARTER
};

static const char *const libraries[] = {
#define SNAPSHOT_LIBRARY(file) file,
#include "snapshot.def"
#undef SNAPSHOT_LIBRARY
};

static bool
is_starter(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(starters); i++) {
		const char *dots = strstr(starters[i], "...");

		if (dots ? !strncmp(name, starters[i],
		                    (size_t)(dots - starters[i]))
		         : !strcmp(name, starters[i]))
			return true;
	}
	return false;
}

static const struct function *
function_of(const struct profile *p, const struct location *at, uint32_t line)
{
	return &p->functions[p->lines[at->line0 + line].function];
}

/* True for a function without a name, which is named by its place: namer.h. */
static bool
is_nameless(const struct profile *p, const struct location *at)
{
	return !at->nlines ||
	       (at->nlines == 1 && !function_of(p, at, 0)->system_name);
}

static bool
is_library(const struct profile *p, uint32_t mapping)
{
	const char *name;

	if (mapping == PROFILE_NONE)
		return false;
	name = path_name(profile_text(p, p->mappings[mapping].file));
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}

/* Outermost functions of one file, or functions of it that call one another. */
struct run {
	uint32_t mapping, length;
	bool starts; /* the functions start threads, as far as is known */
};

static void
run_add(struct run *r, const struct profile *p, const struct location *at)
{
	bool first = !r->length;

	if (!first && at->mapping == r->mapping) {
		r->length++;
		return;
	}
	*r = (struct run){.mapping = at->mapping,
	                  .length = 1,
	                  .starts = first || is_library(p, at->mapping)};
}

const char *
snapshot_creator(const struct profile *p, const uint32_t *stack, uint32_t n)
{
	struct run run = {.length = 0};

	while (n-- > 0) {
		const struct location *at = &p->locations[stack[n]];

		run_add(&run, p, at);
		if (run.starts && run.length <= STARTERS && is_nameless(p, at))
			continue;
		for (uint32_t k = at->nlines; k-- > 0;) {
			uint32_t name = function_of(p, at, k)->name;
			const char *text = profile_text(p, name);

			if (!is_starter(text))
				return text;
		}
	}
	return "";
}
