/*
 * Functions that V8's optimizing compilers inlined. A piece of code has a head
 * that leads to what describes it: at which addresses which calls were inlined,
 * where these stood in their callers, and the functions.
 *
 *   Source   V8 src/objects/instruction-stream.h, code.h,
 *            deoptimization-data.h (InliningPosition),
 *            src/codegen/source-position.h (the bits of a position),
 *            source-position-table.cc (how a table is packed)
 */
#include "v8.h"

#include "capture/host/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE       ((uint64_t)4096)
#define MAX_PAGES  32 /* of one piece of code, before an address */
#define ALIGNED    32 /* code begins at multiples of this */
#define HEAD       64 /* bytes before it, at most */
#define MAX_TYPES  16 /* types tried before giving up */
#define MAX_TABLE  ((uint64_t)64 << 10)
#define MAX_ROWS   65536 /* of the functions of one piece */
#define LENGTH     8     /* of an array, after its map, */
#define ELEMENTS   16    /* and its elements */
#define CODE_WORDS 6     /* words in which code refers to the rest */
#define ID_SHIFT   31    /* in a position: which inlined call, from 1 on */
#define ID_MASK    0xffff

/* --- the head ------------------------------------------------------------- */

struct search {
	struct v8 *v;
	const struct jit_space *space;
	unsigned types;
};

/* True if two words are a head: a map of this type, and the code. */
static bool
is_head(struct search *s, uint64_t map, uint64_t code)
{
	uint16_t type;

	if (!v8_is_object(map) || !v8_is_object(code))
		return false;
	if (s->v->stream_map)
		return map == s->v->stream_map;
	if (s->types++ >= MAX_TYPES ||
	    memory_copy(s->space->memory,
	                map - 1 + (uint64_t)s->v->image->field[V8_MAP_TYPE],
	                &type, sizeof(type)) ||
	    type != s->v->image->field[V8_TYPE_STREAM])
		return false;
	s->v->stream_map = map;
	return true;
}

/* Looks for a head in a part of memory, from its end to its beginning. */
static bool
find_in(struct search *s, uint64_t from, const uint8_t *p, size_t n,
        uint64_t last, struct v8_inlined *out)
{
	const uint64_t before = (uint64_t)s->v->image->field[V8_STREAM_START];

	for (uint64_t start = last / ALIGNED * ALIGNED;
	     start >= from + before && start > ALIGNED; start -= ALIGNED) {
		uint64_t words[2];
		const uint64_t at = start - before - from;

		if (at + sizeof(words) > n)
			continue;
		memcpy(words, p + at, sizeof(words));
		if (!is_head(s, words[0], words[1]))
			continue;
		out->start = start;
		out->head[0] = words[0];
		out->head[1] = words[1];
		return true;
	}
	return false;
}

static int
find_head(struct search *s, uint64_t pc, struct v8_inlined *out)
{
	uint8_t page[HEAD + PAGE];
	uint64_t last = pc;

	for (unsigned i = 0; i < MAX_PAGES; i++) {
		const uint64_t at = last / PAGE * PAGE - HEAD;
		const size_t n = last - at + 1;

		if (at > last || memory_copy(s->space->memory, at, page, n))
			return -ENOENT;
		if (find_in(s, at, page, n, last, out))
			return 0;
		last = at + HEAD - 1;
	}
	return -ENOENT;
}

/* --- positions ------------------------------------------------------------ */

/* Takes a packed number; false at the end of the table. */
static bool
take(const uint8_t *p, size_t n, size_t *at, int64_t *out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && *at < n; shift += 7) {
		const uint8_t b = p[(*at)++];

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
			return true;
		}
	}
	return false;
}

/*
 * Finds the position for an offset: that of the last row at or before it; 0:
 * none. A row holds the distance from the row before it. It marks a position
 * that is not a statement: by a negative number up to V8 13, later by its
 * lowest bit.
 */
static uint64_t
position_at(const uint8_t *p, size_t n, uint64_t offset)
{
	uint64_t row = 0, position = 0, found = 0;
	int64_t by, moved;

	for (size_t at = 0; take(p, n, &at, &by) && take(p, n, &at, &moved);) {
		row += (uint64_t)(by >= 0 ? by >> 1 : -(by + 1));
		position += (uint64_t)moved;
		if (row > offset)
			break;
		found = position;
	}
	return found;
}

/* --- what describes code -------------------------------------------------- */

static bool
is_array(const struct v8 *v, const struct jit_space *space, uint64_t object)
{
	static const enum v8_field types[] = {V8_TYPE_ARRAY, V8_TYPE_TRUSTED,
	                                      V8_TYPE_PROTECTED};
	uint16_t type;

	if (v8_type(v, space, object, &type))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (v->image->has[types[i]] &&
		    type == v->image->field[types[i]])
			return true;
	return false;
}

