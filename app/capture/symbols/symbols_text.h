/* Lines of text that name addresses: what kallsyms and perf maps share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cuts the next line off *rest, ends it with NUL;
 * NULL when there is none. */
char *text_line(char **rest, const char *end);
/* Reads hex digits, 0x before them or not, and the blanks after them off *p;
 * false: either is missing, or more than 64 bits of them. */
bool text_hex(char **p, uint64_t *out);
