/*
 * Interned strings: equal text, equal id; id 0 is "".
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

#define STRINGS_MAX       (1u << 26)
#define STRINGS_MAX_BYTES ((size_t)1 << 30)

struct strings;

struct strings *strings_new(void);
void strings_free(struct strings *s);
/*
 * Finds or adds n bytes (they may hold NUL).
 *   Errors   -ENOMEM, -E2BIG past STRINGS_MAX or _BYTES; *out untouched
 */
MUST_CHECK int
strings_add(struct strings *s, const char *text, size_t n, uint32_t *out);
/* The text of id, NUL-terminated; n may be NULL. Valid until the next add. */
const char *strings_get(const struct strings *s, uint32_t id, size_t *n);
uint32_t strings_count(const struct strings *s);
