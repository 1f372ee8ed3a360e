/*
 * Objects of V8's heap: strings, and what describes a function.
 *
 *   Source   V8 src/objects/string.h, shared-function-info.tq, scope-info.tq
 */
#include "v8.h"

#include "base/utf8.h"
#include "capture/host/memory.h"

#include <errno.h>
#include <string.h>

#define MAX_DEPTH     8                   /* strings made of others */
#define MAX_SOURCE    ((uint64_t)1 << 20) /* characters searched */
#define CHUNK         4096                /* bytes read at once */
#define MAX_LOCALS    4096                /* of a function */
#define INLINE_LOCALS 75 /* more names are in a separate table */
#define FORM          7  /* bits of a string's type */
#define NARROW        8
#define DATA          8 /* after the resource: the address of its characters */

enum form { SEQUENTIAL, CONS, EXTERNAL, SLICED, THIN = 5 };

int
v8_words(const struct jit_space *space, uint64_t object, int64_t offset,
         uint64_t *out, size_t n)
{
	if (!v8_is_object(object))
		return -ESTALE;
	return memory_copy(space->memory, object - 1 + (uint64_t)offset, out,
	                   n * sizeof(*out));
}

int
v8_type(const struct v8 *v, const struct jit_space *space, uint64_t object,
        uint16_t *out)
{
	uint64_t map;
	int rc = v8_words(space, object, 0, &map, 1);

	if (rc)
		return rc;
	if (!v8_is_object(map))
		return -ESTALE;
	return memory_copy(space->memory,
	                   map - 1 + (uint64_t)v->image->field[V8_MAP_TYPE],
	                   out, sizeof(*out));
}

/* --- strings -------------------------------------------------------------- */

/*
 * Receives the characters of a string, piece by piece; returns false when it
 * needs no more.
 */
typedef bool chars_seen(void *arg, const uint8_t *p, uint64_t n, bool narrow);

struct reader {
	const struct v8 *v;
	const struct jit_space *space;
	chars_seen *seen;
	void *arg;
	uint64_t most; /* characters still to read */
	bool done;
};

static int
read_chars(struct reader *r, uint64_t at, uint64_t n, bool narrow)
{
	const size_t width = narrow ? 1 : 2;
	uint8_t chunk[CHUNK];

	while (n && r->most && !r->done) {
		uint64_t some = CHUNK / width;
		int rc;

		if (some > n)
			some = n;
		if (some > r->most)
			some = r->most;
		rc = memory_copy(r->space->memory, at, chunk, some * width);
		if (rc)
			return rc;
		r->done = !r->seen(r->arg, chunk, some, narrow);
		at += some * width;
		n -= some;
		r->most -= some;
	}
	return 0;
}

/* Reads n characters of a string from `first` on. */
static int read_string(struct reader *r, uint64_t string, uint64_t first,
                       uint64_t n, unsigned depth);

static int
read_cons(struct reader *r, uint64_t string, uint64_t first, uint64_t n,
          unsigned depth)
{
	const int32_t *field = r->v->image->field;
	uint64_t parts[2];
	uint32_t length;
	int rc = v8_words(r->space, string, field[V8_CONS_FIRST], &parts[0], 1)
	                 ?: v8_words(r->space, string, field[V8_CONS_SECOND],
	                             &parts[1], 1);

	if (!rc && !v8_is_object(parts[0]))
		rc = -ESTALE;
	if (!rc)
		rc = memory_copy(r->space->memory,
		                 parts[0] - 1 + (uint64_t)field[V8_LENGTH],
		                 &length, sizeof(length));
	if (!rc && first < length) {
		const uint64_t here = n < length - first ? n : length - first;

		rc = read_string(r, parts[0], first, here, depth);
		n -= here;
		first = length;
	}
	return rc || !n ? rc
	                : read_string(r, parts[1], first - length, n, depth);
}

