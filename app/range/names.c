#include "range/names.h"

#include "range/range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
range_names_done(struct range_names *n)
{
	for (uint32_t i = 0; n->of && i < RANGE_NAMES_MODULES; i++)
		names_done(&n->of[i]);
	free(n->of);
	free(n->read);
	*n = (struct range_names){0};
}

/* Reads the names of a mapping, once. */
static int
read_names(struct range_names *n, const struct profile *p, uint32_t mapping)
{
	const struct mapping *m = &p->mappings[mapping];
	const struct names_place place = {
		.build_id = profile_text(p, m->build_id),
		.file = "",
		.start = m->start,
		.limit = m->limit,
		.offset = m->offset,
	};

	if (!n->of) {
		n->of = calloc(RANGE_NAMES_MODULES, sizeof(*n->of));
		n->read = calloc(RANGE_NAMES_MODULES, sizeof(*n->read));
	}
	if (!n->of || !n->read)
		return -ENOMEM;
	if (n->read[mapping])
		return 0;
	n->read[mapping] = true;
	return names_get(n->store, n->tenant, &place, &n->of[mapping]);
}

static int
by_address(const void *key, const void *row)
{
	int64_t a = *(const int64_t *)key;
	int64_t b = ((const struct names_frame *)row)->address;

	return (a > b) - (a < b);
}

static int
add_line(struct profile *p, const struct names_line *l, struct line *out)
{
	struct function f = {.start_line = l->start_line};

	out->line = l->line;
	return profile_cstring(p, l->name, &f.name)
	               ?: profile_cstring(p, l->system_name, &f.system_name)
	               ?: profile_cstring(p, l->file, &f.file)
	               ?: profile_function(p, &f, &out->function);
}

static int
add_lines(struct profile *p, const char *text, struct line *out)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *at = copy;
	struct names_line line;
	int rc = copy ? 0 : -ENOMEM, n = 0;

	while (!rc && n < PROFILE_MAX_LINES && names_line_next(&at, &line))
		rc = add_line(p, &line, &out[n++]);
	return rc ? rc : n;
}

static int
lines_of(void *arg, struct profile *p, uint32_t mapping, uint64_t address,
         struct line *out)
{
	struct range_names *n = arg;
	const struct mapping *m = &p->mappings[mapping];
	int64_t at = (int64_t)(address - names_shift(m->start));
	const struct names_frame *found;
	int rc;

	if (!m->build_id || mapping >= RANGE_NAMES_MODULES)
		return 0;
	rc = read_names(n, p, mapping);
	if (rc || !n->of[mapping].n)
		return rc;
	found = bsearch(&at, n->of[mapping].items, n->of[mapping].n,
	                sizeof(*found), by_address);
	return found ? add_lines(p, found->lines, out) : 0;
}

void
range_names_begin(struct range_names *n, struct store *s, const char *tenant,
                  struct merge *m)
{
	*n = (struct range_names){.store = s, .tenant = tenant};
	merge_name_by(m, lines_of, n);
}

int
range_names_put(struct store *s, const char *tenant, struct profile **p)
{
	CLEANUP_RANGE_NAMES struct range_names n = {0};
	CLEANUP_MERGE struct merge *m = NULL;
	struct profile *named;
	int64_t version = 0;
	uint32_t known;
	int rc = profile_count_named(*p, &known);

	if (!rc && known < (*p)->nstack)
		rc = names_version(s, tenant, &version);
	if (rc || !version)
		return rc;
	rc = merge_new(RANGE_MAX_MERGED, &m);
	if (rc)
		return rc;
	range_names_begin(&n, s, tenant, m);
	rc = merge_add(m, *p) ?: merge_end(m, &named);
	if (rc)
		return rc;
	profile_free(*p);
	*p = named;
	return 0;
}
