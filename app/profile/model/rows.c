#include "build.h"

#include "base/hash.h"
#include "base/id.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define FIRST_ROWS 16

struct profile_index *
profile_index_new(void)
{
	struct profile_index *x = calloc(1, sizeof(*x));

	if (x)
		random_bytes(&x->key, sizeof(x->key));
	return x;
}

void
profile_index_free(struct profile_index *x)
{
	if (!x)
		return;
	table_done(&x->mappings);
	table_done(&x->functions);
	table_done(&x->locations);
	table_done(&x->samples);
	free(x);
}

int
rows_room(void *rows, uint32_t *cap, uint64_t used, uint64_t more,
          size_t row_size)
{
	uint64_t want = *cap ? *cap : FIRST_ROWS;
	void *p;

	if (used + more > PROFILE_MAX_ROWS)
		return -E2BIG;
	if (used + more <= *cap)
		return 0;
	while (want < used + more)
		want *= 2;
	memcpy(&p, rows, sizeof(p));
	p = realloc(p, want * row_size);
	if (!p)
		return -ENOMEM;
	memcpy(rows, &p, sizeof(p));
	*cap = (uint32_t)want;
	return 0;
}

int
profile_string(struct profile *p, const char *s, size_t n, uint32_t *out)
{
	return strings_add(p->strings, s, n, out);
}

int
profile_cstring(struct profile *p, const char *s, uint32_t *out)
{
	return strings_add(p->strings, s, strlen(s), out);
}

int
profile_type(struct profile *p, const char *type, const char *unit)
{
	struct value_type t;
	int r;

	assert(p->nsamples == 0);
	if (p->ntypes >= PROFILE_MAX_TYPES)
		return -E2BIG;
	r = profile_cstring(p, type, &t.type);
	if (!r)
		r = profile_cstring(p, unit, &t.unit);
	if (!r)
		p->types[p->ntypes++] = t;
	return r;
}

int
profile_comment(struct profile *p, const char *text)
{
	uint32_t id;
	int r = ROOM(p, comments, p->ncomments, 1);

	if (!r)
		r = profile_cstring(p, text, &id);
	if (!r)
		p->comments[p->ncomments++] = id;
	return r;
}

static bool
same_mapping(const void *key, uint32_t row)
{
	const struct wanted *w = key;
	const struct mapping *a = w->row, *b = &w->p->mappings[row];

	return a->start == b->start && a->limit == b->limit &&
	       a->offset == b->offset && a->file == b->file &&
	       a->build_id == b->build_id;
}

int
profile_mapping(struct profile *p, const struct mapping *m, uint32_t *out)
{
	uint64_t words[] = {m->start, m->limit, m->offset, m->file,
	                    m->build_id};
	uint64_t hash = hash_keyed(p->index->key, words, sizeof(words));
	struct wanted w = {.p = p, .row = m};
	uint32_t at = table_find(&p->index->mappings, hash, same_mapping, &w);
	int r;

	if (at == TABLE_NONE) {
		r = ROOM(p, mappings, p->nmappings, 1);
		if (!r)
			r = table_room(&p->index->mappings);
		if (r)
			return r;
		at = p->nmappings++;
		p->mappings[at] = *m;
		table_put(&p->index->mappings, hash, at);
	}
	*out = at;
	return 0;
}

static bool
same_function(const void *key, uint32_t row)
{
	const struct wanted *w = key;
	const struct function *a = w->row, *b = &w->p->functions[row];

	return a->name == b->name && a->system_name == b->system_name &&
	       a->file == b->file;
}

int
profile_function(struct profile *p, const struct function *f, uint32_t *out)
{
	uint64_t words[] = {f->name, f->system_name, f->file};
	uint64_t hash = hash_keyed(p->index->key, words, sizeof(words));
	struct wanted w = {.p = p, .row = f};
	uint32_t at = table_find(&p->index->functions, hash, same_function, &w);
	int r;

	if (at == TABLE_NONE) {
		r = ROOM(p, functions, p->nfunctions, 1);
		if (!r)
			r = table_room(&p->index->functions);
		if (r)
			return r;
		at = p->nfunctions++;
		p->functions[at] = *f;
		table_put(&p->index->functions, hash, at);
	}
	*out = at;
	return 0;
}
