#include "profile/profile.h"

#include "build.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

struct profile *
profile_new(void)
{
	CLEANUP_PROFILE struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->strings = strings_new();
	p->index = profile_index_new();
	if (!p->strings || !p->index)
		return NULL;
	return TAKE(p);
}

static void
free_rows(struct profile *p)
{
	free(p->mappings);
	free(p->functions);
	free(p->lines);
	free(p->locations);
	free(p->samples);
	free(p->stack);
	free(p->values);
	free(p->labels);
	free(p->comments);
}

void
profile_free(struct profile *p)
{
	if (!p)
		return;
	strings_free(p->strings);
	profile_index_free(p->index);
	if (p->slab)
		free(p->slab);
	else
		free_rows(p);
	free(p);
}

uint32_t
profile_type_index(const struct profile *p, const char *name)
{
	const char *want = name;

	if (!name && p->default_type)
		want = strings_get(p->strings, p->default_type, NULL);
	for (uint32_t i = 0; want && i < p->ntypes; i++)
		if (strcmp(strings_get(p->strings, p->types[i].type, NULL),
		           want) == 0)
			return i;
	/* pprof shows the last type when the file names none */
	return !name && p->ntypes ? p->ntypes - 1 : PROFILE_NONE;
}

const char *
profile_module(const struct profile *p, uint32_t location)
{
	uint32_t m = p->locations[location].mapping;
	const char *path, *slash;

	if (m == PROFILE_NONE)
		return "";
	path = strings_get(p->strings, p->mappings[m].file, NULL);
	slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void
address_name(const struct profile *p, uint32_t location, struct buf *out)
{
	const struct location *l = &p->locations[location];
	const char *module = profile_module(p, location);
	const struct mapping *m;

	if (!*module) {
		buf_addf(out, "0x%" PRIx64, l->address);
		return;
	}
	m = &p->mappings[l->mapping];
	buf_addf(out, "%.*s+0x%" PRIx64, NAME_MAX, module,
	         l->address - m->start + m->offset);
}

void
profile_frame_name(const struct profile *p, uint32_t location, uint32_t line,
                   struct buf *out)
{
	const struct location *l = &p->locations[location];
	const struct function *f;
	const char *name;
	size_t n;

	if (line < l->nlines) {
		f = &p->functions[p->lines[l->line0 + line].function];
		name = strings_get(p->strings,
		                   f->name ? f->name : f->system_name, &n);
		if (n) {
			buf_add(out, name, n);
			return;
		}
	}
	address_name(p, location, out);
}
