#include "lib/same_profile.h"

#include <string.h>

/* Rows have padding, so they are compared member by member. */
#define SAME(member)                \
	if (x->member != y->member) \
	return #member
#define EACH(type, rows, n)                                              \
	for (uint32_t i_ = 0; i_ < a->n; i_++)                           \
		for (const type *x = &a->rows[i_], *y = &b->rows[i_]; x; \
		     x = NULL)

static const char *
rows_differ(const struct profile *a, const struct profile *b)
{
	EACH(struct mapping, mappings, nmappings)
	{
		SAME(start);
		SAME(limit);
		SAME(offset);
		SAME(file);
		SAME(build_id);
		SAME(has_functions);
		SAME(has_files);
		SAME(has_lines);
		SAME(has_inlines);
	}
	EACH(struct function, functions, nfunctions)
	{
		SAME(name);
		SAME(system_name);
		SAME(file);
		SAME(start_line);
	}
	EACH(struct line, lines, nlines)
	{
		SAME(function);
		SAME(line);
	}
	EACH(struct location, locations, nlocations)
	{
		SAME(mapping);
		SAME(address);
		SAME(folded);
		SAME(line0);
		SAME(nlines);
	}
	return NULL;
}

static const char *
samples_differ(const struct profile *a, const struct profile *b)
{
	EACH(struct sample, samples, nsamples)
	{
		SAME(stack0);
		SAME(nstack);
		SAME(label0);
		SAME(nlabels);
	}
	EACH(struct label, labels, nlabels)
	{
		SAME(key);
		SAME(str);
		SAME(num);
		SAME(unit);
	}
	for (uint32_t i = 0; i < a->nstack; i++)
		if (a->stack[i] != b->stack[i])
			return "stack";
	for (uint64_t i = 0; i < (uint64_t)a->nsamples * a->ntypes; i++)
		if (a->values[i] != b->values[i])
			return "values";
	for (uint32_t i = 0; i < a->ncomments; i++)
		if (a->comments[i] != b->comments[i])
			return "comments";
	return NULL;
}

static const char *
scalars_differ(const struct profile *x, const struct profile *y)
{
	SAME(nmappings);
	SAME(nfunctions);
	SAME(nlines);
	SAME(nlocations);
	SAME(nsamples);
	SAME(nstack);
	SAME(nlabels);
	SAME(ncomments);
	SAME(ntypes);
	SAME(default_type);
	SAME(given_type);
	SAME(drop_frames);
	SAME(keep_frames);
	SAME(doc_url);
	SAME(period_type.type);
	SAME(period_type.unit);
	SAME(period);
	SAME(time_ns);
	SAME(duration_ns);
	for (uint32_t i = 0; i < x->ntypes; i++) {
		SAME(types[i].type);
		SAME(types[i].unit);
	}
	return NULL;
}

static const char *
strings_differ(const struct strings *a, const struct strings *b)
{
	if (strings_count(a) != strings_count(b))
		return "number of strings";
	for (uint32_t i = 0; i < strings_count(a); i++) {
		size_t n, m;
		const char *s = strings_get(a, i, &n);
		const char *t = strings_get(b, i, &m);

		if (n != m || memcmp(s, t, n))
			return "strings";
	}
	return NULL;
}

const char *
profile_differs(const struct profile *a, const struct profile *b)
{
	const char *what = scalars_differ(a, b);

	if (!what)
		what = strings_differ(a->strings, b->strings);
	if (!what)
		what = rows_differ(a, b);
	return what ? what : samples_differ(a, b);
}
