/* Gzip, whole buffers. Source: RFC 1952. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

bool gzip_is(const void *p, size_t n);
/*
 * Appends the inflated bytes of all members of p; out bounds them. The length
 * that a file claims is only a first guess, since it may be false.
 *   Errors   -EBADMSG, -E2BIG past out->max, -ENOMEM; out is poisoned
 */
MUST_CHECK int gzip_inflate(const void *p, size_t n, struct buf *out);
/* Appends p as one member; the same bytes give the same file. */
MUST_CHECK int gzip_deflate(const void *p, size_t n, struct buf *out);