/* Finds what describes optimized code: an array, and the table of positions
 * after it. Other code has something else there. */
static int
find_tables(const struct v8 *v, const struct jit_space *space, uint64_t code,
            uint64_t out[2])
{
	uint64_t words[CODE_WORDS];
	uint16_t type;
	int rc = v8_type(v, space, code, &type);

	if (!rc && type != v->image->field[V8_TYPE_CODE])
		rc = -ESTALE;
	if (!rc)
		rc = v8_words(space, code, 0, words, CODE_WORDS);
	for (size_t i = 1; i + 1 < CODE_WORDS && !rc; i++)
		if (is_array(v, space, words[i])) {
			memcpy(out, words + i, 2 * sizeof(*out));
			return 0;
		}
	return rc ? rc : -ENOENT;
}

/* Reads an array that is a member of another array, and its length. */
static int
read_array(const struct jit_space *space, uint64_t of, int32_t index,
           uint64_t *array, uint64_t *length)
{
	int rc = v8_words(space, of, ELEMENTS + 8 * (int64_t)index, array, 1)
	                 ?: v8_words(space, *array, LENGTH, length, 1);

	*length >>= 32;
	return rc;
}

static int
read_position(const struct jit_space *space, uint64_t table, uint64_t offset,
              uint64_t *out)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint64_t length;
	int rc = v8_words(space, table, LENGTH, &length, 1);

	length >>= 32;
	if (!rc && length > MAX_TABLE)
		rc = -E2BIG;
	if (rc || !length)
		return rc;
	bytes = malloc(length + 1);
	if (!bytes)
		return -ENOMEM;
	rc = memory_copy(space->memory, table - 1 + ELEMENTS, bytes, length);
	if (!rc)
		*out = position_at(bytes, length, offset);
	return rc;
}

/* Follows the inlined calls at a position to the function that was compiled. */
static int
read_calls(const struct v8 *v, const struct jit_space *space, uint64_t of,
           uint64_t position, struct v8_inlined *out)
{
	const int32_t *field = v->image->field;
	uint64_t calls, ncalls, functions, nfunctions;
	int rc = read_array(space, of, field[V8_DEOPT_CALLS], &calls, &ncalls)
	                 ?: read_array(space, of, field[V8_DEOPT_FUNCTIONS],
	                               &functions, &nfunctions);

	while (!rc && out->n < V8_MAX_INLINED) {
		const uint64_t id = position >> ID_SHIFT & ID_MASK;
		uint64_t call[2]; /* a position, and the number of a function */
		uint32_t function;

		if (!id)
			break;
		if (id * sizeof(call) > ncalls)
			return -ESTALE;
		rc = v8_words(space, calls,
		              ELEMENTS + (int64_t)((id - 1) * sizeof(call)),
		              call, 2);
		function = (uint32_t)call[1];
		if (!rc && (function >= nfunctions || function >= MAX_ROWS))
			rc = -ESTALE;
		if (!rc)
			rc = v8_words(space, functions,
			              ELEMENTS + 8 * (int64_t)function,
			              &out->shared[out->n], 1);
		if (!rc)
			out->shared[out->n++] &=
				~UINT64_C(2); /* bit of weak references */
		position = call[0];
	}
	return rc;
}

static int
read_inlined(struct v8 *v, const struct jit_space *space, uint64_t pc,
             struct v8_inlined *out)
{
	struct search s = {v, space, 0};
	uint64_t tables[2], position = 0;

	return find_head(&s, pc, out)
	               ?: find_tables(v, space, out->head[1], tables)
	               ?: read_position(space, tables[1], pc - out->start,
	                                &position)
	               ?: read_calls(v, space, tables[0], position, out);
}

/* True if the same piece of code is still there. */
static bool
is_there(const struct v8 *v, const struct jit_space *space,
         const struct v8_inlined *of)
{
	uint64_t head[2];

	return of->start &&
	       !memory_copy(space->memory,
	                    of->start -
	                            (uint64_t)v->image->field[V8_STREAM_START],
	                    head, sizeof(head)) &&
	       !memcmp(head, of->head, sizeof(head));
}

const struct v8_inlined *
v8_inlined(struct v8 *v, const struct jit_space *space, uint64_t pc)
{
	struct v8_inlined *row = &v->inlined[pc % V8_INLINED];
	const bool same = row->pc == pc;

	if (same && space->now_ns - row->checked_ns < JIT_AGE_NS)
		return row;
	if (!jit_may_look(space))
		return NULL;
	if (!same || !is_there(v, space, row)) {
		*row = (struct v8_inlined){.pc = pc};
		if (v->image->inlines && read_inlined(v, space, pc, row))
			row->n = 0;
	}
	row->checked_ns = space->now_ns;
	return row;
}
