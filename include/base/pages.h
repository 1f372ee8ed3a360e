/*
 * Large blocks of memory. They use huge pages if the system allows: one page
 * fault per 2 MiB instead of one per 4 KiB.
 */
#pragma once

#include <stddef.h>

#define PAGES_HUGE ((size_t)2 << 20)

/* Allocates n uninitialized bytes; free() them. */
void *pages_new(size_t n);
/* Asks for huge pages for a block that malloc() or realloc() made, if it is
 * large. */
void pages_huge(void *p, size_t n);
/* Frees the memory of whole pages between two places; they read as zeros from
 * then on. */
void pages_spent(const void *from, const void *to);
