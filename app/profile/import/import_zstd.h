/* Files compressed with zstd. Source: RFC 8878. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

bool zstd_is(const void *p, size_t n);
/*
 * Appends the inflated bytes of all frames of p; out bounds the size.
 *   Errors   -EBADMSG, also for a frame that needs a dictionary, -E2BIG past
 *            out->max, -ENOMEM; out is poisoned
 */
MUST_CHECK int zstd_inflate(const void *p, size_t n, struct buf *out);
