/* Builder, second half: locations and the samples made of them. */
#include "build.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

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
	/* profiles of one program have much in the same order */
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
	int64_t *to = &p->values[(size_t)at * p->ntypes];
	int64_t sum[PROFILE_MAX_TYPES];

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
	if (!r)
		r = ROOM(p, stack, p->nstack, s->nstack);
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
