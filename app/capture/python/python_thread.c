/*
 * Follows pointers from the runtime over its interpreters to a thread. 3.11 and
 * 3.12 each have one layout; 3.13 describes its own at the start of the
 * runtime.
 *
 *   Source   CPython 3.11.7, 3.12.1: Include/internal/pycore_runtime.h,
 *            pycore_interp.h, Include/cpython/pystate.h;
 *            3.13.0: pycore_runtime.h, struct _Py_DebugOffsets
 */
#include "python.h"
#include "python_object.h"

#include <errno.h>
#include <string.h>

#define MAX_INTERPRETERS 64
#define MAX_OFFSET       ((uint64_t)1 << 20)
#define MAX_THREAD       1024 /* bytes read of a thread */

/* head: the offset in the runtime. */
static const struct interp_list fixed[] = {
	[PYTHON_311] = {.layout = PYTHON_3_11,
                        .head = 40,
                        .at = {0, 16, 8, 160, 56},
                        .hop = 8 + 1},
	[PYTHON_312] = {.layout = PYTHON_3_12,
                        .head = 40,
                        .at = {0, 72, 8, 144, 56},
                        .hop = 0 + 1},
};

/* Words of struct _Py_DebugOffsets. */
enum {
	COOKIE,
	HEX_VERSION,
	FREE_THREADED,
	HEADS = 5,
	NEXT = 8,
	THREADS = 9,
	THREAD_NEXT = 21,
	FRAME = 23,
	NATIVE = 25,
	PREVIOUS = 29,
	EXECUTABLE = 30,
	INSTR = 31,
	OWNER = 33,
	FILENAME = 35,
	QUALNAME = 37,
	LINETABLE = 38,
	FIRST_LINE = 39,
	CODE_BEGIN = 43,
	DEBUG_WORDS
};

/* True when the offsets that are not read from there equal those of other
 * builds. */
static bool
is_known(const uint64_t w[DEBUG_WORDS])
{
	return !memcmp(&w[COOKIE], "xdebugpy", 8) && !w[FREE_THREADED] &&
	       w[HEX_VERSION] >> 16 == 0x030d && w[PREVIOUS] == 8 &&
	       w[EXECUTABLE] == 0 && w[INSTR] == 56 && w[OWNER] == 70 &&
	       w[FILENAME] == 112 && w[QUALNAME] == 128 &&
	       w[LINETABLE] == 136 && w[FIRST_LINE] == 68 &&
	       w[CODE_BEGIN] == 200;
}

static int
read_list(const struct memory *m, uint64_t runtime, struct interp_list *out)
{
	uint64_t w[DEBUG_WORDS];
	int rc = memory_copy(m, runtime, w, sizeof(w));

	if (rc)
		return rc;
	if (!is_known(w) || w[HEADS] >= MAX_OFFSET || w[NEXT] >= MAX_OFFSET ||
	    w[THREADS] >= MAX_OFFSET || w[THREAD_NEXT] > MAX_THREAD - 8 ||
	    w[NATIVE] > MAX_THREAD - 8 || w[FRAME] >= MAX_OFFSET)
		return -EBADMSG;
	*out = (struct interp_list){
		.layout = PYTHON_3_12,
		.head = w[HEADS],
		.at = {(uint32_t)w[NEXT], (uint32_t)w[THREADS],
	               (uint32_t)w[THREAD_NEXT], (uint32_t)w[NATIVE],
	               (uint32_t)w[FRAME]},
	};
	return 0;
}

int
python_list(const struct interp_space *space, struct interp_list *out)
{
	uint64_t runtime = space->image->roots[PYTHON_RUNTIME] + space->bias;
	uint32_t minor = space->image->version;
	struct interp_list list;
	int rc = 0;

	if (minor < PYTHON_313)
		list = fixed[minor];
	else
		rc = read_list(space->memory, runtime, &list);
	if (rc)
		return rc;
	list.language = LANGUAGE_PYTHON;
	list.head += runtime;
	*out = list;
	return 0;
}

/* --- threads ------------------------------------------------------------- */

/* Reads both words of a thread in one piece. */
static int
read_thread(const struct memory *m, const struct interp_list *l, uint64_t at,
            struct interp_thread *out, uint64_t *next)
{
	uint64_t older = l->at[PYTHON_OLDER], native = l->at[PYTHON_NATIVE];
	uint64_t low = older < native ? older : native;
	uint64_t high = older + native - low;
	uint8_t bytes[MAX_THREAD];
	int rc = memory_copy(m, at + low, bytes, high - low + 8);

	if (rc)
		return rc;
	memcpy(next, bytes + (older - low), 8);
	memcpy(&out->native, bytes + (native - low), 8);
	out->head = at + l->at[PYTHON_FRAME];
	return 0;
}

/* Leaves a list that leads back to a thread of it: the thread met last at a
 * power of two is remembered, which a circle reaches again. */
static int
list_threads(const struct memory *m, const struct interp_list *l, uint64_t at,
             struct interp_threads *t)
{
	struct interp_thread row;
	uint64_t met = 0;
	int rc = 0;

	while (at && at != met && !rc && t->n < INTERP_MAX_THREADS) {
		if (!(t->n & (t->n - 1)))
			met = at;
		rc = read_thread(m, l, at, &row, &at);
		if (!rc)
			rc = interp_threads_add(t, row.native, row.head);
	}
	return rc;
}

static int
list_all(const struct memory *m, const struct interp_list *l,
         struct interp_threads *t)
{
	uint64_t at, first;
	int rc = memory_copy(m, l->head, &at, 8);

	for (unsigned i = 0; !rc && at && i < MAX_INTERPRETERS; i++) {
		rc = memory_copy(m, at + l->at[PYTHON_THREADS], &first, 8);
		if (!rc)
			rc = list_threads(m, l, first, t);
		if (!rc)
			rc = memory_copy(m, at + l->at[PYTHON_NEXT], &at, 8);
	}
	return rc;
}

int
python_attach(const struct interp_space *space, struct interp_threads *out)
{
	struct interp_list l;
	int rc = python_list(space, &l);

	if (rc)
		return rc;
	out->layout = l.layout;
	out->hop = l.hop;
	rc = list_all(space->memory, &l, out);
	return out->n ? 0 : rc ? rc : -ENOENT;
}

const struct language python_language = {
	.id = LANGUAGE_PYTHON,
	.recognise = python_recognise,
	.list = python_list,
	.attach = python_attach,
	.find = python_find,
	.walk = python_walk,
	.read = python_read,
	.place = python_place,
	.line = python_line,
};
