/*
 * Methods: their names, and the lines of their byte codes.
 *
 *   Source   OpenJDK src/hotspot/share/oops/constMethod.hpp, constantPool.hpp,
 *            symbol.hpp; code/compressedStream.cpp, utilities/unsigned5.hpp
 */
#include "hotspot.h"

#include "base/rows.h"
#include "capture/host/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME   512  /* bytes of a class, a method or a file */
#define MAX_LINES  8192 /* bytes of a line table */
#define HEAD_BYTES 128
#define LINES_HEAD 3 /* bytes before a kept line table */

static uint64_t
get(const struct hotspot *h, const struct memory_piece *p,
    enum hotspot_field field, size_t size)
{
	return hotspot_get(p->p, p->got, h->tables.field[field], size);
}

static bool
has(const struct hotspot *h, enum hotspot_field field)
{
	return h->tables.field[field] != HOTSPOT_LACKS;
}

/* --- numbers -------------------------------------------------------------- */

bool
hotspot_number(const uint8_t *p, size_t n, bool offset, size_t *at,
               uint32_t *out)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint8_t b;

		if (*at >= n)
			return false;
		b = p[(*at)++];
		if (offset && !b)
			return false;
		sum += (uint32_t)(b - offset) << (6 * i);
		if (b < 192)
			break;
	}
	*out = sum;
	return true;
}

static bool
signed_number(const uint8_t *p, size_t n, bool offset, size_t *at, int32_t *out)
{
	uint32_t v;

	if (!hotspot_number(p, n, offset, at, &v))
		return false;
	*out = (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
	return true;
}

/*
 * Finds the line of a byte code: the last row that begins at it or before.
 *   Shape    table holds the form of its numbers, the size of the code, and
 *            the compressed rows
 */
uint32_t
hotspot_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at)
{
	const bool offset = n && table[0];
	uint32_t best = 0;
	int64_t bci = 0, row = 0, row_bci = -1;
	size_t i = LINES_HEAD;

	(void)first_line;
	while (i < n && table[i]) {
		const uint8_t b = table[i++];

		if (b == 0xff) {
			int32_t by, more;

			if (!signed_number(table, n, offset, &i, &by) ||
			    !signed_number(table, n, offset, &i, &more))
				break;
			bci += by;
			row += more;
		} else {
			bci += b >> 3;
			row += b & 7;
		}
		if (bci <= at && bci > row_bci && row > 0 &&
		    row <= UINT16_MAX) {
			row_bci = bci;
			best = (uint32_t)row;
		}
	}
	return best;
}

/* --- reading -------------------------------------------------------------- */

/* The data read to name a method. */
struct reading {
	const struct hotspot *h;
	const struct jit_space *space;
	struct memory_batch batch;
	uint64_t const_method, pool;
	uint32_t code_size, const_size, name_index;
	uint32_t nlines;
	bool has_lines;
};

static void
reading_done(struct reading *r)
{
	memory_batch_done(&r->batch);
}

static int
read_pieces(struct reading *r, struct memory_piece *p, size_t n)
{
	return memory_read(r->space->memory, p, n, &r->batch);
}

/* Reads a Method and its ConstMethod. */
static int
read_heads(struct reading *r, uint64_t method)
{
	const struct hotspot_tables *t = &r->h->tables;
	struct memory_piece p = {.addr = method, .len = HEAD_BYTES};
	const uint64_t flag =
		(uint64_t)(t->constant[HOTSPOT_CONSTANT_LINES]
	                           ? t->constant[HOTSPOT_CONSTANT_LINES]
	                           : t->constant[HOTSPOT_CONSTANT_LINES_OLD]);
	uint64_t flags;
	int rc;

	if (method % 8)
		return -ESTALE;
	rc = read_pieces(r, &p, 1);
	if (rc)
		return rc;
	r->const_method = get(r->h, &p, HOTSPOT_METHOD_CONST, 8);
	if (!r->const_method || r->const_method % 8)
		return -ESTALE;
	p = (struct memory_piece){.addr = r->const_method, .len = HEAD_BYTES};
	rc = read_pieces(r, &p, 1);
	if (rc)
		return rc;
	r->pool = get(r->h, &p, HOTSPOT_CONST_POOL, 8);
	r->code_size = (uint32_t)get(r->h, &p, HOTSPOT_CONST_CODE_SIZE, 2);
	r->const_size = (uint32_t)get(r->h, &p, HOTSPOT_CONST_SIZE, 4);
	r->name_index = (uint32_t)get(r->h, &p, HOTSPOT_CONST_NAME, 2);
	flags = has(r->h, HOTSPOT_CONST_FLAGS)
	                ? get(r->h, &p, HOTSPOT_CONST_FLAGS, 4)
	                : get(r->h, &p, HOTSPOT_CONST_FLAGS_OLD, 2);
	r->has_lines = flag && (flags & flag);
	return r->pool && r->pool % 8 == 0 && r->name_index &&
	                       r->const_size < 1 << 16
	               ? 0
	               : -ESTALE;
}

