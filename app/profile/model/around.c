#include "profile/around.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * One of the two profiles and, for each row of the profile that is read, its
 * row here, plus 1; 0: not copied yet.
 */
struct side {
	struct profile *p;
	bool outwards;
	uint32_t *functions, *locations;
};

struct work {
	const struct profile *p;
	uint32_t type;
	const char *name;
	struct side callers, callees;
	bool *is;       /* by function: it has the name */
	bool *has;      /* by location: a frame of it has the name */
	uint32_t *path; /* memory for a stack */
	uint64_t copied;
	int64_t total, self;
};

void
around_done(struct around *a)
{
	profile_free(a->callers);
	profile_free(a->callees);
}

static void
side_done(struct side *s)
{
	profile_free(s->p);
	free(s->functions);
	free(s->locations);
}

static void
work_done(struct work *w)
{
	side_done(&w->callers);
	side_done(&w->callees);
	free(w->is);
	free(w->has);
	free(w->path);
}

static int
side_init(struct side *s, const struct profile *p, uint32_t type, bool outwards)
{
	const struct value_type *t = &p->types[type];

	s->outwards = outwards;
	s->p = profile_new();
	s->functions = calloc(p->nfunctions + 1, sizeof(*s->functions));
	s->locations = calloc(p->nlocations + 1, sizeof(*s->locations));
	if (!s->p || !s->functions || !s->locations)
		return -ENOMEM;
	return profile_type(s->p, profile_text(p, t->type),
	                    profile_text(p, t->unit));
}

/* --- which frames have the name ------------------------------------------- */

static bool
is_frame(const struct work *w, uint32_t location, uint32_t line)
{
	const struct location *l = &w->p->locations[location];

	return l->nlines ? w->is[w->p->lines[l->line0 + line].function]
	                 : w->has[location];
}

static int
mark_functions(struct work *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		const struct function *f = &p->functions[i];
		uint32_t name = f->name ? f->name : f->system_name;

		w->is[i] = name && !strcmp(profile_text(p, name), w->name);
	}
	for (uint32_t i = 0; i < p->nlocations; i++) {
		CLEANUP_BUF struct buf made = BUF_INIT(BUF_MAX_SMALL);

		for (uint32_t k = 0; k < p->locations[i].nlines; k++)
			w->has[i] |= is_frame(w, i, k);
		if (p->locations[i].nlines)
			continue;
		profile_frame_name(p, i, 0, &made);
		if (buf_err(&made))
			return buf_err(&made);
		w->has[i] = !strcmp(buf_str(&made), w->name);
	}
	return 0;
}

/* --- copies of rows ------------------------------------------------------- */

static int
copy_string(struct side *s, const struct profile *p, uint32_t *id)
{
	size_t n;
	const char *text = strings_get(p->strings, *id, &n);

	return profile_string(s->p, text, n, id);
}

static int
copy_function(struct side *s, const struct profile *p, uint32_t at,
              uint32_t *out)
{
	struct function f = p->functions[at];
	int rc;

	if (s->functions[at]) {
		*out = s->functions[at] - 1;
		return 0;
	}
	rc = copy_string(s, p, &f.name)
	             ?: copy_string(s, p, &f.system_name)
	             ?: copy_string(s, p, &f.file)
	             ?: profile_function(s->p, &f, out);
	if (!rc)
		s->functions[at] = *out + 1;
	return rc;
}

static int
copy_mapping(struct side *s, const struct profile *p, uint32_t at,
             uint32_t *out)
{
	struct mapping m;

	*out = at;
	if (at == PROFILE_NONE)
		return 0;
	m = p->mappings[at];
	return copy_string(s, p, &m.file)
	               ?: copy_string(s, p, &m.build_id)
	               ?: profile_mapping(s->p, &m, out);
}

