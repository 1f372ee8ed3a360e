/*
 * Writes samples by function and line, as compilers read them
 * (profile/autofdo.h), from the lines of the profile.
 *
 * Only the innermost function of a stack is counted: its callers waited.
 * Samples without lines, or without the line at which their function begins,
 * are left out.
 */
#include "exports.h"

#include "base/utf8.h"
#include "profile/autofdo.h"

#include <string.h>

#define MOST_OFFSET 0xFFFF /* where LLVM cuts them */

/* Returns the name in the symbol table, by which compilers know a function. */
static const char *
name_of(const struct profile *p, const struct line *l)
{
	const struct function *f = &p->functions[l->function];

	return profile_text(p, f->system_name ? f->system_name : f->name);
}

/* Finds the place of a line in its function; false if it is not known. */
static bool
place_of(const struct profile *p, const struct line *l,
         struct autofdo_frame *out)
{
	int64_t start = p->functions[l->function].start_line;
	const char *name = name_of(p, l);

	if (start <= 0 || l->line < start || l->line - start > MOST_OFFSET ||
	    !utf8_printable(name, strlen(name)) || strchr(name, ' '))
		return false;
	*out = (struct autofdo_frame){name, (uint32_t)(l->line - start), 0};
	return true;
}

static int
add_sample(struct autofdo *a, const struct profile *p, const struct sample *s,
           int64_t samples)
{
	struct autofdo_frame frames[PROFILE_MAX_LINES];
	const struct location *l;

	if (!s->nstack || samples <= 0)
		return 0;
	l = &p->locations[p->stack[s->stack0]];
	if (!l->nlines || l->nlines > PROFILE_MAX_LINES)
		return 0;
	for (uint32_t i = 0; i < l->nlines; i++)
		if (!place_of(p, &p->lines[l->line0 + i],
		              &frames[l->nlines - 1 - i]))
			return 0;
	return autofdo_add(a, frames, l->nlines, samples, 1, 0);
}

/* Returns the column that counts samples, or else the tree's column. */
static uint32_t
counted(const struct tree *t)
{
	const struct profile *p = t->profile;
	uint32_t at = profile_type_index(p, "samples");

	return at != PROFILE_NONE ? at : t->type;
}

int
export_autofdo(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	CLEANUP_AUTOFDO struct autofdo *a = autofdo_new();
	const struct profile *p = t->profile;
	uint32_t column = counted(t);
	int64_t all = 0;
	int r = a ? 0 : -ENOMEM;

	(void)meta;
	for (uint32_t i = 0; i < p->nsamples && !r; i++) {
		int64_t samples = p->values[(size_t)i * p->ntypes + column];

		all += samples;
		r = add_sample(a, p, &p->samples[i], samples);
	}
	return r ? (out->err = r) : autofdo_write(a, all, out);
}
