/*
 * Media types of requests: the one that a body has, and the view of a profile
 * that a client prefers.
 */
#pragma once

#include "profile/export.h"

/*
 * Returns the format that an Accept header prefers; the first of formats.def
 * for an empty header, or for one that names none.
 *   Source   RFC 9110, 12.5.1; parameters other than q are ignored
 */
const struct format *accept_format(const char *accept);
/* True if a Content-Type, which may have parameters, is a type, in any case. */
bool content_is(const char *content_type, const char *type);
/* Returns the quality of a type in thousandths, by the range that names it most
 * precisely. */
int accept_quality(const char *accept, const char *type);
