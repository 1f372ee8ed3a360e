#include "python_object.h"

#include "python.h"

#include <errno.h>
#include <string.h>

#define REFUSED_CHAR 0xfffd

/* --- code ----------------------------------------------------------------- */

const struct python_version_row python_versions[] = {
#define PYTHON(minor, frame, line, file, name, lines, begin, tested) \
	[minor] = {frame, line, file, name, lines, begin},
#include "python_versions.def"
#undef PYTHON
};

enum { OB_TYPE = 8, OB_SIZE = 16 };

void
python_code_head(const uint8_t p[PYTHON_CODE_BYTES], enum python_version v,
                 struct python_code_head *out)
{
	const struct python_version_row *l = &python_versions[v];

	*out = (struct python_code_head){
		.type = memory_u64(p, OB_TYPE),
		.name = memory_u64(p, l->name),
		.file = memory_u64(p, l->file),
		.lines = memory_u64(p, l->lines),
		.begin = l->begin,
		.size = l->begin ? (memory_u64(p, OB_SIZE) & UINT32_MAX) * 2
	                         : PYTHON_MAX_CODE,
		.first_line = memory_u32(p, l->first_line),
	};
}

/* --- text ----------------------------------------------------------------- */

static void
put_utf8(struct buf *out, uint32_t c)
{
	if (c >= 0xd800 && (c < 0xe000 || c > 0x10ffff))
		c = REFUSED_CHAR;
	if (c < 0x80) {
		buf_putc(out, (char)(c < ' ' ? '?' : c));
		return;
	}
	if (c < 0x800) {
		buf_putc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buf_putc(out, (char)(0xe0 | c >> 12));
		} else {
			buf_putc(out, (char)(0xf0 | c >> 18));
			buf_putc(out, (char)(0x80 | (c >> 12 & 63)));
		}
		buf_putc(out, (char)(0x80 | (c >> 6 & 63)));
	}
	buf_putc(out, (char)(0x80 | (c & 63)));
}

static uint32_t
char_at(const uint8_t *p, uint32_t kind)
{
	uint32_t c = 0;

	memcpy(&c, p, kind);
	return c;
}

/* The bits of state are interned:2, kind:3, compact:1, ascii:1. */
int
python_string(const uint8_t *p, size_t n, enum python_version v,
              struct buf *out)
{
	size_t at = v <= PYTHON_311 ? 48 : 40, start = out->len;
	uint32_t state, kind;
	uint64_t length;

	if (n < at)
		return -EBADMSG;
	length = memory_u64(p, 16);
	state = memory_u32(p, 32);
	kind = state >> 2 & 7;
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return -EBADMSG;
	if (!(state >> 6 & 1))
		at += v <= PYTHON_311 ? 24 : 16;
	for (; length && at + kind <= n; length--, at += kind) {
		if (out->len - start >= PYTHON_MAX_TEXT)
			break;
		put_utf8(out, char_at(p + at, kind));
	}
	return 0;
}

bool
python_bytes_size(const uint8_t *p, size_t n, uint64_t *out)
{
	if (n < PYTHON_BYTES_HEAD || memory_u64(p, OB_SIZE) > PYTHON_MAX_LINES)
		return false;
	*out = memory_u64(p, OB_SIZE);
	return true;
}

/* --- lines ---------------------------------------------------------------- */

struct table {
	const uint8_t *p, *end;
};

static uint32_t
varint(struct table *t)
{
	uint32_t v = 0;
	uint8_t b = 64;

	for (unsigned shift = 0; b & 64 && t->p < t->end; shift += 6) {
		b = *t->p++;
		if (shift < 32)
			v |= (uint32_t)(b & 63) << shift;
	}
	return v;
}

static int64_t
signed_varint(struct table *t)
{
	uint32_t v = varint(t);

	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

enum { LONG = 14, NO_COLUMNS = 13, ONE_LINE = 10, NO_LINE = 15 };

/* Skips the rest of an entry, and returns its difference in lines. */
static int64_t
line_delta(struct table *t, uint8_t code)
{
	int64_t delta = 0;

	if (code == LONG || code == NO_COLUMNS)
		delta = signed_varint(t);
	else if (code >= ONE_LINE && code != NO_LINE)
		delta = code - ONE_LINE;
	/* The other bytes of an entry lack the bit of a first byte. */
	while (t->p < t->end && !(*t->p & 128))
		t->p++;
	return delta;
}

static uint32_t
line_or_none(int64_t line)
{
	return line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
}

/* Up to 3.9, pairs: bytes after which the line changes, and by how much. */
static uint32_t
line_of_changes(struct table t, int64_t line, uint64_t at)
{
	for (uint64_t next = 0; t.end - t.p >= 2; t.p += 2) {
		next += t.p[0];
		if (next > at)
			break;
		line += (int8_t)t.p[1];
	}
	return line_or_none(line);
}

/* In 3.10, pairs: the bytes of a range, and by how much its line differs from
 * that of the range before; -128 is a range without a line. */
static uint32_t
line_of_ranges(struct table t, int64_t line, uint64_t at)
{
	for (uint64_t next = 0; t.end - t.p >= 2; t.p += 2) {
		int8_t delta = (int8_t)t.p[1];

		next += t.p[0];
		if (delta != INT8_MIN)
			line += delta;
		if (at < next)
			return delta == INT8_MIN ? 0 : line_or_none(line);
	}
	return 0;
}

static uint32_t
line_of_locations(struct table t, int64_t line, uint64_t at)
{
	uint64_t next = 0;
	uint8_t head, code;

	while (t.p < t.end) {
		head = *t.p++;
		code = head >> 3 & 15;
		line += line_delta(&t, code);
		next += (head & 7) + 1u;
		if (at >= next)
			continue;
		return code == NO_LINE ? 0 : line_or_none(line);
	}
	return 0;
}

uint32_t
python_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at)
{
	struct table t = {table, table + n};
	enum python_version v;

	if (!n)
		return 0;
	v = *t.p++;
	if (v >= PYTHON_311)
		return line_of_locations(t, first_line, at);
	return v == PYTHON_310
	               ? line_of_ranges(t, first_line, 2 * (uint64_t)at)
	               : line_of_changes(t, first_line, 2 * (uint64_t)at);
}
