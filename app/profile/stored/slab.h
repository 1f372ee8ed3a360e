/*
 * Big pieces of memory, written once from end to end. Where the system
 * allows, they lie in huge pages: one fault for 2 MiB, not one for 4 KiB.
 */
#pragma once

#include <stddef.h>

/* Gives back what whole pages there are from..to: their bytes are lost, and
 * the memory is still to be freed by whoever holds it. */
void slab_spent(const void *from, const void *to);
/* n bytes, not cleared; free() them. NULL when out of memory. */
void *slab_new(size_t n);
