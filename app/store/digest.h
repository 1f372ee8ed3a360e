/* SHA-256 in hexadecimal: of keys, and of files as they are on disk. */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

#define DIGEST_CHARS 65 /* with its NUL */

MUST_CHECK int digest(const void *p, size_t n, char out[static DIGEST_CHARS]);
/* Of a file from its start, wherever its offset is. */
MUST_CHECK int digest_file(int fd, int64_t n, char out[static DIGEST_CHARS]);
/* Bytes as hexadecimal text, and back (-EINVAL). */
void hex_encode(const unsigned char *p, size_t n, char *out);
MUST_CHECK int hex_decode(const char *text, unsigned char *out, size_t n);
