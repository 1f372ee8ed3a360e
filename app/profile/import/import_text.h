/*
 * Text that Windows wrote: UTF-8 behind a byte order mark, or UTF-16.
 */
#pragma once

#include "base/buf.h"

/*
 * Passes over a byte order mark. UTF-16 is converted into *room, which *p then
 * points to.
 *   Errors   those of struct buf; *p untouched
 */
MUST_CHECK int import_text(const char **p, size_t *n, struct buf *room);
