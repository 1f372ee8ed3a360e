#include "profile/hot.h"

#include "profile/site.h"
#include "profile/source_lines.h"

#include <errno.h>
#include <string.h>

#define FRAMES (PROFILE_MAX_FRAMES * PROFILE_MAX_LINES)

/* A frame of a stack. */
struct hot_frame {
	uint32_t name, at; /* at: index of its row in scan.name */
	uint32_t mapping;
};

struct scan {
	const struct profile *p;
	const struct hot_ask *ask;
	struct hot *hot;
	uint32_t *first; /* by location: its first frame in name */
	uint32_t *name;  /* by frame */
	bool *skipped;   /* by frame: no site */
	uint32_t nframes, nnames;
	struct hot_frame *stack; /* FRAMES */
	int64_t *self, *total;   /* by name */
	uint32_t *seen; /* by name: number of the last sample with it */
	int64_t *callers[HOT_MAX], *callees[HOT_MAX]; /* by name */
	uint32_t *chosen; /* by name: 1 + its place in hot->functions */
};

static void
scan_done(struct scan *s)
{
	free(s->first);
	free(s->name);
	free(s->skipped);
	free(s->stack);
	free(s->self);
	free(s->total);
	free(s->seen);
	free(s->chosen);
	for (size_t i = 0; i < HOT_MAX; i++) {
		free(s->callers[i]);
		free(s->callees[i]);
	}
}

void
hot_free(struct hot *h)
{
	if (!h)
		return;
	strings_free(h->names);
	free(h);
}

/* --- frames --------------------------------------------------------------- */

static int
name_frame(struct scan *s, uint32_t location, uint32_t line, struct buf *text)
{
	uint32_t at = s->first[location] + line;
	int rc;

	buf_clear(text);
	profile_frame_name(s->p, location, line, text);
	rc = buf_err(text)
	             ?: strings_add(s->hot->names, buf_str(text), text->len,
	                            &s->name[at]);
	s->skipped[at] =
		s->ask->sites &&
		site_skips(buf_str(text), profile_module(s->p, location));
	return rc;
}

static int
name_frames(struct scan *s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const struct profile *p = s->p;
	int rc = 0;

	s->first = calloc((size_t)p->nlocations + 1, sizeof(*s->first));
	if (!s->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		s->first[i] = s->nframes;
		s->nframes += profile_frames(p, i);
	}
	s->name = calloc((size_t)s->nframes + 1, sizeof(*s->name));
	s->skipped = calloc((size_t)s->nframes + 1, sizeof(*s->skipped));
	s->stack = calloc(FRAMES, sizeof(*s->stack));
	if (!s->name || !s->skipped || !s->stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations && !rc; i++)
		for (uint32_t k = 0; k < profile_frames(p, i) && !rc; k++)
			rc = name_frame(s, i, k, &text);
	s->nnames = strings_count(s->hot->names);
	return rc;
}

static bool
is_part(const struct scan *s, const struct hot_frame *f,
        const struct hot_frame *caller)
{
	const struct strings *names = s->hot->names;

	return f->mapping == caller->mapping &&
	       site_is_part(strings_get(names, f->name, NULL),
	                    strings_get(names, caller->name, NULL));
}

/* Returns the place of the site in a stack, or of its outermost frame if there
 * is none. */
static uint32_t
site_of(const struct scan *s, uint32_t n)
{
	bool inner = false;
	uint32_t site = n - 1;

	for (uint32_t i = n; i-- > 0;) {
		inner = s->skipped[s->stack[i].at] ||
		        (inner && is_part(s, &s->stack[i], &s->stack[i + 1]));
		if (!inner)
			site = i;
	}
	return site;
}

/* Reads the frames of a sample from its site outwards, innermost first. */
static uint32_t
read_stack(struct scan *s, uint32_t sample)
{
	const struct sample *x = &s->p->samples[sample];
	uint32_t n = 0, site;

	for (uint32_t i = 0; i < x->nstack; i++) {
		uint32_t location = s->p->stack[x->stack0 + i];
		uint32_t frames = profile_frames(s->p, location);

		for (uint32_t k = 0; k < frames && n < FRAMES; k++) {
			uint32_t at = s->first[location] + k;

			s->stack[n++] = (struct hot_frame){
				s->name[at], at,
				s->p->locations[location].mapping};
		}
	}
	site = n ? site_of(s, n) : 0;
	memmove(s->stack, s->stack + site, (n - site) * sizeof(*s->stack));
	return n - site;
}

static int64_t
value_of(const struct scan *s, uint32_t sample)
{
	return s->p->values[(size_t)sample * s->p->ntypes + s->ask->type];
}

