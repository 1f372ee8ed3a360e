/* Names from profiled programs, in texts that assistants read. */
#pragma once

#include "base/buf.h"

#define QUOTE_MAX 160 /* bytes of a name; the middle of others is left out */

/*
 * Appends a name in double quotes. The program that has the name may be
 * hostile: control characters, quotes, and characters that are invisible or
 * change the direction of text are escaped as \u{...}. A name therefore ends
 * at its quote, stays on its line, and has no hidden part.
 */
void quote_name(struct buf *out, const char *name);
