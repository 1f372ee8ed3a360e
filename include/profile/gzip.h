/* Gzip, whole buffers. Source: RFC 1952. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

bool gzip_is(const void *p, size_t n);
/*
 * Appends the inflated bytes of all members of p; out bounds the size. Zeros
 * after the last one are ignored. The length in the trailer, which may be
 * false, is only used as a first guess.
 *   Errors   -EBADMSG, -E2BIG past out->max, -ENOMEM; out is poisoned
 */
MUST_CHECK int gzip_inflate(const void *p, size_t n, struct buf *out);
/* Appends p as one member. Equal input gives equal output. */
MUST_CHECK int gzip_deflate(const void *p, size_t n, struct buf *out);
/* Likewise, in a quarter of the time, to about 12 % more bytes. */
MUST_CHECK int gzip_deflate_fast(const void *p, size_t n, struct buf *out);
