#include "firefox_thread.h"

#include "base/hash.h"
#include "base/json_out.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>

#define MAX_SAFE (UINT64_C(1) << 53) /* exact in JSON */
#define BLOCKED  "[blocked]"

static uint32_t
blocked_frame(const struct fx *x)
{
	return x->frame0[x->p->nlocations];
}

/* --- keys and rows -------------------------------------------------------- */

static uint32_t
mapping_of(const struct fx *x, uint32_t frame)
{
	return frame == blocked_frame(x)
	               ? PROFILE_NONE
	               : x->p->locations[x->location[frame]].mapping;
}

/* Returns the key of a frame's function, of its location if it has none, or of
 * "[blocked]". */
static uint32_t
func_key(const struct fx *x, uint32_t frame)
{
	const struct profile *p = x->p;
	uint32_t at, line;

	if (frame == blocked_frame(x))
		return p->nfunctions + p->nlocations;
	at = x->location[frame];
	line = frame - x->frame0[at];
	if (line >= p->locations[at].nlines)
		return p->nfunctions + at;
	return p->lines[p->locations[at].line0 + line].function;
}

int
fx_string(struct fx *x, const char *s, size_t n, uint32_t *out)
{
	return strings_add(x->strings, s, n, out);
}

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

/* Finds or adds the thread's row for a key. Returns true if it is new. */
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

/* --- tables --------------------------------------------------------------- */

static void
put_index(struct buf *b, uint32_t v)
{
	if (v == FX_NONE)
		json_put_null(b, NULL);
	else
		json_put_int(b, NULL, v);
}

