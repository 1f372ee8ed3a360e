/*
 * Functions and source lines that a JIT compiler wrote to jit-PID.dump, which
 * it maps executable so that profilers learn of it.
 *
 * The file grows with the code bytes of every function, so it's read piece by
 * piece and these are passed over. Code moves: a later record replaces
 * earlier ones it overlaps. Unwind information in it is not used: code that
 * comes with a jitdump mostly keeps its frame pointer.
 *
 *   Source   Linux tools/perf/Documentation/jitdump-specification.txt
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define JITDUMP_MAX_ROWS  (1u << 20) /* functions */
#define JITDUMP_MAX_LINES (1u << 22)
#define JITDUMP_MAX_TEXT  ((size_t)64 << 20) /* bytes of names */
#define JITDUMP_MAX_INFO  ((size_t)16 << 20) /* of one function's lines */
#define JITDUMP_MAX_NAME  4096

/* Copies n bytes at an offset of the file; false: they are not there. */
typedef bool jitdump_read(void *arg, uint64_t at, void *out, size_t n);

struct jitdump;

struct jit_place {
	const char *name;
	const char *file; /* NULL: no line is known */
	uint32_t line, start_line;
};

/* Whether a mapped file may be one, by its path: ".../jit-NUMBER.dump". */
bool jitdump_is_path(const char *path);
/*
 * Reads to the end, or to what makes no sense: it may just be written.
 *
 *   Owns     *out is the caller's
 *   Errors   -ENOEXEC no jitdump of this byte order; -ENOMEM; *out untouched
 */
MUST_CHECK int jitdump_new(jitdump_read *read, void *arg, struct jitdump **out);
void jitdump_free(struct jitdump *d);
DEFINE_CLEANUP(struct jitdump *, jitdump_free)
#define CLEANUP_JITDUMP CLEANUP(jitdump_free_ptr)
/* False: no function is there. Texts live as long as d. */
bool
jitdump_lookup(const struct jitdump *d, uint64_t addr, struct jit_place *out);
