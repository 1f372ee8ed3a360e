/*
 * Functions that interpreters ran, each kept once, and the places of code
 * objects at which they were seen. A place is a function and a position in it.
 */
#pragma once

#include "base/buf.h"
#include "interp.h"

#define INTERP_MAX_CODES (1u << 17)
#define INTERP_MAX_BYTES ((size_t)128 << 20) /* of names and lines */
#define INTERP_CODE_HEAD 64
/* For how long a code object counts as unchanged. */
#define INTERP_CODE_AGE_NS UINT64_C(1000000000)

struct interp_codes;

struct interp_codes *interp_codes_new(void); /* NULL: no memory */
void interp_codes_free(struct interp_codes *c);

/* A code object at its address in one process. */
struct interp_code {
	uint8_t head[INTERP_CODE_HEAD]; /* the language's; differs if another
	                                   object took its place */
	uint32_t function;
	uint64_t checked_ns; /* 0: never read */
};

/*
 * Finds the places of a stack's frames, for interp_name(). Code objects that
 * are new or old are read first.
 *
 *   Shape    pid is the process whose memory space is; out[s->n];
 *            INTERP_NO_PLACE for INTERP_NO_CODE and code without a name
 *   Errors   -E2BIG past INTERP_MAX_CODES, -ENOMEM, those of the language's
 *            read and place; if place fails with -ESTALE for up to half of the
 *            frames, their function is named "[gone]" instead
 */
MUST_CHECK int interp_places(struct interp_codes *c, int32_t pid,
                             const struct interp_space *space,
                             const struct interp_stack *s, uint64_t *out);

/* --- for languages -------------------------------------------------------- */

/*
 * Finds or adds the code object at an address of a process, for a language that
 * finds some without a frame.
 *   Errors   -E2BIG past INTERP_MAX_CODES, -ENOMEM
 */
MUST_CHECK int interp_code_find(struct interp_codes *c, int32_t pid,
                                uint64_t address, uint32_t *out);
/* Returns a code object that the language was asked to read. */
struct interp_code *interp_code(struct interp_codes *c, uint32_t i);
/* True if a code object has to be read, for the first time or again. */
bool interp_code_is_old(const struct interp_code *c, uint64_t now_ns);
/* True if a code object was read before and had this head. */
bool
interp_code_is_same(const struct interp_code *c, const void *head, size_t n);
/* Notes that a code object was read. */
void interp_code_keep(struct interp_code *c, const void *head, size_t n,
                      uint64_t now_ns);

/* Returns the line of a position; 0 when there is none. */
typedef uint32_t
interp_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at);

/* The texts of a function in one buffer: its name and file, which end with a
 * NUL, and its line table. */
struct interp_function {
	interp_line *line;          /* reads the line table */
	uint32_t name, file, lines; /* offsets */
	uint32_t nlines;            /* bytes */
	uint32_t first_line;
};
/*
 * Keeps a function, and returns the number of one with equal contents.
 *   Errors   -E2BIG past INTERP_MAX_CODES, -ENOMEM
 */
MUST_CHECK int
interp_function_keep(struct interp_codes *c, const struct buf *texts,
                     struct interp_function f, uint32_t *out);

/*
 * Notes how the reading of a code object ended: rc is 0 if it was read, or is
 * the same as before. -ESTALE says that it is gone: what was read of it earlier
 * stays; if that is nothing, its function is named "[gone]" until another
 * sample finds it.
 *   Errors   other values of rc; those of interp_function_keep()
 */
MUST_CHECK int interp_code_end(struct interp_codes *c, uint32_t i,
                               const struct interp_space *space,
                               const void *head, size_t n, int rc);
/* The line of a language whose positions are lines. */
interp_line interp_line_is_position;
/* Appends a text of a target, without control characters. */
void interp_put_text(const void *text, size_t n, struct buf *out);

#define INTERP_NO_PLACE UINT64_MAX
static inline uint64_t
interp_place(uint32_t function, uint32_t at)
{
	return (uint64_t)function << 32 | at;
}

struct interp_name {
	const char *name, *file; /* valid as long as the codes */
	uint32_t line, start_line;
};
/* Finds the name of a place; false when there is no such place. */
bool interp_name(const struct interp_codes *c, uint64_t place,
                 struct interp_name *out);
