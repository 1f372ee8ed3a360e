/*
 * The result of importing a file, as text:
 *
 * 	cpuprofile wall samples/count wall/nanoseconds
 * 	main;work 3 30000000
 * 	a note
 *
 * The first line has the format, the type and the values of the profile. Each
 * further line is a sample, root first, in the order of the profile.
 */
#pragma once

#include "profile/import.h"

/* Reads p[n] as a type ("": the file's), within small limits. Returns the
 * error, with the reason in out. */
int imported(const char *type, const void *p, size_t n, struct buf *out);
/* Reads text, and asserts the result and the description. */
void imported_is(const char *type, const char *text, int rc, const char *want);
/* As imported_is(), for a file in the corpus of the fuzzer. */
void
imported_file_is(const char *type, const char *name, int rc, const char *want);
