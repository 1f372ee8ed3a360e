/*
 * Text that other systems wrote: UTF-8 after a byte order mark, UTF-16, and
 * lines that end with a carriage return alone.
 */
#pragma once

#include "base/buf.h"

/*
 * Passes over a byte order mark. UTF-16 and such lines are converted into
 * *room, which *p then points to.
 *   Errors   those of struct buf; *p untouched
 */
MUST_CHECK int import_text(const char **p, size_t *n, struct buf *room);
