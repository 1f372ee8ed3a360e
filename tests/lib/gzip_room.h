/*
 * Gzip for fuzzers: the memory of a compressor is kept for the next one. ASan
 * would map it each time, which takes longer than most parsers.
 */
#pragma once

#include "base/buf.h"

/* Keeps memory from now on; may be called again. */
void gzip_room_keep(void);
/* Appends p as one member without compressing it: parsers read the same bytes,
 * but faster. Aborts on failure. */
void gzip_store(const void *p, size_t n, struct buf *out);
