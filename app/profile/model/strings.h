/*
 * Interned strings: equal text, equal id; id 0 is "". Ids count up from 0 in
 * order of first appearance, so that a table can be written as it stands.
 * Text lies in an arena and never moves.
 *
 * Names come from programs that are profiled and from uploads. Formats of
 * profiles demand UTF-8, so each byte of text that is not becomes '?' as it is
 * added; the text stays as long as it was.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

#define STRINGS_MAX       (1u << 26)
#define STRINGS_MAX_BYTES ((size_t)1 << 30)

struct strings;

/* Returns NULL when out of memory. */
struct strings *strings_new(void);
void strings_free(struct strings *s);
DEFINE_CLEANUP(struct strings *, strings_free)
#define CLEANUP_STRINGS CLEANUP(strings_free_ptr)

/*
 * Finds or adds n bytes (they may hold NUL).
 *   Errors   -ENOMEM, -E2BIG past STRINGS_MAX or _BYTES; *out untouched
 */
MUST_CHECK int
strings_add(struct strings *s, const char *text, size_t n, uint32_t *out);
#define STRINGS_AT_ONCE 16
struct string {
	const char *p;
	size_t n;
};
/* Finds or adds n strings, at most STRINGS_AT_ONCE, like strings_add(); their
 * places in memory are fetched together. */
MUST_CHECK int strings_add_all(struct strings *s, const struct string *text,
                               size_t n, uint32_t *out);
/*
 * Finds or adds text as it is, of a file that stoker wrote: versions that kept
 * bytes that are not UTF-8 wrote some whose ids must stay.
 *   Errors   of strings_add()
 */
MUST_CHECK int strings_add_stored(struct strings *s, const char *text, size_t n,
                                  uint32_t *out);
/*
 * Makes room for n strings of so many bytes, so that adding them allocates
 * nothing.
 *   Errors   -ENOMEM, -E2BIG past STRINGS_MAX or _BYTES
 */
MUST_CHECK int strings_reserve(struct strings *s, uint32_t n, size_t bytes);
/* Returns the text of id, which must exist, NUL-terminated and valid as long as
 * s; n may be NULL. */
const char *strings_get(const struct strings *s, uint32_t id, size_t *n);
uint32_t strings_count(const struct strings *s);
