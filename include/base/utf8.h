/* UTF-8, for untrusted text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_MAX     4 /* bytes of a character */
#define UTF8_ESCAPED 4 /* bytes of an escaped byte */

/*
 * Returns the length of the valid sequence at the start of s[n], n >= 1; 0 if
 * there is none.
 *   Source   Unicode 15, table 3-7
 */
size_t utf8_len(const unsigned char *s, size_t n);
/* True when all n bytes are valid sequences. */
bool utf8_valid(const char *s, size_t n);
/* True for a text of valid sequences without control characters; false for
 * "". */
bool utf8_printable(const char *s, size_t n);
/* Writes a character, U+FFFD for a surrogate. Returns the number of bytes. */
size_t utf8_encode(uint32_t c, char out[static UTF8_MAX]);
/* Replaces each byte that is not part of a valid sequence with a question
 * mark. */
void utf8_mend(char *text, size_t n);
/*
 * Copies n bytes to out, which has room for UTF8_ESCAPED times as many. Each
 * byte that is not part of a valid sequence becomes \xHH, so that texts that
 * differ still do. Returns the number of bytes.
 */
size_t utf8_escape(const char *text, size_t n, char *out);
