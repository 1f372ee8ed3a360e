#include "range/names.h"

#include "base/log.h"
#include "base/rows.h"
#include "range/range.h"
#include "store/debug_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
range_names_done(struct range_names *n)
{
	for (uint32_t i = 0; n->of && i < RANGE_NAMES_MODULES; i++) {
		names_done(&n->of[i].names);
		free(n->of[i].build_id);
		free(n->of[i].file);
		free(n->of[i].addresses);
	}
	free(n->of);
	*n = (struct range_names){0};
}

/* Keeps the place of a mapping whose frames a pushed file may name. */
static int
find_file(struct range_names *n, const struct profile *p,
          const struct mapping *m, struct range_module *to)
{
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	int rc = debug_file_of(n->store, n->tenant,
	                       profile_text(p, m->build_id), &l);

	if (rc || !l.n)
		return rc;
	to->build_id = strdup(profile_text(p, m->build_id));
	to->file = strdup(profile_text(p, m->file));
	to->start = m->start;
	to->limit = m->limit;
	to->offset = m->offset;
	to->has_file = true;
	return to->build_id && to->file ? 0 : -ENOMEM;
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

	struct range_module *to;

	if (!n->of) {
		int rc = debug_file_any(n->store, n->tenant, &n->has_files);

		if (!rc)
			n->of = calloc(RANGE_NAMES_MODULES, sizeof(*n->of));
		if (!n->of)
			return rc ?: -ENOMEM;
	}
	to = &n->of[mapping];
	if (to->read)
		return 0;
	to->read = true;
	return names_get(n->store, n->tenant, &place, &to->names)
	               ?: (n->has_files ? find_file(n, p, m, to) : 0);
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
keep_unnamed(struct range_module *of, uint64_t address)
{
	int rc = ROWS_ROOM_OF(of->addresses, of->room, of->n, 1,
	                      NAMES_MAX_OF_ONE);

	if (!rc)
		of->addresses[of->n++] = address;
	return rc == -E2BIG ? 0 : rc;
}

static int
lines_of(void *arg, struct profile *p, uint32_t mapping, uint64_t address,
         struct line *out)
{
	struct range_names *n = arg;
	const struct mapping *m = &p->mappings[mapping];
	int64_t at = (int64_t)(address - names_shift(m->start));
	const struct names_frame *found = NULL;
	struct range_module *of;
	int rc;

	if (!m->build_id || mapping >= RANGE_NAMES_MODULES)
		return 0;
	rc = read_names(n, p, mapping);
	if (rc)
		return rc;
	of = &n->of[mapping];
	if (of->names.n)
		found = bsearch(&at, of->names.items, of->names.n,
		                sizeof(*found), by_address);
	if (found)
		return add_lines(p, found->lines, out);
	return of->has_file ? keep_unnamed(of, address) : 0;
}

/* Asks for the names of frames in all modules; w has a row for each. */
static int
want_all(struct range_names *n, const char *service, struct names_wanted *w,
         uint32_t *frames)
{
	uint32_t modules = 0;
	int rc = 0;

	for (uint32_t i = 0; i < RANGE_NAMES_MODULES && !rc; i++) {
		struct range_module *of = &n->of[i];
		const struct names_place place = {of->build_id, of->file,
		                                  of->start, of->limit,
		                                  of->offset};

		if (!of->n)
			continue;
		rc = names_leave_asked(n->store, n->tenant, &place,
		                       of->addresses, &of->n);
		*frames += of->n;
		if (!rc && of->n)
			w[modules++] = (struct names_wanted){
				place, of->addresses, of->n};
	}
	return rc
	               ?: modules
	                  ? names_want(n->store, n->tenant, service, w, modules)
	                  : 0;
}

uint32_t
range_names_want(struct range_names *n, const char *service)
{
	CLEANUP_FREE struct names_wanted *w = NULL;
	uint32_t frames = 0;
	int rc;

	if (!n->of)
		return 0;
	w = calloc(RANGE_NAMES_MODULES, sizeof(*w));
	rc = w ? want_all(n, service, w, &frames) : -ENOMEM;
	if (rc)
		log_warn("names of frames of %s: %s", service, strerror(-rc));
	return rc ? 0 : frames;
}

void
range_names_begin(struct range_names *n, struct store *s, const char *tenant,
                  struct merge *m)
{
	*n = (struct range_names){.store = s, .tenant = tenant};
	merge_name_by(m, lines_of, n);
}

int
range_names_put(struct store *s, const char *tenant, const char *service,
                struct profile **p)
{
	CLEANUP_RANGE_NAMES struct range_names n = {0};
	CLEANUP_MERGE struct merge *m = NULL;
	struct profile *named;
	int64_t version = 0, files = 0;
	uint32_t known;
	int rc = profile_count_named(*p, &known);

	if (!rc && known < (*p)->nstack)
		rc = names_version(s, tenant, &version)
		             ?: debug_file_any(s, tenant, &files);
	if (rc || (!version && !files))
		return rc;
	rc = merge_new(RANGE_MAX_MERGED, &m);
	if (rc)
		return rc;
	range_names_begin(&n, s, tenant, m);
	rc = merge_add(m, *p) ?: merge_end(m, &named);
	if (rc)
		return rc;
	range_names_want(&n, service);
	profile_free(*p);
	*p = named;
	return 0;
}
