/*
 * Shortens the names of functions and packages.
 *
 * The least informative parts go first: template arguments, type arguments and
 * parameters, the longest first, then qualifiers. The function's unqualified
 * name stays whole as long as it fits.
 */
#pragma once

#include "base/buf.h"

/* Appends name in at most width columns. */
void name_fit(struct buf *out, const char *name, size_t width);