/* Copies a symbol; false: it can't be one. The address in the name of a hidden
 * class, such as that of a lambda, differs in each process, and is left out. */
static bool
copy_symbol(const struct hotspot *h, const struct memory_piece *p, bool dots,
            struct buf *out)
{
	const uint64_t length = get(h, p, HOTSPOT_SYMBOL_LENGTH, 2);
	const uint64_t body = h->tables.field[HOTSPOT_SYMBOL_BODY];

	if (!length || length > MAX_NAME || body > p->got ||
	    p->got - body < length)
		return false;
	for (uint64_t i = 0; i < length; i++) {
		const char c = (char)p->p[body + i];

		if ((unsigned char)c < ' ')
			return false;
		if (c == '+' && dots)
			break;
		buf_putc(out, dots && c == '/' ? '.' : c);
	}
	return true;
}

/* The parts of a method's name, in the order in which they are read. */
enum part { HOLDER, NAME, FILE_INDEX, LINES, PARTS };
enum text { CLASS, METHOD, SOURCE, TEXTS };

static int
read_parts(struct reading *r, struct memory_piece *p)
{
	const struct hotspot_tables *t = &r->h->tables;
	const uint64_t entries = r->pool + t->size[HOTSPOT_SIZE_CONSTANT_POOL];
	const uint64_t lines = r->const_method +
	                       t->size[HOTSPOT_SIZE_CONST_METHOD] +
	                       r->code_size;
	const uint64_t end = r->const_method + (uint64_t)r->const_size * 8;

	p[HOLDER] = (struct memory_piece){.addr = r->pool, .len = HEAD_BYTES};
	p[NAME] = (struct memory_piece){
		.addr = entries + (uint64_t)r->name_index * 8, .len = 8};
	p[LINES] = (struct memory_piece){.addr = lines};
	if (r->has_lines && end > lines)
		p[LINES].len = (uint32_t)(end - lines < MAX_LINES ? end - lines
		                                                  : MAX_LINES);
	return read_pieces(r, p, PARTS);
}

static int
read_texts(struct reading *r, const struct memory_piece *p,
           struct memory_piece *texts)
{
	const struct hotspot *h = r->h;
	const struct hotspot_tables *t = &h->tables;
	const uint64_t entries = r->pool + t->size[HOTSPOT_SIZE_CONSTANT_POOL];
	const uint64_t holder = get(h, &p[HOLDER], HOTSPOT_POOL_HOLDER, 8);
	const uint64_t length = get(h, &p[HOLDER], HOTSPOT_POOL_LENGTH, 4);
	uint64_t file = has(h, HOTSPOT_POOL_FILE)
	                        ? get(h, &p[HOLDER], HOTSPOT_POOL_FILE, 2)
	                        : 0;
	struct memory_piece more[] = {
		{.addr = holder + t->field[HOTSPOT_KLASS_NAME], .len = 8},
		{.addr = entries + file * 8, .len = file ? 8 : 0},
	};
	int rc;

	if (!holder || r->name_index >= length || file >= length)
		return -ESTALE;
	if (!has(h, HOTSPOT_POOL_FILE) && has(h, HOTSPOT_KLASS_FILE)) {
		uint16_t index = 0;

		rc = memory_copy(r->space->memory,
		                 holder + t->field[HOTSPOT_KLASS_FILE], &index,
		                 sizeof(index));
		if (!rc && index && index < length)
			more[1] = (struct memory_piece){
				.addr = entries + (uint64_t)index * 8,
				.len = 8};
	}
	rc = read_pieces(r, more, ARRAY_LEN(more));
	if (rc)
		return rc;
	texts[CLASS] = (struct memory_piece){
		.addr = hotspot_get(more[0].p, more[0].got, 0, 8),
		.len = MAX_NAME + 16};
	texts[METHOD] = (struct memory_piece){
		.addr = hotspot_get(p[NAME].p, p[NAME].got, 0, 8),
		.len = MAX_NAME + 16};
	texts[SOURCE] = (struct memory_piece){
		.addr = more[1].len ? hotspot_get(more[1].p, more[1].got, 0, 8)
	                            : 0,
		.len = more[1].len ? MAX_NAME + 16 : 0};
	return read_pieces(r, texts, TEXTS);
}

/* Appends the line table of a method, as hotspot_line() reads it. */
static void
put_lines(const struct reading *r, const struct memory_piece *p,
          struct buf *out)
{
	buf_putc(out, r->h->tables.major >= 20);
	buf_putc(out, (char)r->code_size);
	buf_putc(out, (char)(r->code_size >> 8));
	if (p->got)
		buf_add(out, p->p, p->got);
}

