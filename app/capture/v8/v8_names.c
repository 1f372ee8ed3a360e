/* Functions of V8's frames. */
#include "v8.h"

#include "base/rows.h"

#include <errno.h>
#include <string.h>

#define HEAD_WORDS 8 /* of a shared function */

/* --- functions without an object ------------------------------------------ */

static int
fixed_place(struct v8 *v, const struct jit_space *space, enum v8_fixed which,
            uint64_t *out)
{
	static const char *const names[] = {
		[V8_FIXED_CODE] = "(JavaScript)",
		[V8_FIXED_REGEXP] = "(regular expression)",
	};
	CLEANUP_BUF struct buf packed = BUF_INIT(64);
	struct interp_function f = {.line = v8_line};
	int rc = 0;

	if (!v->has_fixed[which]) {
		buf_add(&packed, names[which], strlen(names[which]) + 1);
		f.file = (uint32_t)packed.len - 1;
		f.lines = (uint32_t)packed.len;
		rc = buf_err(&packed)
		             ?: interp_function_keep(space->codes, &packed, f,
		                                     &v->fixed[which]);
		v->has_fixed[which] = !rc;
	}
	*out = interp_place(v->fixed[which], 0);
	return rc;
}

/* --- functions ------------------------------------------------------------ */

/*
 * Finds the shared function of a function object. The collector moves objects,
 * and leaves the new address, which is even, in the place of the first word.
 */
static int
shared_of(struct v8 *v, const struct jit_space *space, uint64_t detail,
          uint64_t *out)
{
	const int32_t at = v->image->field[V8_FUNCTION_SHARED];
	const uint64_t object = v8_detail_function(detail);
	struct v8_callee *callee = &v->callees[object / 8 % V8_CALLEES];
	uint64_t map;
	int rc;

	if (callee->detail == detail &&
	    space->now_ns - callee->read_ns < JIT_AGE_NS) {
		*out = callee->shared;
		return 0;
	}
	if (!jit_may_look(space))
		return -ESTALE;
	rc = v8_words(space, object, 0, &map, 1);
	if (!rc)
		rc = v8_words(space, v8_is_object(map) ? object : map + 1, at,
		              out, 1);
	if (!rc)
		*callee = (struct v8_callee){detail, *out, space->now_ns};
	return rc;
}

/* True for the map of shared functions. */
static bool
is_shared(struct v8 *v, const struct jit_space *space, uint64_t object,
          uint64_t map)
{
	uint16_t type;

	if (v->shared_map && map == v->shared_map)
		return true;
	if (v8_type(v, space, object, &type) ||
	    type != v->image->field[V8_TYPE_SHARED])
		return false;
	v->shared_map = map;
	return true;
}

/* Reads the name or scope of a shared function, and its script. */
static int
read_head(struct v8 *v, const struct jit_space *space, uint64_t object,
          uint64_t out[2])
{
	const int32_t *field = v->image->field;
	const int32_t at[] = {field[V8_SHARED_NAME],
	                      v->image->has[V8_SHARED_SCRIPT]
	                              ? field[V8_SHARED_SCRIPT]
	                              : field[V8_SHARED_DEBUG]};
	uint64_t words[HEAD_WORDS];
	int rc = v8_words(space, object, 0, words, ARRAY_LEN(words));

	if (rc)
		return rc;
	if (!is_shared(v, space, object, words[0]))
		return -ESTALE;
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		if (at[i] < 0 || at[i] / 8 >= HEAD_WORDS || at[i] % 8)
			return -ESTALE;
		out[i] = words[at[i] / 8];
	}
	return 0;
}

/* Finds the function of a shared function; it is read again when it is old. */
static int
function_of(struct v8 *v, const struct jit_space *space, uint64_t object,
            uint32_t *out)
{
	struct v8_shared *s;
	uint64_t head[2];
	uint32_t row;
	int rc = pairs_intern(&v->keys, 0, object, &row)
	                 ?: ROWS_REACH(v->rows, v->cap, row);

	if (rc)
		return rc;
	s = &v->rows[row];
	if (!s->known || space->now_ns - s->checked_ns >= JIT_AGE_NS) {
		rc = jit_may_look(space) ? read_head(v, space, object, head)
		                         : -ESTALE;
		if (!rc && (!s->known || head[0] != s->head[0] ||
		            head[1] != s->head[1])) {
			memcpy(s->head, head, sizeof(head));
			rc = v8_function(v, space, s, &s->function);
			s->known = !rc;
		}
		if (rc)
			return rc;
		s->checked_ns = space->now_ns;
	}
	*out = s->function;
	return 0;
}

/* Appends the functions that were inlined at an address. */
static void
put_inlined(struct v8 *v, const struct jit_space *space, uint64_t pc,
            uint64_t *out, size_t *n)
{
	const struct v8_inlined *of = v8_inlined(v, space, pc);
	uint32_t function;

	for (size_t i = 0; of && i < of->n; i++)
		if (!function_of(v, space, of->shared[i], &function))
			out[(*n)++] = interp_place(function, 0);
}

/* True for an address of the image: the function there is interpreted. */
static bool
is_image(const struct jit_space *space, uint64_t pc)
{
	return pc - space->bias >= space->image->start &&
	       pc - space->bias < space->image->end;
}

int
v8_names(void *runtime, const struct jit_space *space, uint64_t pc,
         uint64_t detail, uint64_t *out, size_t *n)
{
	struct v8 *v = runtime;
	const int32_t *field = v->image->field;
	uint64_t shared;
	uint32_t function;
	int rc;

	*n = 0;
	if (v8_is_object(detail)) {
		rc = shared_of(v, space, detail, &shared)
		             ?: function_of(v, space, shared, &function);
		if (!rc && !is_image(space, pc))
			put_inlined(v, space, pc, out, n);
		if (!rc)
			out[(*n)++] = interp_place(function, 0);
		if (!rc || rc == -ENOMEM)
			return rc;
	} else if (is_image(space, pc) ||
	           detail / 2 == (uint64_t)field[V8_FRAME_WASM]) {
		return -ENOENT;
	}
	*n = 1;
	return fixed_place(
		v, space,
		detail && detail / 2 == (uint64_t)field[V8_FRAME_REGEXP]
			? V8_FIXED_REGEXP
			: V8_FIXED_CODE,
		out);
}
