#include "profile/sift.h"

#include "base/clock.h"
#include "base/pattern.h"
#include "package.h"
#include "profile/kind.h"
#include "recursion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct {
		const char *p;
		size_t n;
	} names[SIFT_NAMES];
	uint32_t n;
};

/* The entries of the lists that match a frame, or any frame of a location or
 * stack. */
struct marks {
	uint32_t focus; /* bits of the list's names */
	uint32_t bits;  /* bits of struct sift_frames */
	bool hidden;
	bool folded; /* folded by its name alone */
};

/* True if the kind of a function is folded, in the module asked for last. */
struct kind_mark {
	const char *module; /* NULL: not asked yet */
	bool folded;
};

/* A text that finds functions. */
struct search {
	const char *text; /* NULL: none */
	regex_t re;
	bool compiled;
};

#define TIMED 64 /* rows until the clock is read again */
#define FOUND (UINT32_C(1) << SIFT_NAMES) /* in focus: the text finds it */

struct work {
	struct profile *p;
	const struct sift *by;
	struct search focus_text, hide_text, fold_text;
	struct list focus, hide, fold, fold_package;
	uint32_t kinds;                      /* kinds that are folded */
	struct marks *functions, *locations; /* by index */
	struct kind_mark *kind_marks;        /* by function */
	bool *folds;                         /* by line */
	bool any_folds;
	bool *gone; /* locations of which folding leaves nothing */
};

static void
search_done(struct search *s)
{
	if (s->compiled)
		regfree(&s->re);
}

static void
work_done(struct work *w)
{
	search_done(&w->focus_text);
	search_done(&w->hide_text);
	search_done(&w->fold_text);
	free(w->functions);
	free(w->kind_marks);
	free(w->locations);
	free(w->folds);
	free(w->gone);
}

/* --- texts ---------------------------------------------------------------- */

/* Text that is not a regular expression is searched for literally. */
static int
search_init(struct search *s, const char *text)
{
	int rc = text ? pattern_compile_any_case(text, &s->re) : -EINVAL;

	s->text = text;
	s->compiled = !rc;
	return rc == -ENOMEM ? rc : 0;
}

static bool
finds(const struct search *s, const char *name)
{
	return s->text && (strcasestr(name, s->text) ||
	                   (s->compiled && pattern_matches(&s->re, name)));
}

/* --- names ---------------------------------------------------------------- */

static int
split(const char *text, struct list *out)
{
	while (text) {
		size_t n = strcspn(text, ";");

		if (!n || out->n == SIFT_NAMES)
			return -EINVAL;
		out->names[out->n].p = text;
		out->names[out->n++].n = n;
		text = text[n] ? text + n + 1 : NULL;
	}
	return 0;
}

/* Compares a name with one of a list, in which colons stand for semicolons. */
static bool
is_name(const char *name, const char *listed, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name[i] != listed[i] &&
		    !(name[i] == ';' && listed[i] == ':'))
			return false;
	return true;
}

/* Returns the bits of the names in a list that equal a name of n bytes. */
static uint32_t
bits_of(const struct list *l, const char *name, size_t n)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->names[i].n == n && is_name(name, l->names[i].p, n))
			bits |= UINT32_C(1) << i;
	return bits;
}

static struct marks
marks_of(const struct work *w, const char *name)
{
	const struct sift_frames *f = &w->by->frames;
	size_t n = strlen(name);

	return (struct marks){
		bits_of(&w->focus, name, n) |
			(finds(&w->focus_text, name) ? FOUND : 0),
		f->bits ? f->bits(f->of, name) : 0,
		bits_of(&w->hide, name, n) != 0 || finds(&w->hide_text, name),
		bits_of(&w->fold, name, n) != 0 || finds(&w->fold_text, name)};
}

static void
add_marks(struct marks *to, const struct marks *m)
{
	to->focus |= m->focus;
	to->bits |= m->bits;
	to->hidden |= m->hidden;
}

/* True for a frame whose package is folded. */
static bool
is_packed(const struct work *w, uint32_t location, const char *name,
          const char *file)
{
	size_t n;
	const char *package;

	if (!w->fold_package.n)
		return false;
	package = package_of(w->p, location, name, file, &n);
	return bits_of(&w->fold_package, package, n) != 0;
}

