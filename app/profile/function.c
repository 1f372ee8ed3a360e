#include "profile/function.h"

#include <errno.h>
#include <string.h>

/* Bits of a location: the function is in it, and is its innermost frame. */
enum { IN = 1, LEAF = 2 };

static bool
is_named(const struct profile *p, uint32_t location, uint32_t line,
         const char *name)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	profile_frame_name(p, location, line, &text);
	return !strcmp(buf_str(&text), name);
}

static void
mark(const struct profile *p, const char *name, unsigned char *marks)
{
	for (uint32_t i = 0; i < p->nlocations; i++)
		for (uint32_t k = 0; k < profile_frames(p, i); k++)
			if (is_named(p, i, k, name))
				marks[i] |= k ? IN : IN | LEAF;
}

static int
add(struct function_cost *c, int64_t value, int64_t samples, unsigned marks)
{
	bool bad = __builtin_add_overflow(c->all, value, &c->all);

	bad |= __builtin_add_overflow(c->all_samples, samples, &c->all_samples);
	if (marks & IN) {
		c->total += value; /* no more than all, in the end */
		c->samples += samples;
	}
	if (marks & LEAF)
		c->self += value;
	return bad ? -EOVERFLOW : 0;
}

/* What the function is to a sample's stack. */
static unsigned
marks_of(const struct profile *p, const struct sample *s,
         const unsigned char *marks)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < s->nstack; i++) {
		unsigned m = marks[p->stack[s->stack0 + i]];

		found |= m & IN;
		if (!i)
			found |= m & LEAF;
	}
	return found;
}

int
function_cost(const struct profile *p, uint32_t type, const char *name,
              struct function_cost *out)
{
	CLEANUP_FREE unsigned char *marks =
		calloc(1, (size_t)p->nlocations + 1);
	struct function_cost c = {0};
	int rc = 0;

	if (!marks)
		return -ENOMEM;
	if (type >= p->ntypes)
		return -EINVAL;
	mark(p, name, marks);
	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		const int64_t *v = &p->values[(size_t)i * p->ntypes];

		rc = add(&c, v[type], v[0], marks_of(p, &p->samples[i], marks));
	}
	if (!rc)
		*out = c;
	return rc;
}