/* Copies the lines [from, to) of a location, in the order of the side. */
static int
copy_lines(struct side *s, const struct profile *p, uint32_t at, uint32_t from,
           uint32_t to, uint32_t *out)
{
	const struct location *l = &p->locations[at];
	struct line lines[PROFILE_MAX_LINES];
	uint32_t mapping, n = 0;
	int rc = to - from > PROFILE_MAX_LINES
	                 ? -E2BIG
	                 : copy_mapping(s, p, l->mapping, &mapping);

	for (uint32_t i = from; i < to && !rc; i++) {
		uint32_t k = s->outwards ? from + to - 1 - i : i;

		lines[n] = p->lines[l->line0 + k];
		rc = copy_function(s, p, lines[n].function, &lines[n].function);
		n++;
	}
	return rc ? rc
	          : profile_location(s->p, mapping, l->address, lines, n, out);
}

static int
copy_location(struct side *s, const struct profile *p, uint32_t at,
              uint32_t *out)
{
	int rc;

	if (s->locations[at]) {
		*out = s->locations[at] - 1;
		return 0;
	}
	rc = copy_lines(s, p, at, 0, p->locations[at].nlines, out);
	if (!rc)
		s->locations[at] = *out + 1;
	return rc;
}

/* --- stacks --------------------------------------------------------------- */

/* Copies the frames from an occurrence to one end of the stack. Stacks begin
 * with the innermost frame, so those that go outwards are reversed. */
static int
copy_stack(struct work *w, struct side *s, const struct sample *of, uint32_t at,
           uint32_t line, int64_t value)
{
	const uint32_t *stack = &w->p->stack[of->stack0];
	uint32_t nlines = w->p->locations[stack[at]].nlines;
	uint32_t n = s->outwards ? of->nstack - at : at + 1;
	int rc = 0;

	w->copied += n;
	if (w->copied > AROUND_MAX_FRAMES)
		return -E2BIG;
	for (uint32_t i = 0; i + 1 < n && !rc; i++)
		rc = copy_location(s, w->p,
		                   stack[s->outwards ? of->nstack - 1 - i : i],
		                   &w->path[i]);
	if (!rc)
		rc = copy_lines(s, w->p, stack[at],
		                s->outwards && nlines ? line : 0,
		                s->outwards || !nlines ? nlines : line + 1,
		                &w->path[n - 1]);
	return rc ? rc : profile_sample(s->p, w->path, n, NULL, 0, &value);
}

static int
add(int64_t *sum, int64_t value)
{
	return __builtin_add_overflow(*sum, value, sum) ? -EOVERFLOW : 0;
}

static int
read_sample(struct work *w, const struct sample *s, int64_t value)
{
	bool is = false;
	int rc = 0;

	for (uint32_t i = 0; i < s->nstack && !rc; i++) {
		uint32_t at = w->p->stack[s->stack0 + i];

		if (!w->has[at])
			continue;
		for (uint32_t k = 0; k < profile_frames(w->p, at) && !rc; k++) {
			if (!is_frame(w, at, k))
				continue;
			is = true;
			if (!i && !k)
				rc = add(&w->self, value);
			rc = rc ?: copy_stack(w, &w->callees, s, i, k, value)
			                ?: copy_stack(w, &w->callers, s, i, k,
			                              value);
		}
	}
	return rc ? rc : is ? add(&w->total, value) : 0;
}

int
around_new(const struct profile *p, uint32_t type, const char *name,
           struct around *out)
{
	CLEANUP(work_done)
	struct work w = {
		.p = p,
		.type = type,
		.name = name,
		.is = calloc(p->nfunctions + 1, sizeof(*w.is)),
		.has = calloc(p->nlocations + 1, sizeof(*w.has)),
		.path = calloc(PROFILE_MAX_FRAMES, sizeof(*w.path)),
	};
	int rc = w.is && w.has && w.path
	                 ? side_init(&w.callees, p, type, false)
	                           ?: side_init(&w.callers, p, type, true)
	                           ?: mark_functions(&w)
	                 : -ENOMEM;

	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		int64_t value = p->values[(size_t)i * p->ntypes + type];

		rc = value ? read_sample(&w, &p->samples[i], value) : 0;
	}
	if (rc)
		return rc;
	*out = (struct around){TAKE(w.callers.p), TAKE(w.callees.p), w.total,
	                       w.self};
	return 0;
}
