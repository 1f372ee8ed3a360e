/*
 * Gzip as fuzzers use it: the memory of a compressor is kept for the next one,
 * since ASan maps that much anew each time, which takes longer than most
 * parsers do.
 */
#pragma once

#include "base/buf.h"

/* Keeps memory from now on; may be called again. */
void gzip_room_keep(void);
/* Appends p as one member, not compressed: parsers read the same, sooner. Never
 * fails but by abort(). */
void gzip_store(const void *p, size_t n, struct buf *out);