/* True for a function whose kind is folded. */
static bool
is_of_kind(struct work *w, uint32_t location, uint32_t function,
           const char *name, const char *file)
{
	struct kind_mark *m = &w->kind_marks[function];
	const char *module;

	if (!w->kinds)
		return false;
	module = profile_module(w->p, location);
	if (m->module != module)
		*m = (struct kind_mark){
			module, (w->kinds & kinds_of(name, module, file)) != 0};
	return m->folded;
}

/* Returns 0 while there is time; the clock is read once in TIMED rows. */
static int
go_on(const struct work *w, uint32_t row)
{
	return row % TIMED == 0 && w->by->end_ns &&
	                       clock_mono_ns() >= w->by->end_ns
	               ? -ETIME
	               : 0;
}

static const char *
name_of(const struct profile *p, const struct function *f)
{
	return profile_text(p, f->name ? f->name : f->system_name);
}

static int
mark_functions(struct work *w)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->p->nfunctions && !(rc = go_on(w, i)); i++)
		w->functions[i] =
			marks_of(w, name_of(w->p, &w->p->functions[i]));
	return rc;
}

/* Marks a location by the name that views make of its address. */
static int
mark_address(struct work *w, uint32_t location)
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

	profile_frame_name(w->p, location, 0, &name);
	if (buf_err(&name))
		return buf_err(&name);
	w->locations[location] = marks_of(w, buf_str(&name));
	w->gone[location] =
		w->locations[location].folded ||
		(w->kinds & kinds_of(buf_str(&name),
	                             profile_module(w->p, location), "")) ||
		is_packed(w, location, buf_str(&name), "");
	return 0;
}

/* Marks a location by its lines, and marks the lines that are folded. */
static void
mark_lines(struct work *w, uint32_t location)
{
	const struct profile *p = w->p;
	const struct location *l = &p->locations[location];
	uint32_t left = 0;

	for (uint32_t k = l->line0; k < l->line0 + l->nlines; k++) {
		const uint32_t i = p->lines[k].function;
		const struct function *f = &p->functions[i];
		const char *name = name_of(p, f),
			   *file = profile_text(p, f->file);

		add_marks(&w->locations[location], &w->functions[i]);
		w->folds[k] = *name &&
		              (w->functions[i].folded ||
		               is_of_kind(w, location, i, name, file) ||
		               is_packed(w, location, name, file));
		left += !w->folds[k];
		w->any_folds |= w->folds[k];
	}
	w->gone[location] = !left;
}

static int
mark_locations(struct work *w)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->p->nlocations && !rc; i++) {
		rc = go_on(w, i);
		if (!rc && !w->p->locations[i].nlines)
			rc = mark_address(w, i);
		else if (!rc)
			mark_lines(w, i);
	}
	return rc;
}

/* --- removing ------------------------------------------------------------- */

/* Removes the lines that are folded. Only a location that leaves all stacks
 * has no line left. */
static void
fold_lines(struct work *w)
{
	struct profile *p = w->p;
	uint32_t n = 0;

	if (!w->any_folds)
		return;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location *l = &p->locations[i];
		uint32_t from = l->line0, to = from + l->nlines;

		l->line0 = n;
		for (uint32_t k = from; k < to; k++)
			if (!w->folds[k])
				p->lines[n++] = p->lines[k];
		l->nlines = n - l->line0;
	}
	p->nlines = n;
}

/* Compares the name of a frame. A bare address has no name in the profile: it
 * is compared by the name that views give it. */
static bool
is_frame(const struct profile *p, uint32_t location, uint32_t line,
         const char *name)
{
	CLEANUP_BUF struct buf made = BUF_INIT(BUF_MAX_SMALL);
	const struct location *l = &p->locations[location];
	const struct function *f;

	if (l->nlines) {
		f = &p->functions[p->lines[l->line0 + line].function];
		if (f->name)
			return !strcmp(profile_text(p, f->name), name);
	}
	profile_frame_name(p, location, line, &made);
	return !buf_err(&made) && !strcmp(buf_str(&made), name);
}

/* True if the outermost frames of a stack are the functions that were named. */
static bool
is_under(const struct work *w, const struct sample *s)
{
	const struct profile *p = w->p;
	uint32_t at = 0;

	for (uint32_t i = s->nstack; i-- > 0 && at < w->by->nunder;) {
		uint32_t location = p->stack[s->stack0 + i];

		for (uint32_t k = profile_frames(p, location);
		     k-- > 0 && at < w->by->nunder; at++)
			if (!is_frame(p, location, k, w->by->under[at]))
				return false;
	}
	return at == w->by->nunder;
}

