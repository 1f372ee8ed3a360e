/*
 * Reads functions and source lines from jit-PID.dump, a file that a JIT
 * compiler writes and maps as executable, so that profilers notice it.
 *
 * The file contains the code of every function, so it is read piece by piece,
 * and code is skipped. Code moves: a later record replaces earlier ones it
 * overlaps. Unwind information in it is not used: code that comes with a
 * jitdump mostly keeps its frame pointer.
 *
 *   Source   Linux tools/perf/Documentation/jitdump-specification.txt
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define JITDUMP_MAX_ROWS  (1u << 20) /* functions */
#define JITDUMP_MAX_LINES (1u << 22)
#define JITDUMP_MAX_TEXT  ((size_t)64 << 20) /* bytes of names */
#define JITDUMP_MAX_INFO  ((size_t)16 << 20) /* lines of one function */
#define JITDUMP_MAX_NAME  4096

/* Copies n bytes at an offset of the file; false when the file is shorter. */
typedef bool jitdump_read(void *arg, uint64_t at, void *out, size_t n);

struct jitdump;

struct jit_place {
	const char *name;
	const char *file; /* NULL: no line */
	uint32_t line, start_line;
};

/* True for a path that a dump may have: ".../jit-NUMBER.dump". */
bool jitdump_is_path(const char *path);
/*
 * Reads a dump to its end, or to a malformed record: the target may just be
 * writing.
 *
 *   Owns     *out is the caller's
 *   Errors   -ENOEXEC not a jitdump of this byte order; -ENOMEM; *out
 *            untouched
 */
MUST_CHECK int jitdump_new(jitdump_read *read, void *arg, struct jitdump **out);
void jitdump_free(struct jitdump *d);
DEFINE_CLEANUP(struct jitdump *, jitdump_free)
#define CLEANUP_JITDUMP CLEANUP(jitdump_free_ptr)
/* Finds the function and line at an address; false when there is none. Texts
 * are valid as long as d. */
bool
jitdump_lookup(const struct jitdump *d, uint64_t addr, struct jit_place *out);
