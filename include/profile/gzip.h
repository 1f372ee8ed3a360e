/* Gzip, whole buffers. Source: RFC 1952. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

bool gzip_is(const void *p, size_t n);
/*
 * Appends what all members of p inflate to; out bounds it. The length a file
 * claims is only a first guess: it may lie.
 *   Errors   -EBADMSG, -E2BIG past out->max, -ENOMEM; out is poisoned
 */
MUST_CHECK int gzip_inflate(const void *p, size_t n, struct buf *out);
/* Appends p as one member; the same bytes give the same file. */
MUST_CHECK int gzip_deflate(const void *p, size_t n, struct buf *out);
