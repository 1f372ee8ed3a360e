/*
 * SHA-256 in hexadecimal, of keys and of files.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

#define DIGEST_CHARS 65 /* with its NUL */

MUST_CHECK int digest(const void *p, size_t n, char out[static DIGEST_CHARS]);
/* Hashes a file of n bytes; -EBADMSG if it has another length. */
MUST_CHECK int digest_file(int fd, int64_t n, char out[static DIGEST_CHARS]);
/*
 * Hashes n bytes of a file, and passes each piece and its offset to sink
 * unless it is NULL.
 *   Errors   -EBADMSG when the file ends early, the result of sink, -errno
 */
typedef int digest_sink(void *arg, const void *p, size_t n, int64_t at);
MUST_CHECK int digest_piece(int fd, int64_t start, int64_t n, digest_sink *sink,
                            void *arg, char out[static DIGEST_CHARS]);
/* Converts bytes to hexadecimal text, and back (-EINVAL). */
void hex_encode(const unsigned char *p, size_t n, char *out);
MUST_CHECK int hex_decode(const char *text, unsigned char *out, size_t n);
