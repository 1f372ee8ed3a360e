/*
 * Follows pointers from the runtime over its interpreters to a thread. 3.11 and
 * 3.12 each have one layout; 3.13 describes its own at the start of the
 * runtime.
 *
 *   Source   CPython 3.11.7, 3.12.1: Include/internal/pycore_runtime.h,
 *            pycore_interp.h, Include/cpython/pystate.h;
 *            3.13.0: pycore_runtime.h, struct _Py_DebugOffsets
 */
#include "capture/host/python_layout.h"
#include "python.h"
#include "python_object.h"

#include <errno.h>
#include <string.h>

#define MAX_INTERPRETERS 64
#define MAX_OFFSET       ((uint64_t)1 << 20)
#define MAX_THREAD       1024 /* bytes read of a thread */

struct layout {
	uint64_t interpreters;  /* in the runtime: address of the first
	                           interpreter */
	uint64_t next, threads; /* in an interpreter: the next one, and the
	                           first thread */
	uint64_t thread_next, native, frame; /* in a thread */
	uint64_t hop;                        /* see struct interp_slot */
};

static const struct layout fixed[] = {
	[PYTHON_311] = {40, 0, 16, 8, 160, 56, 8 + 1},
	[PYTHON_312] = {40, 0, 72, 8, 144, 56, 0 + 1},
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
read_layout(const struct memory *m, const struct python_image *image,
            uint64_t runtime, struct layout *out)
{
	uint64_t w[DEBUG_WORDS];
	int rc;

	if (image->minor < PYTHON_313) {
		*out = fixed[image->minor];
		return 0;
	}
	rc = memory_copy(m, runtime, w, sizeof(w));
	if (rc)
		return rc;
	if (!is_known(w))
		return -EBADMSG;
	*out = (struct layout){
		w[HEADS],  w[NEXT],  w[THREADS], w[THREAD_NEXT],
		w[NATIVE], w[FRAME], 0,
	};
	return w[HEADS] < MAX_OFFSET && w[NEXT] < MAX_OFFSET &&
	                       w[THREADS] < MAX_OFFSET &&
	                       w[THREAD_NEXT] <= MAX_THREAD - 8 &&
	                       w[NATIVE] <= MAX_THREAD - 8 &&
	                       w[FRAME] < MAX_OFFSET
	               ? 0
	               : -EBADMSG;
}

/* --- the list --------------------------------------------------------------
 */

/* Reads both words of a thread in one piece. */
static int
read_thread(const struct memory *m, const struct layout *l, uint64_t at,
            struct python_thread *out, uint64_t *next)
{
	uint64_t low = l->thread_next < l->native ? l->thread_next : l->native;
	uint64_t high = l->thread_next + l->native - low;
	uint8_t bytes[MAX_THREAD];
	int rc = memory_copy(m, at + low, bytes, high - low + 8);

	if (rc)
		return rc;
	memcpy(next, bytes + (l->thread_next - low), 8);
	memcpy(&out->native, bytes + (l->native - low), 8);
	out->head = at + l->frame;
	return 0;
}

static int
add_thread(struct python_threads *t, const struct python_thread *row)
{
	uint32_t cap = t->cap ? 2 * t->cap : 16;
	void *more;

	if (t->n == t->cap) {
		more = reallocarray(t->rows, cap, sizeof(*t->rows));
		if (!more)
			return -ENOMEM;
		t->rows = more;
		t->cap = cap;
	}
	t->rows[t->n++] = *row;
	return 0;
}

/* Leaves a list that leads back to a thread of it: the thread met last at a
 * power of two is remembered, which a circle reaches again. */
static int
list_threads(const struct memory *m, const struct layout *l, uint64_t at,
             struct python_threads *t)
{
	struct python_thread row;
	uint64_t met = 0;
	int rc = 0;

	while (at && at != met && !rc && t->n < PYTHON_MAX_THREADS) {
		if (!(t->n & (t->n - 1)))
			met = at;
		rc = read_thread(m, l, at, &row, &at);
		if (!rc)
			rc = add_thread(t, &row);
	}
	return rc;
}

static int
list_all(const struct memory *m, const struct layout *l, uint64_t runtime,
         struct python_threads *t)
{
	uint64_t at, first;
	int rc = memory_copy(m, runtime + l->interpreters, &at, 8);

	for (unsigned i = 0; !rc && at && i < MAX_INTERPRETERS; i++) {
		rc = memory_copy(m, at + l->threads, &first, 8);
		if (!rc)
			rc = list_threads(m, l, first, t);
		if (!rc)
			rc = memory_copy(m, at + l->next, &at, 8);
	}
	return rc;
}

/* Lists threads; when the list changes meanwhile, those found
 * so far are used. */
int
python_threads_read(const struct memory *m, const struct python_image *image,
                    uint64_t bias, struct python_threads *out)
{
	uint64_t runtime = image->runtime + bias;
	struct layout l;
	int rc = read_layout(m, image, runtime, &l);

	out->n = 0;
	if (rc)
		return rc;
	out->layout = image->minor == PYTHON_311 ? PYTHON_3_11 : PYTHON_3_12;
	out->hop = l.hop;
	rc = list_all(m, &l, runtime, out);
	return out->n ? 0 : rc ? rc : -ENOENT;
}

void
python_threads_done(struct python_threads *t)
{
	free(t->rows);
	*t = (struct python_threads){0};
}

bool
python_threads_find(const struct python_threads *t, uint64_t native,
                    struct interp_slot *out)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->rows[i].native != native)
			continue;
		out->layout = t->layout;
		out->head = t->rows[i].head;
		out->hop = t->hop;
		return true;
	}
	return false;
}

/* --- frames ----------------------------------------------------------------
 */

static int
first_frame(const struct memory *m, const struct interp_slot *slot,
            uint64_t *out)
{
	int rc = memory_copy(m, slot->head, out, sizeof(*out));

	if (!rc && slot->hop)
		rc = memory_copy(m, *out + slot->hop - 1, out, sizeof(*out));
	return rc;
}

static int
read_frame(const struct memory *m, const struct python_layout_of *l,
           uint64_t *at, struct interp_frame *out)
{
	uint8_t copy[PYTHON_FRAME_BYTES];
	int rc = memory_copy(m, *at, copy, sizeof(copy));

	if (rc)
		return rc;
	memcpy(&out->code, copy + l->code, sizeof(out->code));
	memcpy(&out->instr, copy + l->instr, sizeof(out->instr));
	memcpy(at, copy + l->previous, sizeof(*at));
	out->mark = copy[l->mark];
	return 0;
}

int
python_stack_read(const struct memory *m, const struct interp_slot *slot,
                  struct interp_stack *out)
{
	const struct python_layout_of *l = &python_layouts[slot->layout];
	uint64_t at;
	int rc = first_frame(m, slot, &at);

	out->n = 0;
	while (!rc && at && out->n < INTERP_MAX_FRAMES)
		rc = read_frame(m, l, &at, &out->frames[out->n++]);
	out->end = at ? INTERP_FULL : INTERP_ROOT;
	return rc;
}
