#include "profile/function.h"

#include <errno.h>
#include <string.h>

/* Marks of a location or of a node's stack: the function is in it; it is the
 * innermost frame. */
enum { IN = 1, LEAF = 2 };

static bool
is_named(const struct profile *p, uint32_t function, const char *name)
{
	const struct function *f = &p->functions[function];
	uint32_t id = f->name ? f->name : f->system_name;

	return id && !strcmp(profile_text(p, id), name);
}

/* Compares the name of a frame that has no function, or whose function has no
 * name. */
static bool
is_called(const struct profile *p, uint32_t location, uint32_t line,
          const char *name)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	profile_frame_name(p, location, line, &text);
	return !strcmp(buf_str(&text), name);
}

static bool
is_nameless(const struct profile *p, const struct location *l, uint32_t line)
{
	const struct function *f =
		line < l->nlines
			? &p->functions[p->lines[l->line0 + line].function]
			: NULL;

	return !f || (!f->name && !f->system_name);
}

/* Marks each location. */
static unsigned char *
marks_new(const struct profile *p, const char *name)
{
	unsigned char *all =
		calloc(1, (size_t)p->nlocations + p->nfunctions + 1);
	unsigned char *named = all ? all + p->nlocations : NULL;

	for (uint32_t i = 0; all && i < p->nfunctions; i++)
		named[i] = is_named(p, i, name);
	for (uint32_t i = 0; all && i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];

		for (uint32_t k = 0; k < profile_frames(p, i); k++)
			if (is_nameless(p, l, k)
			            ? is_called(p, i, k, name)
			            : named[p->lines[l->line0 + k].function])
				all[i] |= k ? IN : IN | LEAF;
	}
	return all;
}

/* Marks each node. */
static unsigned char *
node_marks_new(const struct packed *k, const unsigned char *marks)
{
	unsigned char *all = calloc(1, (size_t)k->nnodes + 1);

	for (uint32_t i = 1; all && i < k->nnodes; i++)
		all[i] = (all[k->nodes[i].parent] & IN) |
		         marks[k->nodes[i].location];
	return all;
}

static int
add(struct function_cost *c, int64_t value, int64_t samples, unsigned marks)
{
	bool bad = __builtin_add_overflow(c->all, value, &c->all);

	bad |= __builtin_add_overflow(c->all_samples, samples, &c->all_samples);
	if (marks & IN) {
		c->total += value; /* cannot overflow: c->total is at most the
		                      sum of all values */
		c->samples += samples;
	}
	if (marks & LEAF)
		c->self += value;
	return bad ? -EOVERFLOW : 0;
}

/* Returns the marks of a sample's stack. */
static unsigned
marks_of(const struct packed *k, const struct sample *s,
         const unsigned char *marks, const unsigned char *node_marks)
{
	const uint32_t *stack = k->p->stack + s->stack0;
	unsigned found;

	if (k->nodes)
		return node_marks[*stack];
	found = s->nstack ? marks[*stack] : 0;
	for (uint32_t i = 1; i < s->nstack; i++)
		found |= marks[stack[i]] & IN;
	return found;
}

int
function_cost(const struct packed *k, uint32_t type, const char *name,
              struct function_cost *out)
{
	const struct profile *p = k->p;
	CLEANUP_FREE unsigned char *marks = marks_new(p, name);
	CLEANUP_FREE unsigned char *node_marks =
		marks ? node_marks_new(k, marks) : NULL;
	struct function_cost c = {0};
	int rc = 0;

	if (!node_marks)
		return -ENOMEM;
	if (type >= p->ntypes)
		return -EINVAL;
	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		const int64_t *v = &p->values[(size_t)i * p->ntypes];

		rc = add(&c, v[type], v[0],
		         marks_of(k, &p->samples[i], marks, node_marks));
	}
	if (!rc)
		*out = c;
	return rc;
}
