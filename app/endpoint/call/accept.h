/* Which view of a profile a client wants. */
#pragma once

#include "profile/export.h"

/*
 * The format that an Accept header likes best; the first of formats.def for
 * an empty header, or for one that names none.
 *   Source   RFC 9110, 12.5.1; parameters other than q are ignored
 */
const struct format *accept_format(const char *accept);
/* Of a type, in thousandths: that of the range that names it most exactly. */
int accept_quality(const char *accept, const char *type);
