#include "beam_modules.h"

#include "base/rows.h"
#include "capture/host/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS  UINT64_C(50000000)  /* between two looks at the list */
#define MAX_TEXT ((uint64_t)8 << 20) /* bytes of a description */

/* Offsets and sizes in a description. */
enum { KIND, START = 8, RANGES = 16, CODE_BYTES = 20, NAME = 24, HEAD = 32 };
enum { KIND_MODULE = 1 };
enum { FROM, TO = 4, LINES = 8, RANGE_NAME = 12, RANGE_TEXT = 14, RANGE = 16 };
enum { LINE_FROM, LINE = 4, FILE_NAME = 8, LINE_TEXT = 10, LINE_ROW = 12 };

struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};
struct row {
	uint64_t next, before, text, size;
};

void
beam_modules_done(struct beam_modules *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->rows[i].bytes);
	free(m->rows);
	*m = (struct beam_modules){.descriptor = m->descriptor};
}

/* --- the list ------------------------------------------------------------- */

static uint16_t
u16(const uint8_t *p, size_t at)
{
	return (uint16_t)(p[at] | p[at + 1] << 8);
}

static int
by_start(const void *a, const void *b)
{
	const struct beam_module *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Reads the rows of the list. Detects cycles as Brent does: keeps the row seen
 * at each power of two. */
static int
read_rows(const struct memory *memory, uint64_t at, struct beam_modules *out)
{
	uint32_t cap = 0;
	uint64_t met = 0;
	struct row row;
	int rc;

	for (; at && at != met && out->n < BEAM_MAX_MODULES; at = row.next) {
		if (!(out->n & (out->n - 1)))
			met = at;
		if (memory_copy(memory, at, &row, sizeof(row)))
			return -ESTALE;
		rc = ROWS_ROOM(out->rows, cap, out->n, 1);
		if (rc)
			return rc;
		out->rows[out->n++] = (struct beam_module){
			.row = at, .text = row.text, .size = row.size};
	}
	return 0;
}

/* Reads the addresses of the modules' code, and drops rows of other kinds. */
static int
read_heads(const struct memory *memory, struct beam_modules *m)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {0};
	CLEANUP_FREE struct memory_piece *pieces =
		calloc(m->n + 1, sizeof(*pieces));
	uint32_t n = 0;
	int rc;

	if (!pieces)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n; i++)
		pieces[i] = (struct memory_piece){.addr = m->rows[i].text,
		                                  .len = HEAD};
	rc = memory_read(memory, pieces, m->n, &batch);
	for (uint32_t i = 0; i < m->n && !rc; i++) {
		struct beam_module *row = &m->rows[i];
		const uint8_t *p = pieces[i].p;

		if (pieces[i].got < HEAD || memory_u32(p, KIND) != KIND_MODULE)
			continue;
		row->start = memory_u64(p, START);
		row->end = row->start + memory_u32(p, CODE_BYTES);
		row->ranges = memory_u32(p, RANGES);
		row->name = u16(p, NAME);
		m->rows[n++] = *row;
	}
	m->n = rc ? 0 : n;
	qsort(m->rows, m->n, sizeof(*m->rows), by_start);
	return rc;
}

/* Moves descriptions that were read to the rows of a new list. */
static void
keep_descriptions(struct beam_modules *was, struct beam_modules *now)
{
	for (uint32_t i = 0, k = 0; i < now->n; i++) {
		struct beam_module *to = &now->rows[i];

		while (k < was->n && was->rows[k].start < to->start)
			k++;
		if (k == was->n || was->rows[k].row != to->row ||
		    was->rows[k].text != to->text ||
		    was->rows[k].size != to->size)
			continue;
		to->bytes = TAKE(was->rows[k].bytes);
		now->bytes += to->bytes ? to->size : 0;
	}
}

