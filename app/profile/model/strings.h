/*
 * Interned strings: equal texts have equal ids, and id 0 is "". Ids count from
 * 0 in order of first appearance, so that the table can be written to a file as
 * it is. Text is in an arena and never moves.
 *
 * Names come from profiled programs and from uploads, but profile formats
 * require UTF-8. Each byte that is not UTF-8 is therefore replaced by '?' when
 * text is added; its length does not change.
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
 * Finds or adds n bytes, which may include NUL.
 *   Errors   -ENOMEM, -E2BIG past STRINGS_MAX or _BYTES; *out untouched
 */
MUST_CHECK int
strings_add(struct strings *s, const char *text, size_t n, uint32_t *out);
/*
 * Finds n bytes of UTF-8.
 *   Errors   -ENOENT; *out untouched
 */
MUST_CHECK int strings_find(const struct strings *s, const char *text, size_t n,
                            uint32_t *out);
#define STRINGS_AT_ONCE 16
struct string {
	const char *p;
	size_t n;
};
/* As strings_add(), for up to STRINGS_AT_ONCE strings; what it reads is
 * prefetched for all together. */
MUST_CHECK int strings_add_all(struct strings *s, const struct string *text,
                               size_t n, uint32_t *out);
/*
 * Finds or adds text unchanged, from a file that Stoker wrote. Earlier versions
 * kept bytes that are not UTF-8; replacing them now could make two strings
 * equal and shift the ids.
 *   Errors   those of strings_add()
 */
MUST_CHECK int strings_add_stored(struct strings *s, const char *text, size_t n,
                                  uint32_t *out);
/*
 * Makes room for n strings with a total length of bytes, so that adding them
 * allocates nothing.
 *   Errors   -ENOMEM, -E2BIG past STRINGS_MAX or _BYTES
 */
MUST_CHECK int strings_reserve(struct strings *s, uint32_t n, size_t bytes);
/* Returns the NUL-terminated text of id, which must exist; it is valid as long
 * as s. n may be NULL. */
const char *strings_get(const struct strings *s, uint32_t id, size_t *n);
uint32_t strings_count(const struct strings *s);