static int
read_string(struct reader *r, uint64_t string, uint64_t first, uint64_t n,
            unsigned depth)
{
	const int32_t *field = r->v->image->field;
	uint64_t word;
	uint16_t type;
	bool narrow;
	int rc = depth ? v8_type(r->v, r->space, string, &type) : -ESTALE;

	if (rc || r->done || !r->most)
		return rc;
	if (type >= field[V8_NO_STRING])
		return -ESTALE;
	narrow = type & NARROW;
	switch (type & FORM) {
	case SEQUENTIAL:
		word = string - 1 +
		       (uint64_t)
		               field[narrow ? V8_NARROW_CHARS : V8_WIDE_CHARS];
		break;
	case EXTERNAL:
		rc = v8_words(r->space, string, field[V8_EXTERNAL] + DATA,
		              &word, 1);
		break;
	case CONS:
		return read_cons(r, string, first, n, depth - 1);
	case THIN:
		rc = v8_words(r->space, string, field[V8_THIN_ACTUAL], &word,
		              1);
		return rc ? rc : read_string(r, word, first, n, depth - 1);
	case SLICED: {
		uint64_t offset;

		rc = v8_words(r->space, string, field[V8_SLICED_PARENT], &word,
		              1)
		             ?: v8_words(r->space, string,
		                         field[V8_SLICED_OFFSET], &offset, 1);
		return rc ? rc
		          : read_string(r, word, first + (offset >> 32), n,
		                        depth - 1);
	}
	default:
		return -ESTALE;
	}
	return rc ? rc
	          : read_chars(r, word + first * (narrow ? 1 : 2), n, narrow);
}

static int
read_all(struct reader *r, uint64_t string, uint64_t most)
{
	uint32_t length;
	int rc = v8_is_object(string) ? 0 : -ESTALE;

	if (!rc)
		rc = memory_copy(
			r->space->memory,
			string - 1 + (uint64_t)r->v->image->field[V8_LENGTH],
			&length, sizeof(length));
	if (rc)
		return rc;
	r->most = most;
	return read_string(r, string, 0, length, MAX_DEPTH);
}

/* --- texts ---------------------------------------------------------------- */

static bool
put_chars(void *arg, const uint8_t *p, uint64_t n, bool narrow)
{
	struct buf *out = arg;

	for (uint64_t i = 0; i < n; i++) {
		char text[UTF8_MAX];
		uint32_t c = narrow ? p[i]
		                    : (uint32_t)(p[2 * i] | p[2 * i + 1] << 8);

		if (c >> 10 == 0x36 && i + 1 < n) { /* half of a pair */
			uint32_t low =
				(uint32_t)(p[2 * i + 2] | p[2 * i + 3] << 8);

			if (low >> 10 == 0x37) {
				c = 0x10000 +
				    ((c & 0x3ff) << 10 | (low & 0x3ff));
				i++;
			}
		}
		if (c < ' ' || c == 0x7f || c >> 11 == 0x1b)
			c = '?';
		buf_add(out, text, utf8_encode(c, text));
	}
	return true;
}

int
v8_text(const struct v8 *v, const struct jit_space *space, uint64_t string,
        uint32_t most, struct buf *out)
{
	struct reader r = {v, space, put_chars, out, 0, false};

	return read_all(&r, string, most);
}

static bool
count_lines(void *arg, const uint8_t *p, uint64_t n, bool narrow)
{
	uint32_t *lines = arg;

	for (uint64_t i = 0; i < n; i++)
		*lines += narrow ? p[i] == '\n'
		                 : p[2 * i] == '\n' && !p[2 * i + 1];
	return true;
}

int
v8_lines(const struct v8 *v, const struct jit_space *space, uint64_t string,
         uint64_t n, uint32_t *out)
{
	struct reader r = {v, space, count_lines, out, 0, false};

	*out = 0;
	return n > MAX_SOURCE ? -E2BIG : n ? read_all(&r, string, n) : 0;
}

/* --- functions ------------------------------------------------------------ */

uint32_t
v8_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at)
{
	(void)table;
	(void)n;
	(void)at;
	return first_line;
}

/* What a scope says about its function. */
struct scope {
	uint64_t names[2]; /* its own name, and the inferred one; 0: none */
	uint64_t start;    /* position in the source */
};

static bool
is_small(uint64_t value)
{
	return !(uint32_t)value;
}

/*
 * Reads a scope: numbers, the locals that closures use, the function's own
 * variable and the inferred name. Newer versions have the position before the
 * locals.
 */