static bool
has_label(const struct profile *p, const struct sample *s,
          const struct sift_label *l)
{
	for (uint32_t i = s->label0; i < s->label0 + s->nlabels; i++)
		if (!strcmp(profile_text(p, p->labels[i].key), l->key) &&
		    !strcmp(profile_text(p, p->labels[i].str), l->value))
			return true;
	return false;
}

/* True if a sample has one of the values requested for a key. */
static bool
has_value(const struct work *w, const struct sample *s, const char *key)
{
	const struct sift *by = w->by;

	for (uint32_t i = 0; i < by->nlabels; i++)
		if (!strcmp(by->labels[i].key, key) &&
		    has_label(w->p, s, &by->labels[i]))
			return true;
	return false;
}

static bool
has_labels(const struct work *w, const struct sample *s)
{
	for (uint32_t i = 0; i < w->by->nlabels; i++)
		if (!has_value(w, s, w->by->labels[i].key))
			return false;
	return true;
}

static bool
is_kept(const struct work *w, const struct sample *s)
{
	const uint32_t wanted = ((UINT32_C(1) << w->focus.n) - 1) |
	                        (w->focus_text.text ? FOUND : 0);
	struct marks all = {0};

	if (!has_labels(w, s))
		return false;
	for (uint32_t i = 0; i < s->nstack; i++)
		add_marks(&all, &w->locations[w->p->stack[s->stack0 + i]]);
	return !all.hidden && all.focus == wanted &&
	       (!w->by->frames.bits || all.bits == w->by->frames.all) &&
	       is_under(w, s);
}

/* Moves a sample to row n, and its stack and labels after those of earlier
 * rows. */
static void
move_sample(struct work *w, const struct sample *from, uint32_t row, uint32_t n)
{
	struct profile *p = w->p;
	struct sample to = {p->nstack, 0, p->nlabels, from->nlabels};

	for (uint32_t i = 0; i < from->nstack; i++) {
		uint32_t at = p->stack[from->stack0 + i];

		if (!w->gone[at])
			p->stack[p->nstack++] = at;
	}
	to.nstack = p->nstack - to.stack0;
	if (from->nlabels)
		memmove(&p->labels[p->nlabels], &p->labels[from->label0],
		        from->nlabels * sizeof(*p->labels));
	p->nlabels += from->nlabels;
	memmove(&p->values[(size_t)n * p->ntypes],
	        &p->values[(size_t)row * p->ntypes],
	        p->ntypes * sizeof(*p->values));
	p->samples[n] = to;
}

/* Rows of samples follow one another, so what is kept moves forward. */
static void
keep_samples(struct work *w)
{
	struct profile *p = w->p;
	uint32_t n = 0, all = p->nsamples;

	p->nstack = p->nlabels = 0;
	for (uint32_t i = 0; i < all; i++) {
		struct sample s = p->samples[i];

		if (is_kept(w, &s))
			move_sample(w, &s, i, n++);
	}
	p->nsamples = n;
}

int
sift_profile(struct profile *p, const struct sift *s)
{
	CLEANUP(work_done)
	struct work w = {
		.p = p,
		.by = s,
		.functions = calloc(p->nfunctions + 1, sizeof(*w.functions)),
		.kind_marks = calloc(p->nfunctions + 1, sizeof(*w.kind_marks)),
		.locations = calloc(p->nlocations + 1, sizeof(*w.locations)),
		.folds = calloc(p->nlines + 1, sizeof(*w.folds)),
		.gone = calloc(p->nlocations + 1, sizeof(*w.gone)),
	};
	int rc = split(s->focus, &w.focus)
	                 ?: split(s->hide, &w.hide)
	                 ?: split(s->fold, &w.fold)
	                 ?: split(s->fold_package, &w.fold_package);

	if (!rc && s->fold_kind)
		rc = kinds_parse(s->fold_kind, &w.kinds);
	rc = rc ?: search_init(&w.focus_text, s->focus_text);
	rc = rc ?: search_init(&w.hide_text, s->hide_text);
	rc = rc ?: search_init(&w.fold_text, s->fold_text);
	if (rc)
		return rc;
	if (!w.functions || !w.kind_marks || !w.locations || !w.folds ||
	    !w.gone)
		return -ENOMEM;
	rc = mark_functions(&w) ?: mark_locations(&w);
	if (rc)
		return rc;
	keep_samples(&w);
	fold_lines(&w);
	return w.kinds & KIND_BIT(KIND_recursion) ? recursion_fold(p) : 0;
}
