/*
 * Says what a file is that is uploaded and is no profile that Stoker reads.
 * foreign.def lists them.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define FOREIGN_LOOK ((size_t)16 << 20)

/* Appends what p[n] is by its first bytes, and what to do. Returns false if
 * they are in no row. */
bool foreign_start(const char *p, size_t n, struct buf *why);
/* The same by the texts in it. */
bool foreign_text(const char *p, size_t n, struct buf *why);