/* Reads the list if it has changed. */
static void
look(struct beam_modules *m, const struct jit_space *space)
{
	CLEANUP(beam_modules_done) struct beam_modules now = {0};
	struct descriptor d;

	if (m->looked_ns && space->now_ns - m->looked_ns < LOOK_NS)
		return;
	m->looked_ns = space->now_ns;
	if (memory_copy(space->memory, m->descriptor, &d, sizeof(d)) ||
	    d.version != 1 || d.first == m->first)
		return;
	if (read_rows(space->memory, d.first, &now) ||
	    read_heads(space->memory, &now))
		return;
	keep_descriptions(m, &now);
	now.descriptor = m->descriptor;
	now.looked_ns = m->looked_ns;
	now.first = d.first;
	beam_modules_done(m);
	*m = TAKE(now);
}

static struct beam_module *
search(const struct beam_modules *m, uint64_t pc)
{
	uint32_t low = 0, high = m->n;

	while (low < high) {
		const uint32_t mid = (low + high) / 2;
		struct beam_module *row = &m->rows[mid];

		if (pc < row->start)
			high = mid;
		else if (pc >= row->end)
			low = mid + 1;
		else
			return row;
	}
	return NULL;
}

struct beam_module *
beam_modules_find(struct beam_modules *m, const struct jit_space *space,
                  uint64_t pc)
{
	struct beam_module *found = search(m, pc);

	if (found && space->now_ns - m->looked_ns < JIT_AGE_NS)
		return found;
	look(m, space);
	return search(m, pc);
}

/* --- functions ------------------------------------------------------------ */

struct text {
	const uint8_t *p;
	size_t n;
};

/* Skips a row of this size, and the text after it. */
static bool
take(struct text *t, size_t size, size_t text)
{
	if (t->n < size + text)
		return false;
	t->p += size + text;
	t->n -= size + text;
	return true;
}

/* Goes through the lines of a function, and keeps the last one at or before an
 * offset. */
static bool
find_line(struct text *t, uint32_t lines, uint32_t offset,
          struct beam_function *out)
{
	uint32_t best = 0;

	for (; lines; lines--) {
		const uint8_t *p = t->p;
		uint32_t from;

		if (t->n < LINE_ROW || !take(t, LINE_ROW, u16(p, FILE_NAME)))
			return false;
		from = memory_u32(p, LINE_FROM);
		if (from > offset || from < best || !u16(p, FILE_NAME))
			continue;
		best = from;
		out->line = memory_u32(p, LINE);
		out->file = (const char *)p + LINE_TEXT;
		out->file_length = u16(p, FILE_NAME) - 1u;
	}
	return true;
}

int
beam_description(const uint8_t *p, size_t n, uint32_t name, uint32_t ranges,
                 uint32_t offset, struct beam_function *out)
{
	struct text t = {p, n};

	if (!take(&t, HEAD, name))
		return -ESTALE;
	for (; ranges; ranges--) {
		const uint8_t *at = t.p;
		struct beam_function f = {.line = 0};

		if (t.n < RANGE || !u16(at, RANGE_NAME) ||
		    !take(&t, RANGE, u16(at, RANGE_NAME)) ||
		    !find_line(&t, memory_u32(at, LINES), offset, &f))
			return -ESTALE;
		if (offset < memory_u32(at, FROM) ||
		    offset >= memory_u32(at, TO))
			continue;
		f.name = (const char *)at + RANGE_TEXT;
		f.name_length = u16(at, RANGE_NAME) - 1u;
		*out = f;
		return 0;
	}
	return -ESTALE;
}

static int
read_description(struct beam_modules *m, const struct memory *memory,
                 struct beam_module *of)
{
	int rc;

	if (of->size > MAX_TEXT || of->size < HEAD ||
	    m->bytes + of->size > BEAM_MAX_BYTES)
		return -E2BIG;
	of->bytes = malloc(of->size);
	if (!of->bytes)
		return -ENOMEM;
	rc = memory_copy(memory, of->text, of->bytes, of->size);
	if (rc) {
		free(of->bytes);
		of->bytes = NULL;
		return rc;
	}
	m->bytes += of->size;
	return 0;
}

int
beam_modules_function(struct beam_modules *m, const struct jit_space *space,
                      struct beam_module *of, uint64_t pc,
                      struct beam_function *out)
{
	int rc = of->bytes ? 0 : read_description(m, space->memory, of);

	return rc
	               ?: beam_description(of->bytes, of->size, of->name,
	                                   of->ranges,
	                                   (uint32_t)(pc - of->start), out);
}
