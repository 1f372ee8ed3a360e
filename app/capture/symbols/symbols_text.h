/*
 * Lines of text with addresses, as in kallsyms and perf maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cuts the next line off *rest and ends it with NUL; NULL: no line is left. */
char *text_line(char **rest, const char *end);
/* Takes hex digits, with or without 0x, and the blanks after them off *p; false
 * when either is missing, or the number has more than 64 bits. */
bool text_hex(char **p, uint64_t *out);
