#include "profile/profile.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/path.h"
#include "build.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A row to look up, or its parts, and the profile to look in. */
struct wanted {
	const struct profile *p;
	const void *row;
	const struct line *lines;
	const uint32_t *stack;
	const struct label *labels;
};

static struct profile_index *
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
	if (!p->slab)
		free_rows(p);
	free(p->slab);
	free(p->recut[0]);
	free(p->recut[1]);
	free(p);
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

bool
profile_label_is_id(const char *key)
{
	return !strcmp(key, PROFILE_LABEL_TRACE) ||
	       !strcmp(key, PROFILE_LABEL_SPAN);
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

#define WAITS     "threads ran %lld ms and waited %lld ms for a CPU"
#define WAITS_MAX ((int64_t)1 << 60) /* ms; larger sums are cut to this */

struct waits {
	long long ran_ms, waited_ms;
};

static bool
parse_waits(const char *text, struct waits *out)
{
	return !strncmp(text, WAITS, strcspn(WAITS, "%")) &&
	       sscanf(text, WAITS, &out->ran_ms, &out->waited_ms) == 2 &&
	       out->ran_ms >= 0 && out->ran_ms <= WAITS_MAX &&
	       out->waited_ms >= 0 && out->waited_ms <= WAITS_MAX;
}

/* Finds the comment about waits; PROFILE_NONE if there is none. */
static uint32_t
find_waits(const struct profile *p, struct waits *out)
{
	for (uint32_t i = 0; i < p->ncomments; i++)
		if (parse_waits(profile_text(p, p->comments[i]), out))
			return i;
	*out = (struct waits){0};
	return PROFILE_NONE;
}

static long long
sum_of(long long a, long long b)
{
	return a + b < WAITS_MAX ? a + b : WAITS_MAX;
}

int
profile_mark_waits(struct profile *p, int64_t ran_ms, int64_t waited_ms)
{
	struct waits sum;
	uint32_t at = find_waits(p, &sum), id = 0;
	char text[128];
	int r = at < p->ncomments ? 0 : ROOM(p, comments, p->ncomments, 1);

	snprintf(text, sizeof(text), WAITS, sum_of(sum.ran_ms, ran_ms),
	         sum_of(sum.waited_ms, waited_ms));
	if (!r)
		r = profile_cstring(p, text, &id);
	if (!r)
		p->comments[at < p->ncomments ? at : p->ncomments++] = id;
	return r;
}

double
profile_ran_part(const struct profile *p)
{
	struct waits w;

	find_waits(p, &w);
	return w.ran_ms > 0
	               ? (double)w.ran_ms / (double)(w.ran_ms + w.waited_ms)
	               : 1;
}

int
profile_comment(struct profile *p, const char *text)
{
	struct waits w;
	uint32_t id;
	int r;

	if (parse_waits(text, &w))
		return profile_mark_waits(p, w.ran_ms, w.waited_ms);
	r = profile_cstring(p, text, &id);
	for (uint32_t i = 0; i < p->ncomments && !r; i++)
		if (p->comments[i] == id)
			return 0;
	r = r ?: ROOM(p, comments, p->ncomments, 1);
	if (!r)
		p->comments[p->ncomments++] = id;
	return r;
}

#define ROUGH "the sum of all values is rough"

int
profile_mark_rough(struct profile *p)
{
	return profile_comment(p, ROUGH);
}

bool
profile_is_rough(const struct profile *p)
{
	for (uint32_t i = 0; i < p->ncomments; i++)
		if (!strcmp(profile_text(p, p->comments[i]), ROUGH))
			return true;
	return false;
}

#define SHOWN "stoker shows "

int
profile_show(struct profile *p, uint32_t type)
{
	uint32_t shown = p->types[type].type, note;
	uint32_t given = p->given_note ? p->given_type : p->default_type;
	char text[sizeof(SHOWN) + 256];
	int n = snprintf(text, sizeof(text), SHOWN "%s",
	                 profile_text(p, shown));
	int rc;

	if (!given || given == shown || n >= (int)sizeof(text)) {
		p->given_type = p->given_note = 0;
		p->default_type = shown;
		return 0;
	}
	rc = profile_cstring(p, text, &note);
	if (rc)
		return rc;
	p->given_type = given;
	p->given_note = note;
	p->default_type = shown;
	return 0;
}

bool
profile_is_given_note(const char *text)
{
	return !strncmp(text, SHOWN, sizeof(SHOWN) - 1);
}

bool
profile_keeps_given(const struct profile *p)
{
	return p->given_note &&
	       !strcmp(profile_text(p, p->given_note) + sizeof(SHOWN) - 1,
	               profile_text(p, p->default_type));
}

void
profile_read_given(struct profile *p)
{
	const char *shown = profile_text(p, p->given_note);
	uint32_t at = PROFILE_NONE;

	if (p->given_note)
		at = profile_type_index(p, shown + sizeof(SHOWN) - 1);
	p->given_type = at == PROFILE_NONE ? 0 : p->default_type;
	if (at == PROFILE_NONE)
		p->given_note = 0;
	else
		p->default_type = p->types[at].type;
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

static bool
same_location(const void *key, uint32_t row)
{
	const struct wanted *w = key;
	const struct location *a = w->row, *b = &w->p->locations[row];

	if (a->mapping != b->mapping || a->address != b->address ||
	    a->nlines != b->nlines)
		return false;
	for (uint32_t i = 0; i < a->nlines; i++) {
		const struct line *l = &w->p->lines[b->line0 + i];

		if (w->lines[i].function != l->function ||
		    w->lines[i].line != l->line)
			return false;
	}
	return true;
}

static uint64_t
location_hash(uint64_t key, const struct location *l, const struct line *lines)
{
	uint64_t words[] = {l->mapping, l->address, l->nlines};
	uint64_t h = hash_keyed(key, words, sizeof(words));

	for (uint32_t i = 0; i < l->nlines; i++) {
		uint64_t line[] = {h, lines[i].function,
		                   (uint64_t)lines[i].line};

		h = hash_keyed(key, line, sizeof(line));
	}
	return h;
}

static int
location_add(struct profile *p, struct location l, const struct line *lines,
             uint64_t hash, uint32_t *out)
{
	int r = ROOM(p, locations, p->nlocations, 1);

	if (!r)
		r = ROOM(p, lines, p->nlines, l.nlines);
	if (!r)
		r = table_room(&p->index->locations);
	if (r)
		return r;
	l.line0 = p->nlines;
	for (uint32_t i = 0; i < l.nlines; i++)
		p->lines[p->nlines++] = lines[i];
	p->locations[p->nlocations] = l;
	table_put(&p->index->locations, hash, p->nlocations);
	*out = p->nlocations++;
	return 0;
}

int
profile_location(struct profile *p, uint32_t mapping, uint64_t address,
                 const struct line *lines, uint32_t nlines, uint32_t *out)
{
	struct location l = {
		.mapping = mapping, .address = address, .nlines = nlines};
	struct wanted w = {.p = p, .row = &l, .lines = lines};
	uint64_t hash;
	uint32_t at;

	assert(mapping == PROFILE_NONE || mapping < p->nmappings);
	if (nlines > PROFILE_MAX_LINES)
		return -E2BIG;
	/* profiles of one program mostly list locations in the same order */
	at = p->index->next_location;
	if (at >= p->nlocations || !same_location(&w, at)) {
		hash = location_hash(p->index->key, &l, lines);
		at = table_find(&p->index->locations, hash, same_location, &w);
	}
	if (at == TABLE_NONE) {
		int r = location_add(p, l, lines, hash, &at);

		if (r)
			return r;
	}
	*out = at;
	p->index->next_location = at + 1;
	return 0;
}

static bool
same_sample(const void *key, uint32_t row)
{
	const struct wanted *w = key;
	const struct sample *a = w->row, *b = &w->p->samples[row];

	if (a->nstack != b->nstack || a->nlabels != b->nlabels)
		return false;
	for (uint32_t i = 0; i < a->nstack; i++)
		if (w->stack[i] != w->p->stack[b->stack0 + i])
			return false;
	for (uint32_t i = 0; i < a->nlabels; i++) {
		const struct label *l = &w->p->labels[b->label0 + i];

		if (w->labels[i].key != l->key || w->labels[i].str != l->str ||
		    w->labels[i].num != l->num || w->labels[i].unit != l->unit)
			return false;
	}
	return true;
}

static uint64_t
sample_hash(uint64_t key, const struct wanted *w, const struct sample *s)
{
	uint64_t h = hash_keyed(key, w->stack, s->nstack * sizeof(*w->stack));

	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &w->labels[i];
		uint64_t words[] = {h, l->key, l->str, (uint64_t)l->num,
		                    l->unit};

		h = hash_keyed(key, words, sizeof(words));
	}
	return h;
}

int
rows_sum(struct profile *p, uint32_t at, const int64_t *values)
{
	int64_t sum[PROFILE_MAX_TYPES], *to;

	if (!p->ntypes) /* p->values is NULL */
		return 0;
	to = &p->values[(size_t)at * p->ntypes];
	for (uint32_t i = 0; i < p->ntypes; i++)
		if (__builtin_add_overflow(to[i], values[i], &sum[i]))
			return -EOVERFLOW;
	memcpy(to, sum, p->ntypes * sizeof(*to));
	return 0;
}

static int
sample_room(struct profile *p, const struct sample *s)
{
	int r = ROOM(p, samples, p->nsamples, 1);

	if (!r)
		r = ROOM(p, values, (uint64_t)p->nsamples * p->ntypes,
		         p->ntypes);
	if (!r) /* even an empty stack needs a non-NULL address */
		r = ROOM(p, stack, p->nstack, s->nstack + 1);
	if (!r)
		r = ROOM(p, labels, p->nlabels, s->nlabels);
	if (!r)
		r = table_room(&p->index->samples);
	return r;
}

static int
sample_add(struct profile *p, const struct wanted *w, struct sample s,
           const int64_t *values, uint64_t hash)
{
	int r = sample_room(p, &s);

	if (r)
		return r;
	s.stack0 = p->nstack;
	s.label0 = p->nlabels;
	for (uint32_t i = 0; i < s.nstack; i++)
		p->stack[p->nstack++] = w->stack[i];
	for (uint32_t i = 0; i < s.nlabels; i++)
		p->labels[p->nlabels++] = w->labels[i];
	for (uint32_t i = 0; i < p->ntypes; i++)
		p->values[(size_t)p->nsamples * p->ntypes + i] = values[i];
	p->samples[p->nsamples] = s;
	table_put(&p->index->samples, hash, p->nsamples++);
	return 0;
}

int
rows_sample(struct profile *p, const uint32_t *stack, uint32_t nstack,
            const struct label *labels, uint32_t nlabels, const int64_t *values,
            uint32_t *out)
{
	struct sample s = {.nstack = nstack, .nlabels = nlabels};
	struct wanted w = {.p = p, .row = &s, .stack = stack, .labels = labels};
	uint64_t hash;
	uint32_t at;
	int r;

	if (nstack > PROFILE_MAX_FRAMES || nlabels > PROFILE_MAX_LABELS)
		return -E2BIG;
	hash = sample_hash(p->index->key, &w, &s);
	at = table_find(&p->index->samples, hash, same_sample, &w);
	if (at == TABLE_NONE) {
		at = p->nsamples;
		r = sample_add(p, &w, s, values, hash);
	} else {
		r = rows_sum(p, at, values);
	}
	if (!r)
		*out = at;
	return r;
}

int
profile_sample_row(struct profile *p, const uint32_t *stack, uint32_t nstack,
                   const struct label *labels, uint32_t nlabels,
                   const int64_t *values, uint32_t *out)
{
	for (uint32_t i = 0; i < nstack; i++)
		assert(stack[i] < p->nlocations);
	return rows_sample(p, stack, nstack, labels, nlabels, values, out);
}

int
profile_sample(struct profile *p, const uint32_t *stack, uint32_t nstack,
               const struct label *labels, uint32_t nlabels,
               const int64_t *values)
{
	uint32_t row;

	return profile_sample_row(p, stack, nstack, labels, nlabels, values,
	                          &row);
}

uint32_t
profile_type_index(const struct profile *p, const char *name)
{
	const char *want = name;

	if (!name && p->default_type)
		want = profile_text(p, p->default_type);
	for (uint32_t i = 0; want && i < p->ntypes; i++)
		if (strcmp(profile_text(p, p->types[i].type), want) == 0)
			return i;
	/* pprof shows the last type unless the file names one */
	return !name && p->ntypes ? p->ntypes - 1 : PROFILE_NONE;
}

int64_t
profile_total(const struct profile *p, uint32_t type)
{
	int64_t all = 0;

	for (uint32_t i = 0; i < p->nsamples && type < p->ntypes; i++)
		profile_add(&all, p->values[(size_t)i * p->ntypes + type]);
	return all;
}

const char *
profile_module(const struct profile *p, uint32_t location)
{
	uint32_t m = p->locations[location].mapping;

	if (m == PROFILE_NONE)
		return "";
	return path_name(profile_text(p, p->mappings[m].file));
}

/* True for a name that is only a place in a module: "libc.so.6+0x88ef0". */
static bool
is_place(const char *name, const char *module)
{
	size_t n = strlen(module);

	return n && !strncmp(name, module, n) && !strncmp(name + n, "+0x", 3) &&
	       name[n + 3 + strspn(name + n + 3, "0123456789abcdef")] == '\0';
}

bool
profile_is_named(const struct profile *p, uint32_t location)
{
	const struct location *l = &p->locations[location];
	const struct function *f;

	if (!l->nlines)
		return false;
	f = &p->functions[p->lines[l->line0].function];
	return f->system_name ||
	       (f->name && !is_place(profile_text(p, f->name),
	                             profile_module(p, location)));
}

int
profile_count_named(const struct profile *p, uint32_t *out)
{
	CLEANUP_FREE bool *named =
		calloc((size_t)p->nlocations + 1, sizeof(*named));
	uint32_t n = 0;

	if (!named)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations; i++)
		named[i] = profile_is_named(p, i);
	for (uint32_t i = 0; i < p->nstack; i++)
		n += named[p->stack[i]];
	*out = n;
	return 0;
}

int
profile_list_unnamed(const struct profile *p, struct profile_unnamed *out)
{
	CLEANUP_FREE bool *seen =
		calloc((size_t)p->nmappings + 1, sizeof(*seen));
	struct profile_unnamed l = {.n = 0};

	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		uint32_t m = p->locations[i].mapping;

		if (m == PROFILE_NONE || seen[m] || profile_is_named(p, i))
			continue;
		seen[m] = true;
		if (p->mappings[m].build_id && l.n < PROFILE_MAX_UNNAMED)
			l.build_ids[l.n++] =
				profile_text(p, p->mappings[m].build_id);
	}
	*out = l;
	return 0;
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