/* --- the functions -------------------------------------------------------- */

static int
sum_functions(struct scan *s)
{
	s->self = calloc(s->nnames, sizeof(*s->self));
	s->total = calloc(s->nnames, sizeof(*s->total));
	s->seen = calloc(s->nnames, sizeof(*s->seen));
	s->chosen = calloc(s->nnames, sizeof(*s->chosen));
	if (!s->self || !s->total || !s->seen || !s->chosen)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->p->nsamples; i++) {
		int64_t v = value_of(s, i);
		uint32_t n = v ? read_stack(s, i) : 0;

		profile_add(&s->hot->all, v);
		if (n)
			profile_add(&s->self[s->stack[0].name], v);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t name = s->stack[k].name;

			if (s->seen[name] != i + 1)
				profile_add(&s->total[name], v);
			s->seen[name] = i + 1;
		}
	}
	return 0;
}

static bool
is_asked(const struct scan *s, uint32_t name)
{
	const char *text = strings_get(s->hot->names, name, NULL);

	return s->ask->function
	               ? s->total[name] && !strcmp(text, s->ask->function)
	               : s->self[name] > 0;
}

/* Keeps the functions with the highest self, in order. */
static void
choose(struct scan *s)
{
	struct hot *h = s->hot;

	for (uint32_t name = 0; name < s->nnames; name++) {
		size_t at = h->n;

		if (!is_asked(s, name))
			continue;
		while (at && h->functions[at - 1].self < s->self[name])
			at--;
		if (at == s->ask->most)
			continue;
		h->n += h->n < s->ask->most;
		memmove(&h->functions[at + 1], &h->functions[at],
		        (h->n - at - 1) * sizeof(*h->functions));
		h->functions[at] = (struct hot_function){
			.name = name,
			.file = "",
			.module = "",
			.self = s->self[name],
			.total = s->total[name],
		};
	}
	for (size_t i = 0; i < h->n; i++)
		s->chosen[h->functions[i].name] = (uint32_t)i + 1;
}

/* --- callers, callees and lines ------------------------------------------- */

/* The innermost and outermost frame of each chosen function on a stack. */
struct places {
	uint32_t inner[HOT_MAX], outer[HOT_MAX];
	bool there[HOT_MAX];
};

static void
count_places(struct scan *s, uint32_t n, const struct places *at, int64_t v)
{
	for (size_t i = 0; i < s->hot->n; i++) {
		uint32_t in = at->inner[i], out = at->outer[i];

		if (!at->there[i])
			continue;
		profile_add(&s->callers[i][out + 1 < n ? s->stack[out + 1].name
		                                       : 0],
		            v);
		if (in)
			profile_add(&s->callees[i][s->stack[in - 1].name], v);
	}
}

