/* The tables of one thread, column by column. */
#include "base/json_out.h"
#include "firefox_thread.h"

#include <errno.h>
#include <string.h>

#define MAX_SAFE (UINT64_C(1) << 53) /* what JSON numbers hold exactly */
#define BLOCKED  "[blocked]"

static void
put_index(struct buf *b, uint32_t v)
{
	if (v == FX_NONE)
		json_put_null(b, NULL);
	else
		json_put_int(b, NULL, v);
}

/* A column with the same in every row. */
static void
put_same(struct buf *b, const char *key, const char *value, uint32_t n)
{
	json_open(b, key, '[');
	for (uint32_t i = 0; i < n; i++)
		json_put_raw(b, NULL, value, "");
	json_close(b, ']');
}

void
fx_put_samples(struct fx *x, const struct fx_sample *s, uint32_t n,
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
	uint32_t mapping = fx_mapping(x, frame);
	const char *file;

	if (frame == fx_blocked(x))
		return FX_BLOCKED;
	if (mapping == PROFILE_NONE)
		return FX_USER;
	file = strings_get(x->p->strings, x->p->mappings[mapping].file, NULL);
	return !strncmp(file, "[kernel", 7) ? FX_KERNEL : FX_USER;
}

/* What a column of frameTable holds for a frame; -1: null, but as address. */
static int64_t
frame_value(const struct fx *x, int column, uint32_t frame)
{
	const struct location *l;
	uint32_t line;

	if (column == 0)
		return x->funcs.row[fx_func_key(x, frame)];
	if (column == 1)
		return category_of(x, frame);
	if (frame == fx_blocked(x))
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

/* The name of a row of funcTable, in stringArray. */
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

/* Source file of a function, or null. */
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

/* By row of funcTable: the mapping of its first frame. */
static uint32_t *
func_mappings(const struct fx *x)
{
	uint32_t *of = malloc(((size_t)x->funcs.n + 1) * sizeof(*of));

	if (!of)
		return NULL;
	memset(of, 0xFF, ((size_t)x->funcs.n + 1) * sizeof(*of));
	for (uint32_t i = 0; i < x->frames.n; i++) {
		uint32_t key = x->frames.keys[i];
		uint32_t *m = &of[x->funcs.row[fx_func_key(x, key)]];

		if (*m == PROFILE_NONE)
			*m = fx_mapping(x, key);
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

/* One row for each function: where the lowest address seen of it is. */
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
		const char *path = strings_get(x->p->strings,
		                               x->p->mappings[m].file, NULL);
		const char *slash = strrchr(path, '/');

		path = slash ? slash + 1 : path;
		r = fx_string(x, path, strlen(path), &id);
		json_put_int(b, NULL, id);
	}
	json_close(b, ']');
	put_same(b, "host", "null", n);
	put_same(b, "type", "1", n);
	json_close(b, '}');
	return r;
}

int
fx_put_tables(struct fx *x)
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
