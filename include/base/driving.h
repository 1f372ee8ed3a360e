/*
 * Characters that control a terminal or set the direction of text, which can
 * make a name look like another. utf8_printable() is false for a text with any.
 *   Source   ECMA-48: C0, DEL and C1 (U+0080..U+009F); Unicode 15, section
 *            23.2: U+061C, U+200E, U+200F, U+202A..U+202E, U+2066..U+2069
 */
#pragma once

#include <stddef.h>

/* Returns the length of such a character at the start of s[n], n >= 1; 0 if
 * there is none. */
size_t driving(const unsigned char *s, size_t n);
/* Replaces each byte of such characters, a newline by a space. */
void driving_replace(char *text, size_t n, char by);
