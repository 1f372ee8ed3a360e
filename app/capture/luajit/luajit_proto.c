/*
 * Prototypes of functions: their names, files and lines.
 *
 *   Source   LuaJIT 2.1, lj_obj.h: struct GCproto, GCstr; lj_debug.c; lj_bc.h
 */
#include "luajit.h"

#include <errno.h>
#include <string.h>

#define IS_PROTO 7   /* the type of such objects */
#define MAX_TEXT 256 /* bytes; cut there */
#define MAX_FILE 1024
#define WINDOW   256  /* instructions before a call that are looked at */
#define NAMES    4096 /* bytes of names of variables that are read */
#define HEAD     24   /* bytes of a string before its text */
#define LENGTH   20

bool
luajit_proto(uint64_t at, const uint8_t p[LUAJIT_PROTO],
             struct luajit_proto *out)
{
	*out = (struct luajit_proto){
		.at = at,
		.chunk = memory_u64(p, 64),
		.constants = memory_u64(p, 32),
		.lines = memory_u64(p, 80),
		.upvalues = memory_u64(p, 88),
		.variables = memory_u64(p, 96),
		.size = memory_u32(p, 12),
		.first_line = memory_u32(p, 72),
		.nlines = memory_u32(p, 76),
	};
	return p[9] == IS_PROTO && out->size && out->size < 1u << 26;
}

/* --- text ----------------------------------------------------------------- */

/* Reads as many bytes as there are, up to n. */
static size_t
read_some(const struct memory *m, uint64_t at, uint8_t *out, size_t n)
{
	struct memory_piece p = {.addr = at, .len = (uint32_t)n};
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};

	if (memory_read(m, &p, 1, &batch))
		return 0;
	memcpy(out, p.p, p.got);
	return p.got;
}

static int
put_string(const struct memory *m, uint64_t at, size_t most, struct buf *out)
{
	uint8_t bytes[HEAD + MAX_FILE];
	size_t n = read_some(m, at, bytes, HEAD + most);

	if (n < HEAD)
		return -ESTALE;
	n -= HEAD;
	if (n > memory_u32(bytes, LENGTH))
		n = memory_u32(bytes, LENGTH);
	interp_put_text(bytes + HEAD, n, out);
	return 0;
}

/* --- the name by which a function is called ------------------------------- */

/* Opcodes; some are the ends of ranges. */
enum {
	ISTC = 12,
	ISFC,
	MOV = 18,
	LAST_UNARY = 43,
	KNIL,
	UGET,
	FNEW = 51,
	GGET = 54,
	TGETV = 56,
	TGETS,
	TGETR = 59,
	TSETM = 63,
	CALLM = 65,
	CALLT = 68,
	ITERC,
	ITERN,
	ISNEXT = 72,
	FORI = 77,
	JITERL = 84
};

static uint32_t
op_of(uint32_t ins)
{
	return ins & 255;
}

static uint32_t
a_of(uint32_t ins)
{
	return ins >> 8 & 255;
}

static uint32_t
d_of(uint32_t ins)
{
	return ins >> 16;
}

/* True if the instruction writes its slot A and no other one. */
static bool
writes_one(uint32_t op)
{
	return op == ISTC || op == ISFC || (op >= MOV && op <= LAST_UNARY) ||
	       op == UGET || (op >= FNEW && op <= GGET) ||
	       (op >= TGETV && op <= TGETR);
}

/* True if the instruction may write its slot A and those above it. */
static bool
writes_all(uint32_t op)
{
	return op == KNIL || op == TSETM || (op >= CALLM && op <= ISNEXT) ||
	       (op >= FORI && op <= JITERL);
}

static uint32_t
uleb(const uint8_t **p, const uint8_t *end)
{
	uint32_t v = 0;

	for (unsigned shift = 0; *p < end && shift < 32; shift += 7) {
		const uint8_t b = *(*p)++;

		v |= (uint32_t)(b & 127) << shift;
		if (b < 128)
			break;
	}
	return v;
}

/* Appends the name of the local variable in a slot, at an instruction. A name
 * of one byte stands for a variable that the compiler made. */
static bool
put_local(const struct memory *m, const struct luajit_proto *p, uint32_t at,
          uint32_t slot, struct buf *out)
{
	enum { END, FIRST_NAME = 7 };
	uint8_t bytes[NAMES];
	const uint8_t *c = bytes, *end;
	uint32_t from = 0;

	if (!p->variables)
		return false;
	end = bytes + read_some(m, p->variables, bytes, sizeof(bytes));
	while (c < end && *c != END) {
		const uint8_t *name = c;
		const bool has_name = *c >= FIRST_NAME;
		uint32_t length;

		c = has_name ? memchr(c, 0, (size_t)(end - c)) : c;
		if (!c)
			return false;
		c++;
		from += uleb(&c, end);
		length = uleb(&c, end);
		if (from > at)
			return false;
		if (at - from < length && !slot--) {
			if (has_name)
				interp_put_text(
					name,
					strnlen((const char *)name, MAX_TEXT),
					out);
			return has_name;
		}
	}
	return false;
}

static int
put_upvalue(const struct memory *m, const struct luajit_proto *p, uint32_t i,
            struct buf *out)
{
	uint8_t bytes[NAMES];
	const uint8_t *c = bytes, *end;

	if (!p->upvalues)
		return -ENOENT;
	end = bytes + read_some(m, p->upvalues, bytes, sizeof(bytes));
	for (; c && c < end && i; i--) {
		c = memchr(c, 0, (size_t)(end - c));
		c += c != NULL;
	}
	if (!c || c >= end || !memchr(c, 0, (size_t)(end - c)))
		return -ENOENT;
	interp_put_text(c, strnlen((const char *)c, MAX_TEXT), out);
	return 0;
}