static int
read_scope(const struct v8 *v, const struct jit_space *space, uint64_t object,
           struct scope *out)
{
	const int32_t *field = v->image->field;
	const int64_t first = field[V8_SCOPE_FIRST];
	uint64_t slots[6], locals, rows;
	size_t i;
	int rc = v8_words(space, object, 8 + 8 * field[V8_SCOPE_LOCALS],
	                  &locals, 1);

	if (rc)
		return rc;
	rows = locals >> 32;
	if (!is_small(locals) || rows > MAX_LOCALS)
		return -ESTALE;
	rows = rows < INLINE_LOCALS ? 2 * rows : rows + 1;
	rc = v8_words(space, object, 8 + 8 * (first + (int64_t)rows), slots,
	              ARRAY_LEN(slots));
	if (rc)
		return rc;
	if (v8_is_object(slots[0]))
		out->names[0] = slots[0];
	i = 2;
	if (v8_is_object(slots[i]))
		out->names[1] = slots[i++];
	if (first > field[V8_SCOPE_LOCALS] + 1)
		rc = v8_words(space, object,
		              8 + 8 * (field[V8_SCOPE_LOCALS] + 1), &out->start,
		              1);
	else
		out->start = slots[i];
	return rc;
}

/* Appends the first name that is a text, or else the word for functions without
 * a name. */
static void
put_name(const struct v8 *v, const struct jit_space *space,
         const uint64_t names[2], struct buf *out)
{
	for (size_t i = 0; i < 2; i++) {
		CLEANUP_BUF struct buf name = BUF_INIT(UTF8_MAX * V8_MAX_NAME);

		if (names[i] &&
		    !v8_text(v, space, names[i], V8_MAX_NAME, &name) &&
		    !buf_err(&name) && name.len) {
			buf_puts(out, buf_str(&name));
			return;
		}
	}
	buf_puts(out, "(anonymous)");
}

/* Appends the file of a script, and finds the line of a position. */
static void
put_file(const struct v8 *v, const struct jit_space *space, uint64_t script,
         uint64_t start, struct buf *out, uint32_t *line)
{
	static const char scheme[] = "file://";
	const int32_t *field = v->image->field;
	CLEANUP_BUF struct buf name = BUF_INIT(UTF8_MAX * V8_MAX_FILE);
	uint64_t text, source;
	uint32_t ends;
	uint16_t type;

	if (v8_type(v, space, script, &type) || type != field[V8_TYPE_SCRIPT] ||
	    v8_words(space, script, field[V8_SCRIPT_NAME], &text, 1) ||
	    v8_text(v, space, text, V8_MAX_FILE, &name) || buf_err(&name))
		return;
	buf_puts(out, !strncmp(buf_str(&name), scheme, sizeof(scheme) - 1)
	                      ? buf_str(&name) + sizeof(scheme) - 1
	                      : buf_str(&name));
	if (name.len && is_small(start) &&
	    !v8_words(space, script, field[V8_SCRIPT_SOURCE], &source, 1) &&
	    !v8_lines(v, space, source, start >> 32, &ends))
		*line = ends + 1;
}

int
v8_function(const struct v8 *v, const struct jit_space *space,
            const struct v8_shared *s, uint32_t *out)
{
	CLEANUP_BUF struct buf packed =
		BUF_INIT(UTF8_MAX * (V8_MAX_NAME + V8_MAX_FILE) + 16);
	struct interp_function f = {.line = v8_line};
	struct scope scope = {.start = 1};
	uint16_t type;

	if (v8_is_object(s->head[0])) {
		int rc = v8_type(v, space, s->head[0], &type);

		if (!rc && type == v->image->field[V8_TYPE_SCOPE])
			rc = read_scope(v, space, s->head[0], &scope);
		else
			scope.names[0] = s->head[0];
		if (rc)
			return rc;
	}
	put_name(v, space, scope.names, &packed);
	buf_putc(&packed, '\0');
	f.file = (uint32_t)packed.len;
	put_file(v, space, s->head[1], scope.start, &packed, &f.first_line);
	buf_putc(&packed, '\0');
	f.lines = (uint32_t)packed.len;
	return buf_err(&packed)
	               ? buf_err(&packed)
	               : interp_function_keep(space->codes, &packed, f, out);
}
