/* UTF-8, for text that strangers wrote. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the length of the valid sequence at s[n], n >= 1; 0 if there is none.
 *   Source   Unicode 15, table 3-7
 */
size_t utf8_len(const unsigned char *s, size_t n);
/* True when all n bytes are valid sequences. */
bool utf8_valid(const char *s, size_t n);
/* Replaces each byte that belongs to no valid sequence by a question mark. */
void utf8_mend(char *text, size_t n);
