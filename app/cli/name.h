/*
 * Names of functions and packages in less room than they take.
 *
 * Parts that tell little are left out first: template and generic arguments and
 * parameters, the longest first, then qualifiers of the name. The function's
 * own name stays whole as long as there is room for it.
 */
#pragma once

#include "base/buf.h"

/* Appends name in at most width columns. */
void name_fit(struct buf *out, const char *name, size_t width);
