/*
 * Patterns that users write: POSIX extended regular expressions, restricted so
 * that no pattern makes the matcher run or grow without bound.
 *
 * Back-references are refused, because glibc's matcher takes exponential time
 * for them. A pattern may have one count {n,m}, up to PATTERN_COUNT_MAX, and
 * PATTERN_LOOPS_MAX groups with *, fewer with + or if it is long: counts and +
 * within others multiply memory, and loops within others take time. Only the
 * first PATTERN_TEXT_MAX bytes of a text are matched.
 */
#pragma once

#include "base/cleanup.h"

#include <regex.h>
#include <stdbool.h>

#define PATTERN_MAX       512 /* bytes of a pattern */
#define PATTERN_COUNT_MAX 100 /* in a count {n,m} */
#define PATTERN_LOOPS_MAX 16  /* groups that are repeated by * or + */
#define PATTERN_TEXT_MAX  4096

/*
 * Compiles a pattern.
 *   Owns     regfree(out)
 *   Errors   -EINVAL, -E2BIG past PATTERN_MAX, -ENOMEM; *out untouched
 */
MUST_CHECK int pattern_compile(const char *text, regex_t *out);
/* As pattern_compile(), but -E2BIG past `most` bytes. any_case: letters match
 * in upper and lower case. */
MUST_CHECK int pattern_compile_within(const char *text, size_t most,
                                      bool any_case, regex_t *out);
/* As pattern_compile(); letters match in upper and lower case. */
MUST_CHECK int pattern_compile_any_case(const char *text, regex_t *out);
bool pattern_matches(const regex_t *re, const char *text);
