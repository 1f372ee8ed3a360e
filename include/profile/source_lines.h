/*
 * The cost of each source line, as go tool pprof shows it with -lines.
 *
 * A line belongs to the function whose code it is, which may be inlined in
 * others. Frames without a source file have no line.
 */
#pragma once

#include "profile/profile.h"

struct source_line {
	uint32_t name, file; /* strings of the profile */
	int64_t line;        /* 0: unknown */
	int64_t self, total; /* in the type's unit; recursion counted once */
	uint32_t sample;     /* private: last counted, plus 1 */
};

/* Compares two lines by file, then by number, for qsort(3). */
int source_line_by_place(const void *a, const void *b);

struct source_lines {
	struct source_line *items; /* that occur; by self, then total, largest
	                              first */
	uint32_t n;
};
void source_lines_done(struct source_lines *l);
#define CLEANUP_SOURCE_LINES CLEANUP(source_lines_done)

/*
 * Adds up the lines of a function, or of all of them if function is NULL. Sums
 * leave out values with which they would overflow.
 *
 *   Owns     *out is the caller's; source_lines_done() it
 *   Errors   -ENOMEM, -E2BIG; *out untouched
 */
MUST_CHECK int
source_lines_find(const struct profile *p, uint32_t type, const char *function,
                  struct source_lines *out);
