/*
 * Finds functions written in Python, in processes that run CPython 3.11 to
 * 3.13.
 *
 * The interpreter's image tells where its runtime lies. Each thread of a
 * process is looked up there once; then the kernel follows its frames
 * (interp_ring.h). A frame refers to a code object, which is read when first
 * seen, and again from time to time, since another object may take its place.
 */
#pragma once

#include "base/buf.h"
#include "base/pairs.h"
#include "capture/elf/elf.h"
#include "capture/host/memory.h"
#include "capture/interp/interp_ring.h"

#define PYTHON_MAX_CODES   (1u << 17)
#define PYTHON_MAX_BYTES   ((size_t)128 << 20) /* of names and lines */
#define PYTHON_MAX_THREADS 16384 /* threads of a process that are examined */

/* Addresses in an image that is an interpreter. */
struct python_image {
	uint32_t minor;                /* 11 to 13 */
	uint64_t runtime;              /* _PyRuntime */
	uint64_t code, str, bytes;     /* type objects */
	uint64_t eval_start, eval_end; /* the function that interprets */
};

/*
 * Finds these addresses.
 *   Errors   -ENOENT no interpreter, or of another version; -EIO, -ENOMEM
 */
MUST_CHECK int
python_image_read(const struct elf_image *elf, struct python_image *out);

/* The threads of a process that run Python. */
struct python_threads {
	struct python_thread {
		uint64_t native; /* its number in its own pid namespace */
		uint64_t head;   /* see struct interp_slot */
	} * rows;
	uint32_t n, cap;
	uint32_t layout; /* enum python_layout */
	uint64_t hop;
};

/*
 * Lists the threads again.
 *
 *   Shape    bias is the image's in the process; out starts as {0}
 *   Owns     python_threads_done() it
 *   Errors   -ENOENT none yet, -EBADMSG the runtime has another layout, those
 *            of memory_copy()
 */
MUST_CHECK int
python_threads_read(const struct memory *m, const struct python_image *image,
                    uint64_t bias, struct python_threads *out);
void python_threads_done(struct python_threads *t);
/* Finds a thread; *out lacks tid and key. Returns false when there is no such
 * thread. */
bool python_threads_find(const struct python_threads *t, uint64_t native,
                         struct interp_slot *out);

/*
 * Follows the frames of a thread that stands still; out->key and tid are not
 * set.
 *
 *   Errors   those of memory_copy()
 */
MUST_CHECK int
python_stack_read(const struct memory *m, const struct interp_slot *slot,
                  struct interp_stack *out);

/* --- code objects ----------------------------------------------------------
 */

struct python_codes;

struct python_codes *python_codes_new(void); /* NULL: no memory */
void python_codes_free(struct python_codes *c);

/* The process and code to which a frame may belong. */
struct python_space {
	const struct memory *memory;
	const struct python_image *image;
	uint64_t bias;
	uint64_t now_ns;
};

/*
 * Finds the places of a stack's frames, for python_code_name().
 *
 *   Shape    out[s->n]; a frame without a function, such as the one with which
 *            C calls the interpreter, has vaddr PYTHON_NO_PLACE
 *   Errors   -ESTALE a frame refers to something other than code, -E2BIG too
 *            many code objects, those of memory_read()
 */
MUST_CHECK int
python_places(struct python_codes *c, const struct python_space *space,
              const struct interp_stack *s, uint64_t *out);
#define PYTHON_NO_PLACE UINT64_MAX

struct python_name {
	const char *name, *file; /* valid as long as the codes */
	uint32_t line, start_line;
};
/* Finds the name of a place; false when there is no such place. */
bool python_code_name(const struct python_codes *c, uint64_t vaddr,
                      struct python_name *out);
