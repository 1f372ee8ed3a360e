#include "firefox_thread.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

/* --- keys and rows -------------------------------------------------------- */

static int
column_init(struct fx_column *c, uint32_t nkeys)
{
	c->nkeys = nkeys;
	c->row = calloc((size_t)nkeys + 1, sizeof(*c->row));
	c->stamp = calloc((size_t)nkeys + 1, sizeof(*c->stamp));
	c->keys = calloc((size_t)nkeys + 1, sizeof(*c->keys));
	return c->row && c->stamp && c->keys ? 0 : -ENOMEM;
}

static void
column_done(struct fx_column *c)
{
	free(c->row);
	free(c->stamp);
	free(c->keys);
}

/* The thread's row of a key; true when it is new. */
static bool
column_add(struct fx_column *c, uint32_t stamp, uint32_t key, uint32_t *out)
{
	bool fresh = c->stamp[key] != stamp;

	if (fresh) {
		c->stamp[key] = stamp;
		c->row[key] = c->n;
		c->keys[c->n++] = key;
	}
	*out = c->row[key];
	return fresh;
}

uint32_t
fx_blocked(const struct fx *x)
{
	return x->frame0[x->p->nlocations];
}

/* A function's key, or that of a location without one, or of "[blocked]". */
uint32_t
fx_func_key(const struct fx *x, uint32_t frame)
{
	const struct profile *p = x->p;
	uint32_t at, line;

	if (frame == fx_blocked(x))
		return p->nfunctions + p->nlocations;
	at = x->location[frame];
	line = frame - x->frame0[at];
	if (line >= p->locations[at].nlines)
		return p->nfunctions + at;
	return p->lines[p->locations[at].line0 + line].function;
}

uint32_t
fx_mapping(const struct fx *x, uint32_t frame)
{
	return frame == fx_blocked(x)
	               ? PROFILE_NONE
	               : x->p->locations[x->location[frame]].mapping;
}

static int
find_entries(struct fx *x)
{
	const struct profile *p = x->p;

	x->entry = malloc(((size_t)p->nfunctions + 1) * sizeof(*x->entry));
	if (!x->entry)
		return -ENOMEM;
	memset(x->entry, 0xFF, ((size_t)p->nfunctions + 1) * sizeof(*x->entry));
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];
		uint64_t *e;

		if (!l->nlines)
			continue;
		e = &x->entry[p->lines[l->line0 + l->nlines - 1].function];
		if (l->address < *e)
			*e = l->address;
	}
	return 0;
}

static int
number_frames(struct fx *x)
{
	const struct profile *p = x->p;
	uint32_t n = 0;

	x->frame0 = calloc((size_t)p->nlocations + 1, sizeof(*x->frame0));
	if (!x->frame0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		x->frame0[i] = n;
		n += profile_frames(p, i);
	}
	x->frame0[p->nlocations] = n;
	x->location = calloc((size_t)n + 1, sizeof(*x->location));
	if (!x->location)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations; i++)
		for (uint32_t k = x->frame0[i]; k < x->frame0[i + 1]; k++)
			x->location[k] = i;
	return column_init(&x->frames, n + 1);
}

int
fx_init(struct fx *x, const struct profile *p, struct buf *out)
{
	int r;

	*x = (struct fx){.p = p, .out = out, .strings = strings_new()};
	r = x->strings ? number_frames(x) : -ENOMEM;
	if (!r)
		r = find_entries(x);
	if (!r)
		r = column_init(&x->funcs, p->nfunctions + p->nlocations + 1);
	if (!r)
		r = column_init(&x->resources, p->nmappings);
	for (int i = 0; !r && i < 2; i++)
		r = column_init(&x->rows[i], p->nsamples);
	return r;
}

void
fx_done(struct fx *x)
{
	strings_free(x->strings);
	free(x->frame0);
	free(x->location);
	free(x->entry);
	column_done(&x->frames);
	column_done(&x->funcs);
	column_done(&x->resources);
	column_done(&x->rows[0]);
	column_done(&x->rows[1]);
	free(x->stacks);
	table_done(&x->stack_index);
}

int
fx_string(struct fx *x, const char *s, size_t n, uint32_t *out)
{
	return strings_add(x->strings, s, n, out);
}

