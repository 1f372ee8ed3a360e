#include "recursion.h"

#include "profile/tree.h"

#include <stdlib.h>
#include <string.h>

struct frame {
	uint32_t key; /* key of its name */
	uint32_t location, line;
};

struct work {
	const struct profile *p;
	struct frame *frames; /* frames of one stack, outermost first */
	uint32_t *at;         /* by key: its place in frames */
	uint32_t n, frames_cap;
	uint32_t *stack; /* stacks of all samples */
	uint32_t nstack, stack_cap;
	struct location *locations; /* p's, and parts of them */
	uint32_t *first; /* by line of p: a part that begins there; 0: none */
	uint32_t *next;  /* by location: the next part that begins with the same
	                    line */
	uint32_t nlocations, locations_cap, next_cap;
};

static void
work_done(struct work *w)
{
	free(w->frames);
	free(w->at);
	free(w->stack);
	free(w->locations);
	free(w->first);
	free(w->next);
}

/* Returns a number for the name of a frame: equal for equal names, and
 * separate for each address without one. */
static uint32_t
key_of(const struct profile *p, uint32_t location, uint32_t line)
{
	const struct location *l = &p->locations[location];
	uint32_t name = 0;

	if (l->nlines) {
		const struct function *f =
			&p->functions[p->lines[l->line0 + line].function];

		name = f->name ? f->name : f->system_name;
	}
	return name ? name : strings_count(p->strings) + location;
}

static int
push(struct work *w, uint32_t location, uint32_t line)
{
	const struct frame f = {key_of(w->p, location, line), location, line};
	uint32_t at = w->at[f.key];
	int rc;

	if (at < w->n && w->frames[at].key == f.key)
		w->n = at; /* from the outermost on */
	rc = ROWS_ROOM(w->frames, w->frames_cap, w->n, 1);
	if (rc)
		return rc;
	w->at[f.key] = w->n;
	w->frames[w->n++] = f;
	return 0;
}

/* Finds or adds the part of a location with some of its lines. No more parts
 * begin with a line than a location has lines. */
static int
part(struct work *w, uint32_t location, uint32_t line, uint32_t n,
     uint32_t *out)
{
	struct location l = w->p->locations[location];
	uint32_t *first;
	int rc;

	if (n >= l.nlines) {
		*out = location;
		return 0;
	}
	first = &w->first[l.line0 + line];
	for (uint32_t at = *first; at; at = w->next[at])
		if (w->locations[at].nlines == n) {
			*out = at;
			return 0;
		}
	rc = ROWS_ROOM(w->locations, w->locations_cap, w->nlocations, 1)
	             ?: ROWS_REACH(w->next, w->next_cap, w->nlocations);
	if (rc)
		return rc;
	l.line0 += line;
	l.nlines = n;
	w->next[w->nlocations] = *first;
	*first = *out = w->nlocations;
	w->locations[w->nlocations++] = l;
	return 0;
}

/* Appends the frames, innermost first. Adjacent frames of one location stay
 * one entry. */
static int
append(struct work *w)
{
	int rc = 0;

	for (uint32_t i = w->n, k; i && !rc; i = k) {
		const struct frame *in = &w->frames[i - 1];
		uint32_t n = 1;

		for (k = i - 1;
		     k && w->frames[k - 1].location == in->location &&
		     w->frames[k - 1].line == in->line + n;
		     k--)
			n++;
		rc = ROWS_ROOM(w->stack, w->stack_cap, w->nstack, 1);
		if (!rc)
			rc = part(w, in->location, in->line, n,
			          &w->stack[w->nstack]);
		w->nstack += !rc;
	}
	return rc;
}

static int
fold_stack(struct work *w, const struct sample *s)
{
	const struct profile *p = w->p;
	int rc = 0;

	w->n = 0;
	for (uint32_t i = s->nstack; i-- > 0 && !rc;) {
		uint32_t location = p->stack[s->stack0 + i];

		for (uint32_t k = profile_frames(p, location); k-- > 0 && !rc;)
			rc = push(w, location, k);
	}
	return rc ? rc : append(w);
}

static bool
is_too_large(const struct profile *p)
{
	uint64_t frames = 0;

	for (uint32_t i = 0; i < p->nsamples; i++)
		for (uint32_t k = 0; k < p->samples[i].nstack; k++)
			frames += profile_frames(
				p, p->stack[p->samples[i].stack0 + k]);
	return frames > TREE_MAX_FRAMES;
}

static int
begin(struct work *w)
{
	const struct profile *p = w->p;
	int rc = ROWS_ROOM(w->locations, w->locations_cap, 0,
	                   (uint64_t)p->nlocations + 1)
	                 ?: ROWS_REACH(w->next, w->next_cap, p->nlocations);

	w->at = calloc((size_t)strings_count(p->strings) + p->nlocations,
	               sizeof(*w->at));
	w->first = calloc((size_t)p->nlines + 1, sizeof(*w->first));
	if (!rc && (!w->at || !w->first))
		rc = -ENOMEM;
	if (rc)
		return rc;
	if (p->nlocations)
		memcpy(w->locations, p->locations,
		       p->nlocations * sizeof(*p->locations));
	w->nlocations = p->nlocations;
	return 0;
}

/* Gives p the new rows. The old rows of a decoded profile stay in its slab. */
static void
replace(struct profile *p, struct work *w)
{
	void *old[ARRAY_LEN(p->recut)] = {p->locations, p->stack};

	for (size_t i = 0; i < ARRAY_LEN(p->recut); i++)
		free(p->slab ? p->recut[i] : old[i]);
	p->locations = TAKE(w->locations);
	p->stack = TAKE(w->stack);
	p->nlocations = w->nlocations;
	p->nstack = w->nstack;
	if (p->slab) {
		p->recut[0] = p->locations;
		p->recut[1] = p->stack;
	}
}

int
recursion_fold(struct profile *p)
{
	CLEANUP(work_done) struct work w = {.p = p};
	CLEANUP_FREE uint32_t *ends =
		calloc((size_t)p->nsamples + 1, sizeof(*ends));
	int rc = is_too_large(p) ? -E2BIG : ends ? begin(&w) : -ENOMEM;
	uint32_t from = 0;

	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		rc = fold_stack(&w, &p->samples[i]);
		ends[i] = w.nstack;
	}
	if (rc)
		return rc;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		p->samples[i].stack0 = from;
		p->samples[i].nstack = ends[i] - from;
		from = ends[i];
	}
	replace(p, &w);
	return 0;
}