static int
keep(struct reading *r, const struct memory_piece *parts,
     const struct memory_piece *texts, uint32_t *out)
{
	CLEANUP_BUF struct buf packed =
		BUF_INIT(3 * (MAX_NAME + 2) + LINES_HEAD + MAX_LINES);
	struct interp_function f = {.line = hotspot_line};
	size_t lines;

	if (!copy_symbol(r->h, &texts[CLASS], true, &packed))
		return -ESTALE;
	buf_putc(&packed, '.');
	if (!copy_symbol(r->h, &texts[METHOD], false, &packed))
		return -ESTALE;
	buf_putc(&packed, '\0');
	f.file = (uint32_t)packed.len;
	if (texts[SOURCE].len)
		(void)copy_symbol(r->h, &texts[SOURCE], false, &packed);
	buf_putc(&packed, '\0');
	f.lines = (uint32_t)packed.len;
	put_lines(r, &parts[LINES], &packed);
	if (buf_err(&packed))
		return buf_err(&packed);
	lines = packed.len - f.lines;
	f.nlines = (uint32_t)lines;
	f.first_line =
		hotspot_line((const uint8_t *)packed.p + f.lines, lines, 0, 0);
	return interp_function_keep(r->space->codes, &packed, f, out);
}

int
hotspot_keep_name(const struct jit_space *space, const char *name,
                  uint32_t *out)
{
	CLEANUP_BUF struct buf packed = BUF_INIT(MAX_NAME + 16);
	struct interp_function f = {.line = hotspot_line};

	for (; *name; name++)
		buf_putc(&packed, (unsigned char)*name < ' ' ? '?' : *name);
	buf_putc(&packed, '\0');
	f.file = (uint32_t)packed.len - 1;
	f.lines = (uint32_t)packed.len;
	return buf_err(&packed)
	               ? buf_err(&packed)
	               : interp_function_keep(space->codes, &packed, f, out);
}

static int
read_method(struct hotspot *h, const struct jit_space *space, uint64_t method,
            struct hotspot_method *out)
{
	CLEANUP(reading_done) struct reading r = {.h = h, .space = space};
	struct memory_piece parts[PARTS] = {{.addr = 0}}, texts[TEXTS];
	int rc = read_heads(&r, method);

	if (rc)
		return rc;
	if (out->const_method == r.const_method && out->pool == r.pool &&
	    out->code_size == r.code_size && out->name_index == r.name_index)
		return 0;
	rc = read_parts(&r, parts);
	if (!rc)
		rc = read_texts(&r, parts, texts);
	if (!rc)
		rc = keep(&r, parts, texts, &out->function);
	if (rc)
		return rc;
	out->const_method = r.const_method;
	out->pool = r.pool;
	out->code_size = r.code_size;
	out->name_index = r.name_index;
	out->code = r.const_method + h->tables.size[HOTSPOT_SIZE_CONST_METHOD];
	return 0;
}

int
hotspot_method(struct hotspot *h, const struct jit_space *space,
               uint64_t method, struct hotspot_method **out)
{
	uint32_t i;
	int rc;

	rc = pairs_intern(&h->method_keys, 0, method, &i);
	h->full |= rc == -E2BIG;
	if (!rc)
		rc = ROWS_REACH(h->methods, h->methods_cap, i);
	if (rc)
		return rc;
	*out = &h->methods[i];
	(*out)->used = true;
	if ((*out)->const_method && !(*out)->stale)
		return 0;
	rc = jit_may_look(space) ? read_method(h, space, method, *out)
	                         : -ESTALE;
	if (rc)
		(*out)->const_method = 0;
	else
		(*out)->stale = false;
	return rc;
}

/* Checks the methods that were used; others are checked when they are used
 * again. */
void
hotspot_methods_refresh(struct hotspot *h, const struct jit_space *space)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	const uint32_t n = h->method_keys.n < h->methods_cap ? h->method_keys.n
	                                                     : h->methods_cap;
	CLEANUP_FREE struct memory_piece *p = calloc(n + 1, sizeof(*p));

	for (uint32_t i = 0; i < n; i++) {
		struct hotspot_method *m = &h->methods[i];

		if (p && m->used && !m->stale)
			p[i] = (struct memory_piece){
				.addr = h->method_keys.rows[i].b +
			                h->tables.field[HOTSPOT_METHOD_CONST],
				.len = 8};
		m->stale = true;
		m->used = false;
	}
	if (!p || memory_read(space->memory, p, n, &batch))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (p[i].len && h->methods[i].const_method ==
		                        hotspot_get(p[i].p, p[i].got, 0, 8))
			h->methods[i].stale = false;
}