/* --- stacks --------------------------------------------------------------- */

static bool
same_stack(const void *key, uint32_t row)
{
	const struct fx *x = key;
	const struct fx_stack *want = &x->stacks[x->nstacks];

	return want->prefix == x->stacks[row].prefix &&
	       want->frame == x->stacks[row].frame;
}

static int
stacks_room(struct fx *x)
{
	uint32_t cap = x->stacks_cap ? x->stacks_cap * 2 : 1024;
	struct fx_stack *p;

	if (x->nstacks < x->stacks_cap)
		return 0;
	if (x->nstacks >= PROFILE_MAX_ROWS)
		return -E2BIG;
	p = realloc(x->stacks, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	x->stacks = p;
	x->stacks_cap = cap;
	return 0;
}

/* The stack of prefix and frame, made when it is the first of its kind. */
static int
stack_of(struct fx *x, uint32_t frame, uint32_t *at)
{
	uint64_t hash = hash_pair(*at, frame);
	uint32_t found;
	int r = stacks_room(x);

	if (!r)
		r = table_room(&x->stack_index);
	if (r)
		return r;
	x->stacks[x->nstacks] = (struct fx_stack){*at, frame};
	found = table_find(&x->stack_index, hash, same_stack, x);
	if (found == TABLE_NONE) {
		found = x->nstacks++;
		table_put(&x->stack_index, hash, found);
	}
	*at = found;
	return 0;
}

static int
push_frame(struct fx *x, uint32_t key, uint32_t *at)
{
	uint32_t frame, func, resource, mapping = fx_mapping(x, key);

	if (column_add(&x->frames, x->thread, key, &frame)) {
		(void)column_add(&x->funcs, x->thread, fx_func_key(x, key),
		                 &func);
		if (mapping != PROFILE_NONE)
			(void)column_add(&x->resources, x->thread, mapping,
			                 &resource);
	}
	return stack_of(x, frame, at);
}

/* The stack of a sample, FX_NONE for one without frames. */
static int
make_stack(struct fx *x, const struct fx_sample *s, uint32_t *out)
{
	const struct sample *row = &x->p->samples[s->row];
	uint32_t at = FX_NONE;
	int r = 0;

	for (uint32_t i = row->nstack; !r && i-- > 0;) {
		uint32_t l = x->p->stack[row->stack0 + i];

		for (uint32_t k = profile_frames(x->p, l); !r && k-- > 0;)
			r = push_frame(x, x->frame0[l] + k, &at);
	}
	if (!r && s->blocked)
		r = push_frame(x, fx_blocked(x), &at);
	*out = at;
	return r;
}

/* stacks[] of all samples; a row of the profile is walked once. */
static int
make_stacks(struct fx *x, const struct fx_sample *s, uint32_t n,
            uint32_t *stacks)
{
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct fx_column *c = &x->rows[s[i].blocked];

		if (c->stamp[s[i].row] != x->thread) {
			r = make_stack(x, &s[i], &c->row[s[i].row]);
			c->stamp[s[i].row] = x->thread;
		}
		stacks[i] = c->row[s[i].row];
	}
	return r;
}

/* Functions that frames name only as the one they were inlined into. */
static void
add_outer_functions(struct fx *x)
{
	for (uint32_t i = 0; i < x->frames.n; i++) {
		uint32_t key = x->frames.keys[i], row;
		const struct location *l;

		if (key == fx_blocked(x))
			continue;
		l = &x->p->locations[x->location[key]];
		if (l->nlines)
			(void)column_add(
				&x->funcs, x->thread,
				x->p->lines[l->line0 + l->nlines - 1].function,
				&row);
	}
}

int
fx_thread(struct fx *x, const struct fx_sample *s, uint32_t n, bool cpu)
{
	CLEANUP_FREE uint32_t *stacks = calloc((size_t)n + 1, sizeof(*stacks));
	int r = stacks ? 0 : -ENOMEM;

	x->thread++;
	x->nstacks = x->frames.n = x->funcs.n = x->resources.n = 0;
	table_done(&x->stack_index);
	if (!r)
		r = make_stacks(x, s, n, stacks);
	if (r)
		return r;
	add_outer_functions(x);
	fx_put_samples(x, s, n, stacks, cpu);
	return fx_put_tables(x);
}
