/*
 * Recognizes uploaded files that are not profiles Stoker reads: the kinds in
 * foreign.def.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define FOREIGN_LOOK ((size_t)16 << 20)

/* Appends what p[n] is, by its first bytes, and what to do instead. Returns
 * false if no row matches. */
bool foreign_start(const char *p, size_t n, struct buf *why);
/* As foreign_start(), by texts in the file; why may be NULL. */
bool foreign_text(const char *p, size_t n, struct buf *why);
