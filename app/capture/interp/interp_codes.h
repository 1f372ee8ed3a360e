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
#define INTERP_CODE_AGE_NS                                \
	UINT64_C(1000000000) /* for which code is trusted \
	                      */

struct interp_codes;

struct interp_codes *interp_codes_new(void); /* NULL: no memory */
void interp_codes_free(struct interp_codes *c);

/* A code object at its address in one process. */
struct interp_code {
	uint8_t head[INTERP_CODE_HEAD]; /* the language's: changed if another
	                                   object took its place */
	uint32_t function;
	uint64_t checked_ns; /* 0: never read */
};

/*
 * Finds or adds a code object, for interp_code().
 *   Errors   -E2BIG past INTERP_MAX_CODES, -ENOMEM
 */
MUST_CHECK int interp_code_at(struct interp_codes *c, int32_t pid,
                              uint64_t address, uint32_t *out);
/* Returns a code object; valid until the next interp_code_at(). */
struct interp_code *interp_code(struct interp_codes *c, uint32_t i);
/* True if code has to be read, for the first time or again. */
bool interp_code_is_old(const struct interp_code *c, uint64_t now_ns);

/* The texts of a function in one buffer: its name and file, which end with a
 * NUL, and its line table. */
struct interp_function {
	const struct language *language;
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