/* Appends a string constant: strings lie below others, in reverse order. */
static int
put_constant(const struct memory *m, const struct luajit_proto *p, uint32_t i,
             struct buf *out)
{
	uint64_t at;
	int rc = memory_copy(m, p->constants - 8 * ((uint64_t)i + 1), &at, 8);

	return rc ? rc : put_string(m, at, MAX_TEXT, out);
}

int
luajit_callee(const struct memory *m, const struct luajit_proto *p,
              const uint32_t *code, size_t n, uint32_t first, struct buf *out)
{
	uint32_t op = n ? op_of(code[n - 1]) : 0, slot;

	if (op < CALLM || op > ITERN)
		return -ENOENT;
	slot = a_of(code[n - 1]) - (op == ITERC ? 3 : 0);
	if (put_local(m, p, first + (uint32_t)n - 1, slot, out))
		return 0;
	for (size_t i = n - 1; i-- > 0;) {
		const uint32_t ins = code[i];

		op = op_of(ins);
		if (writes_all(op) && slot >= a_of(ins) &&
		    (op != KNIL || slot <= d_of(ins)))
			return -ENOENT;
		if (!writes_one(op) || a_of(ins) != slot)
			continue;
		switch (op) {
		case MOV:
			slot = d_of(ins);
			if (put_local(m, p, first + (uint32_t)i, slot, out))
				return 0;
			continue;
		case GGET:
			return put_constant(m, p, d_of(ins), out);
		case TGETS:
			return put_constant(m, p, ins >> 16 & 255, out);
		case UGET:
			return put_upvalue(m, p, d_of(ins), out);
		default:
			return -ENOENT;
		}
	}
	return -ENOENT;
}

/* --- functions ------------------------------------------------------------ */

static int
put_called(const struct memory *m, const struct luajit_proto *caller,
           uint64_t next, struct buf *out)
{
	uint32_t code[WINDOW], at, first;
	int rc;

	if (!caller || !next)
		return -ENOENT;
	at = luajit_position(caller, next);
	first = at >= WINDOW ? at - WINDOW + 1 : 0;
	rc = memory_copy(m, caller->at + LUAJIT_PROTO + 4 * (uint64_t)first,
	                 code, 4 * (size_t)(at - first + 1));
	return rc ? rc
	          : luajit_callee(m, caller, code, at - first + 1, first, out);
}

/* Appends the name of a file. A chunk has one if its name begins with "@" or
 * "=". */
static int
put_file(const struct memory *m, const struct luajit_proto *p, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(2 * MAX_FILE);
	int rc = put_string(m, p->chunk, MAX_FILE, &text);

	if (rc)
		return rc;
	if (text.len && (*text.p == '@' || *text.p == '='))
		buf_add(out, text.p + 1, text.len - 1);
	else
		buf_puts(out, "[string]");
	return buf_err(out) ? -ESTALE : 0;
}

/* Names a function that nothing in Lua calls by a name. */
static void
put_anonymous(const struct luajit_proto *p, const char *file, struct buf *out)
{
	const char *slash = strrchr(file, '/');

	if (p->first_line)
		buf_addf(out, "%s:%u", slash ? slash + 1 : file, p->first_line);
	else
		buf_puts(out, "(main chunk)");
}

static uint32_t
width_of(const struct luajit_proto *p)
{
	return p->nlines < 256 ? 1 : p->nlines < 65536 ? 2 : 4;
}

/* Appends a table of the lines of instructions: the bytes of a row, and then,
 * for each instruction but the first, how many lines it is after the first
 * line. */
static int
put_lines(const struct memory *m, const struct luajit_proto *p, struct buf *out)
{
	const uint32_t width = width_of(p);
	CLEANUP_FREE uint8_t *bytes = NULL;
	const size_t n = (size_t)width * (p->size - 1);
	int rc;

	if (!p->lines || p->size > LUAJIT_MAX_CODE || p->size < 2)
		return 0;
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	rc = memory_copy(m, p->lines, bytes, n);
	if (rc)
		return rc;
	buf_putc(out, (char)width);
	buf_add(out, bytes, n);
	return 0;
}

uint32_t
luajit_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at)
{
	uint32_t v = 0;
	size_t width = n ? table[0] : 0;

	if (!at || !width || width > 4 || 1 + width * at > n)
		return first_line;
	memcpy(&v, table + 1 + width * (at - 1), width);
	return first_line + v;
}

int
luajit_function(const struct memory *m, struct interp_codes *c,
                const struct luajit_proto *p, const struct luajit_proto *caller,
                uint64_t next, uint32_t *named, uint32_t *out)
{
	CLEANUP_BUF struct buf file = BUF_INIT(2 * MAX_FILE);
	CLEANUP_BUF struct buf texts =
		BUF_INIT(4 * MAX_FILE + 4 * LUAJIT_MAX_CODE);
	struct interp_function f = {.line = luajit_line,
	                            .first_line = p->first_line};
	int rc = put_file(m, p, &file);

	if (rc)
		return rc;
	rc = put_called(m, caller, next, &texts);
	if (rc && rc != -ENOENT)
		return rc;
	*named = texts.len || !p->first_line;
	if (!texts.len)
		put_anonymous(p, buf_str(&file), &texts);
	buf_putc(&texts, '\0');
	f.file = (uint32_t)texts.len;
	buf_add(&texts, buf_str(&file), file.len);
	buf_putc(&texts, '\0');
	f.lines = (uint32_t)texts.len;
	rc = put_lines(m, p, &texts);
	f.nlines = (uint32_t)texts.len - f.lines;
	if (!rc && buf_err(&texts))
		rc = -ESTALE;
	return rc ? rc : interp_function_keep(c, &texts, f, out);
}
