/*
 * Random ids: a prefix such as "sess-" and 20 characters of [a-z2-7], 100 bits.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_RANDOM_CHARS 20
#define ID_MAX          64 /* longest id of any kind, with its NUL */

/* Fills n bytes from the kernel's generator; aborts if it has none. */
void random_bytes(void *out, size_t n);
/* Makes an id: prefix, of up to 40 characters, and ID_RANDOM_CHARS random
 * ones. */
void id_new(const char *prefix, char out[static ID_MAX]);
/* True if id is prefix followed by one or more of [A-Za-z0-9._-] and fits
 * ID_MAX. Such an id is safe as a file name. */
bool id_valid(const char *prefix, const char *id);
