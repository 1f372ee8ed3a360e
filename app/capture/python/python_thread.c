/*
 * Follows pointers from the runtime via its interpreters to a thread. Versions
 * up to 3.12 each have one layout; later ones describe theirs at the start of
 * the runtime.
 *
 *   Source   CPython 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1:
 *            Include/internal/pycore_runtime.h, pycore_interp.h (3.8:
 *            pycore_pystate.h), Include/cpython/pystate.h; 3.13.0:
 *            pycore_runtime.h, 3.14.10, 3.15.2: pycore_debug_offsets.h, struct
 *            _Py_DebugOffsets; glibc, nptl/descr.h: struct pthread
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
	[PYTHON_38] = {.head = 32, .at = {0, 8, 8, 176, 24, INTERP_LIBC_TID}},
	[PYTHON_39] = {.head = 32, .at = {0, 8, 8, 176, 24, INTERP_LIBC_TID}},
	[PYTHON_310] = {.head = 32, .at = {0, 8, 8, 176, 24, INTERP_LIBC_TID}},
	[PYTHON_311] = {.head = 40, .at = {0, 16, 8, 160, 56}, .hop = 8 + 1},
	[PYTHON_312] = {.head = 40, .at = {0, 72, 8, 144, 56}, .hop = 0 + 1},
};

/* Words of struct _Py_DebugOffsets, */
enum {
	COOKIE,
	HEX_VERSION,
	FREE_THREADED,
	HEADS = 5,
	NEXT = 8,
	THREADS = 9,
	DEBUG_WORDS = 57
};

/* the words at which its parts begin, which differ between versions, */
static const struct debug_parts {
	uint8_t thread, native, frame, code;
} debug_parts[] = {
	[PYTHON_313] = {21, 25, 29, 35},
	[PYTHON_314] = {24, 28, 32, 40},
	[PYTHON_315] = {24, 31, 40, 48},
};

/* and words of these parts. */
enum { THREAD_NEXT, THREAD_FRAME = 2 };
enum { FRAME_PREVIOUS, FRAME_CODE, FRAME_INSTR, FRAME_OWNER = 4 };
enum { CODE_FILE, CODE_NAME = 2, CODE_LINES, CODE_FIRST, CODE_BEGIN = 8 };

/* True when the offsets that come from tables here are right for this
 * build. */
static bool
is_known(const uint64_t w[DEBUG_WORDS], enum python_version v)
{
	const struct debug_parts *p = &debug_parts[v];
	const struct python_version_row *c = &python_versions[v];
	const struct python_layout_of *f = &python_layouts[c->frame];
	const uint64_t *frame = w + p->frame, *code = w + p->code;

	return !memcmp(&w[COOKIE], "xdebugpy", 8) && !w[FREE_THREADED] &&
	       w[HEX_VERSION] >> 16 == (0x0300 | v) &&
	       frame[FRAME_PREVIOUS] == (uint64_t)f->previous &&
	       frame[FRAME_CODE] == (uint64_t)f->code &&
	       frame[FRAME_INSTR] == (uint64_t)f->instr &&
	       frame[FRAME_OWNER] == (uint64_t)f->mark &&
	       code[CODE_FILE] == c->file && code[CODE_NAME] == c->name &&
	       code[CODE_LINES] == c->lines &&
	       code[CODE_FIRST] == c->first_line &&
	       code[CODE_BEGIN] == c->begin;
}

static int
read_list(const struct memory *m, uint64_t runtime, enum python_version v,
          struct interp_list *out)
{
	const struct debug_parts *p = &debug_parts[v];
	uint64_t w[DEBUG_WORDS];
	uint64_t older, frame, native;
	int rc = memory_copy(m, runtime, w,
	                     8 * (p->code + CODE_BEGIN + (size_t)1));

	if (rc)
		return rc;
	older = w[p->thread + THREAD_NEXT];
	frame = w[p->thread + THREAD_FRAME];
	native = w[p->native];
	if (!is_known(w, v) || w[HEADS] >= MAX_OFFSET ||
	    w[NEXT] >= MAX_OFFSET || w[THREADS] >= MAX_OFFSET ||
	    older > MAX_THREAD - 8 || native > MAX_THREAD - 8 ||
	    frame >= MAX_OFFSET)
		return -EBADMSG;
	*out = (struct interp_list){
		.head = w[HEADS],
		.at = {(uint32_t)w[NEXT], (uint32_t)w[THREADS], (uint32_t)older,
	               (uint32_t)native, (uint32_t)frame},
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
		rc = read_list(space->memory, runtime, minor, &list);
	if (rc)
		return rc;
	list.language = LANGUAGE_PYTHON;
	list.layout = python_versions[minor].frame;
	list.head += runtime;
	list.own[1] = python_tasks(space, &list);
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
	return l->at[PYTHON_TID] &&
	                       !python_tid(m, out->native + l->at[PYTHON_TID],
	                                   &out->native)
	               ? -ESTALE
	               : 0;
}

/* Detects cycles as Brent does: keeps the thread seen at each power of two. */
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
		t->several = i > 0;
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
	out->own[1] = l.own[1];
	rc = list_all(space->memory, &l, out);
	return out->n ? 0 : rc ? rc : -ENOENT;
}