/* Writes a column with the same value in every row. */
static void
put_same(struct buf *b, const char *key, const char *value, uint32_t n)
{
	json_open(b, key, '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_raw(b, NULL, value, "");
	json_close(b, ']');
}

static void
put_samples(struct fx *x, const struct fx_sample *s, uint32_t n,
            const uint32_t *stacks, bool cpu)
{
	struct buf *b = x->out;

	json_open(b, "samples", '{');
	json_put_int(b, "length", n);
	json_put_text(b, "weightType", x->weight_type);
	json_open(b, "stack", '[');
	for (uint32_t i = 0; i < n; i++)
		put_index(b, stacks[i]);
	json_close(b, ']');
	json_open(b, "time", '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_real(b, NULL, s[i].time_ms);
	json_close(b, ']');
	json_open(b, "weight", '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_real(b, NULL, s[i].weight);
	json_close(b, ']');
	if (cpu) {
		json_open(b, "threadCPUDelta", '[');
		for (uint32_t i = 0; i < n; i++)
			json_put_int(b, NULL, (int64_t)(s[i].cpu_ns / 1000));
		json_close(b, ']');
	}
	json_close(b, '}');
}

static void
put_stack_table(struct fx *x)
{
	struct buf *b = x->out;

	json_open(b, "stackTable", '{');
	json_put_int(b, "length", x->nstacks);
	json_open(b, "prefix", '[');
	for (uint32_t i = 0; i < x->nstacks; i++)
		put_index(b, x->stacks[i].prefix);
	json_close(b, ']');
	json_open(b, "frame", '[');
	for (uint32_t i = 0; i < x->nstacks; i++)
		put_index(b, x->stacks[i].frame);
	json_close(b, ']');
	json_close(b, '}');
}

static enum firefox_category
category_of(const struct fx *x, uint32_t frame)
{
	uint32_t mapping = mapping_of(x, frame);
	const char *file;

	if (frame == blocked_frame(x))
		return FX_BLOCKED;
	if (mapping == PROFILE_NONE)
		return FX_USER;
	file = profile_text(x->p, x->p->mappings[mapping].file);
	return !strncmp(file, "[kernel", 7) ? FX_KERNEL : FX_USER;
}

/* Returns a frame's value in a column of frameTable; -1 stands for null, except
 * in address. */
static int64_t
frame_value(const struct fx *x, int column, uint32_t frame)
{
	const struct location *l;
	uint32_t line;

	if (column == 0)
		return x->funcs.row[func_key(x, frame)];
	if (column == 1)
		return category_of(x, frame);
	if (frame == blocked_frame(x))
		return column == 4 ? 0 : -1;
	l = &x->p->locations[x->location[frame]];
	line = frame - x->frame0[x->location[frame]];
	switch (column) {
	case 2: /* line */
		return line < l->nlines && x->p->lines[l->line0 + line].line > 0
		               ? x->p->lines[l->line0 + line].line
		               : -1;
	case 3: /* address */
		return l->mapping == PROFILE_NONE || l->address >= MAX_SAFE
		               ? -1
		               : (int64_t)l->address;
	case 4: /* inlineDepth: 0 for the outermost */
		return profile_frames(x->p, x->location[frame]) - 1 - line;
	default: /* nativeSymbol: of the outermost */
		return l->nlines
		               ? (int64_t)x->funcs.row
		                         [x->p->lines[l->line0 + l->nlines - 1]
		                                  .function]
		               : -1;
	}
}

static void
put_frame_table(struct fx *x)
{
	static const char *const names[] = {"func",        "category",
	                                    "line",        "address",
	                                    "inlineDepth", "nativeSymbol"};
	struct buf *b = x->out;
	uint32_t n = x->frames.n;

	json_open(b, "frameTable", '{');
	json_put_int(b, "length", n);
	for (int c = 0; c < (int)ARRAY_LEN(names); c++) {
		json_open(b, names[c], '[');
		for (uint32_t i = 0; i < n; i++) {
			int64_t v = frame_value(x, c, x->frames.keys[i]);

			if (v < 0 && c != 3)
				json_put_null(b, NULL);
			else
				json_put_int(b, NULL, v);
		}
		json_close(b, ']');
	}
	put_same(b, "subcategory", "0", n);
	put_same(b, "column", "null", n);
	put_same(b, "innerWindowID", "null", n);
	json_close(b, '}');
}

/* Finds the name of a function in stringArray. */
static int
func_name(struct fx *x, uint32_t key, uint32_t *out)
{
	const struct profile *p = x->p;
	CLEANUP_BUF struct buf name = BUF_INIT(STRINGS_MAX_BYTES / 4);

	if (key == p->nfunctions + p->nlocations)
		return fx_string(x, BLOCKED, strlen(BLOCKED), out);
	if (key < p->nfunctions) {
		const struct function *f = &p->functions[key];
		size_t n;
		const char *s = strings_get(
			p->strings, f->name ? f->name : f->system_name, &n);

		return fx_string(x, n ? s : "?", n ? n : 1, out);
	}
	profile_frame_name(p, key - p->nfunctions, 0, &name);
	return buf_err(&name) ? buf_err(&name)
	                      : fx_string(x, name.p, name.len, out);
}

static int
put_names(struct fx *x, const char *key)
{
	int r = 0;

	json_open(x->out, key, '[');
	for (uint32_t i = 0; i < x->funcs.n && !r; i++) {
		uint32_t name = 0;

		r = func_name(x, x->funcs.keys[i], &name);
		json_put_int(x->out, NULL, name);
	}
	json_close(x->out, ']');
	return r;
}

/* Writes the column fileName: the source file of each function, or null. */
static int
put_files(struct fx *x)
{
	const struct profile *p = x->p;
	int r = 0;

	json_open(x->out, "fileName", '[');
	for (uint32_t i = 0; i < x->funcs.n && !r; i++) {
		uint32_t key = x->funcs.keys[i], id = FX_NONE;

		if (key < p->nfunctions && p->functions[key].file) {
			size_t n;
			const char *s = strings_get(p->strings,
			                            p->functions[key].file, &n);

			r = fx_string(x, s, n, &id);
		}
		put_index(x->out, id);
	}
	json_close(x->out, ']');
	return r;
}

/* Finds the mapping of the first frame of each row of funcTable. */
static uint32_t *
func_mappings(const struct fx *x)
{
	uint32_t *of = malloc(((size_t)x->funcs.n + 1) * sizeof(*of));

	if (!of)
		return NULL;
	memset(of, 0xFF, ((size_t)x->funcs.n + 1) * sizeof(*of));
	for (uint32_t i = 0; i < x->frames.n; i++) {
		uint32_t key = x->frames.keys[i];
		uint32_t *m = &of[x->funcs.row[func_key(x, key)]];

		if (*m == PROFILE_NONE)
			*m = mapping_of(x, key);
	}
	return of;
}

static int
put_func_table(struct fx *x, const uint32_t *mappings)
{
	struct buf *b = x->out;
	uint32_t n = x->funcs.n;
	int r;

	json_open(b, "funcTable", '{');
	json_put_int(b, "length", n);
	r = put_names(x, "name");
	if (!r)
		r = put_files(x);
	json_open(b, "resource", '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_int(b, NULL,
		             mappings[i] == PROFILE_NONE
		                     ? -1
		                     : (int64_t)x->resources.row[mappings[i]]);
	json_close(b, ']');
	put_same(b, "isJS", "false", n);
	put_same(b, "relevantForJS", "false", n);
	put_same(b, "lineNumber", "null", n);
	put_same(b, "columnNumber", "null", n);
	json_close(b, '}');
	return r;
}

/* Writes a row for each function, with its lowest address seen. */
static int
put_native_symbols(struct fx *x, const uint32_t *mappings)
{
	struct buf *b = x->out;
	uint32_t n = x->funcs.n;
	int r;

	json_open(b, "nativeSymbols", '{');
	json_put_int(b, "length", n);
	json_open(b, "address", '[');
	for (uint32_t i = 0; i < n; i++) {
		uint32_t key = x->funcs.keys[i];
		uint64_t at = key < x->p->nfunctions ? x->entry[key] : 0;

		json_put_int(b, NULL, at < MAX_SAFE ? (int64_t)at : 0);
	}
	json_close(b, ']');
	put_same(b, "functionSize", "null", n);
	json_open(b, "libIndex", '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_int(b, NULL,
		             mappings[i] == PROFILE_NONE ? 0 : mappings[i]);
	json_close(b, ']');
	r = put_names(x, "name");
	json_close(b, '}');
	return r;
}

static int
put_resources(struct fx *x)
{
	struct buf *b = x->out;
	uint32_t n = x->resources.n;
	int r = 0;

	json_open(b, "resourceTable", '{');
	json_put_int(b, "length", n);
	json_open(b, "lib", '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_int(b, NULL, x->resources.keys[i]);
	json_close(b, ']');
	json_open(b, "name", '[');
	for (uint32_t i = 0; i < n && !r; i++) {
		uint32_t m = x->resources.keys[i], id = 0;
		const char *path =
			path_name(profile_text(x->p, x->p->mappings[m].file));

		r = fx_string(x, path, strlen(path), &id);
		json_put_int(b, NULL, id);
	}
	json_close(b, ']');
	put_same(b, "host", "null", n);
	put_same(b, "type", "1", n);
	json_close(b, '}');
	return r;
}

static int
put_tables(struct fx *x)
{
	CLEANUP_FREE uint32_t *mappings = func_mappings(x);
	int r;

	if (!mappings)
		return -ENOMEM;
	put_stack_table(x);
	put_frame_table(x);
	r = put_func_table(x, mappings);
	if (!r)
		r = put_native_symbols(x, mappings);
	return r ? r : put_resources(x);
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

/*
 * Finds or adds the stack of prefix and frame. If it is the first to be added
 * after its prefix, it is the next row; only others are in the hash table.
 */
static int
stack_of(struct fx *x, uint32_t frame, uint32_t *at)
{
	uint32_t below = *at + 1; /* 0 for a root, whose prefix is FX_NONE */
	uint32_t found = x->nstacks;
	int r = stacks_room(x) ?: table_room(&x->stack_index);

	if (r)
		return r;
	x->stacks[found] = (struct fx_stack){*at, frame};
	if (below < x->nstacks && same_stack(x, below)) {
		found = below;
	} else if (below < x->nstacks) {
		uint64_t hash = hash_pair(*at, frame);

		found = table_find(&x->stack_index, hash, same_stack, x);
		if (found == TABLE_NONE) {
			found = x->nstacks;
			table_put(&x->stack_index, hash, found);
		}
	}
	x->nstacks += found == x->nstacks;
	*at = found;
	return 0;
}

static int
push_frame(struct fx *x, uint32_t key, uint32_t *at)
{
	uint32_t frame, func, resource, mapping = mapping_of(x, key);

	if (column_add(&x->frames, x->thread, key, &frame)) {
		(void)column_add(&x->funcs, x->thread, func_key(x, key), &func);
		if (mapping != PROFILE_NONE)
			(void)column_add(&x->resources, x->thread, mapping,
			                 &resource);
	}
	return stack_of(x, frame, at);
}

/* Finds or adds the stack of a sample; FX_NONE if it has no frames. */
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
		r = push_frame(x, blocked_frame(x), &at);
	*out = at;
	return r;
}

/* Finds the stacks of all samples. Each row of the profile is walked once. */
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

/* Adds functions that occur only as the outer function of an inlined frame. */
static void
add_outer_functions(struct fx *x)
{
	for (uint32_t i = 0; i < x->frames.n; i++) {
		uint32_t key = x->frames.keys[i], row;
		const struct location *l;

		if (key == blocked_frame(x))
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
	put_samples(x, s, n, stacks, cpu);
	return put_tables(x);
}