static int
count_parts(struct scan *s)
{
	for (size_t i = 0; i < s->hot->n; i++) {
		s->callers[i] = calloc(s->nnames, sizeof(**s->callers));
		s->callees[i] = calloc(s->nnames, sizeof(**s->callees));
		if (!s->callers[i] || !s->callees[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->p->nsamples; i++) {
		int64_t v = value_of(s, i);
		uint32_t n = v ? read_stack(s, i) : 0;
		struct places at = {0};

		for (uint32_t k = 0; k < n; k++) {
			uint32_t which = s->chosen[s->stack[k].name];

			if (!which--)
				continue;
			if (!at.there[which])
				at.inner[which] = k;
			at.outer[which] = k;
			at.there[which] = true;
		}
		count_places(s, n, &at, v);
	}
	return 0;
}

/* Keeps a part if it is one of the largest. */
static void
keep(struct hot_part parts[static HOT_PARTS], struct hot_part x)
{
	size_t at = HOT_PARTS;

	while (at && parts[at - 1].value < x.value)
		at--;
	if (at == HOT_PARTS)
		return;
	memmove(&parts[at + 1], &parts[at],
	        (HOT_PARTS - at - 1) * sizeof(*parts));
	parts[at] = x;
}

/* Returns the chosen function of that name, or NULL. */
static struct hot_function *
function_of(const struct scan *s, const char *name)
{
	struct hot *h = s->hot;

	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(strings_get(h->names, h->functions[i].name, NULL),
		            name))
			return &h->functions[i];
	return NULL;
}

/* Keeps the lines of the chosen functions. */
static int
keep_lines(struct scan *s)
{
	CLEANUP_SOURCE_LINES struct source_lines all = {0};
	const struct strings *strings = s->p->strings;
	int rc = source_lines_find(s->p, s->ask->type, s->ask->function, &all);

	for (uint32_t i = 0; i < all.n; i++) {
		const struct source_line *l = &all.items[i];
		const char *name = strings_get(strings, l->name, NULL);
		struct hot_function *f = function_of(s, name);

		if (!f || !l->line)
			continue;
		if (!f->lines[0].value)
			f->file = strings_get(strings, l->file, NULL);
		keep(f->lines,
		     (struct hot_part){.line = l->line, .value = l->total});
	}
	return rc;
}

static void
keep_parts(struct scan *s)
{
	struct hot *h = s->hot;

	for (size_t i = 0; i < h->n; i++)
		for (uint32_t name = 0; name < s->nnames; name++) {
			struct hot_part part = {.name = name};

			part.value = s->callers[i][name];
			keep(h->functions[i].callers, part);
			part.value = s->callees[i][name];
			keep(h->functions[i].callees, part);
		}
	for (uint32_t i = 0; i < s->p->nlocations; i++)
		for (uint32_t k = 0; k < profile_frames(s->p, i); k++) {
			uint32_t which = s->chosen[s->name[s->first[i] + k]];

			if (which)
				h->functions[which - 1].module =
					profile_module(s->p, i);
		}
}

/* --- the heaviest path ---------------------------------------------------- */

/* The part of a sample's stack that is below the path so far. */
struct inside {
	uint32_t locations, frames; /* frames of the outermost of them */
	uint32_t name;              /* name of the frame that was taken last */
};

/* Takes the outermost remaining frame; false if there is none. */
static bool
take_frame(const struct scan *s, uint32_t sample, struct inside *in)
{
	const uint32_t *stack = s->p->stack + s->p->samples[sample].stack0;

	if (!in->frames) {
		if (!in->locations)
			return false;
		in->frames = profile_frames(s->p, stack[--in->locations]);
	}
	in->name = s->name[s->first[stack[in->locations]] + --in->frames];
	return true;
}

/* Sums the samples on the path so far by their next frame, and drops the
 * samples that have left it. Returns the heaviest frame. */
static uint32_t
next_of(struct scan *s, struct inside *in)
{
	const struct hot *h = s->hot;
	uint32_t best = 0;

	memset(s->total, 0, s->nnames * sizeof(*s->total));
	for (uint32_t i = 0; i < s->p->nsamples; i++) {
		if (h->npath && in[i].name != h->path[h->npath - 1]) {
			in[i] = (struct inside){0};
			continue;
		}
		if (!take_frame(s, i, &in[i])) {
			in[i].name = 0;
			continue;
		}
		profile_add(&s->total[in[i].name], value_of(s, i));
		if (s->total[in[i].name] > s->total[best])
			best = in[i].name;
	}
	return best;
}

static int
find_path(struct scan *s)
{
	struct hot *h = s->hot;
	CLEANUP_FREE struct inside *in =
		calloc((size_t)s->p->nsamples + 1, sizeof(*in));
	int64_t least = h->all / 2;

	if (!in)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->p->nsamples; i++)
		in[i].locations = s->p->samples[i].nstack;
	while (h->npath < HOT_PATH) {
		uint32_t name = next_of(s, in);

		if (s->total[name] <= 0 || s->total[name] < least)
			break;
		h->path[h->npath++] = name;
		h->path_total = s->total[name];
		least = s->total[name] / 2;
	}
	return 0;
}

/* --- the whole ------------------------------------------------------------ */

int
hot_new(const struct profile *p, const struct hot_ask *ask, struct hot **out)
{
	CLEANUP_HOT struct hot *h = calloc(1, sizeof(*h));
	CLEANUP(scan_done) struct scan s = {.p = p, .ask = ask, .hot = h};
	int rc;

	if (!h)
		return -ENOMEM;
	h->names = strings_new();
	if (!h->names)
		return -ENOMEM;
	rc = name_frames(&s) ?: sum_functions(&s);
	if (rc)
		return rc;
	choose(&s);
	rc = count_parts(&s);
	if (!rc)
		keep_parts(&s);
	rc = rc ?: keep_lines(&s) ?: find_path(&s);
	if (!rc)
		*out = TAKE(h);
	return rc;
}

void
hot_near(const struct hot *h, const char *text, size_t most, struct buf *out)
{
	for (uint32_t i = 1; i < strings_count(h->names) && most; i++) {
		const char *name = strings_get(h->names, i, NULL);

		if (!strcasestr(name, text))
			continue;
		buf_puts(out, name);
		buf_putc(out, '\n');
		most--;
	}
}
