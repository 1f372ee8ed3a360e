/*
 * Finds parts of a multipart/form-data body in place. Source: RFC 7578; RFC
 * 2046, 5.1.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

#define MULTIPART_MAX_PARTS 16

struct part {
	const char *p; /* points into the body */
	size_t n;
};

/* True when the content type is multipart/form-data. */
bool multipart_is(const char *content_type);
/*
 * Finds the part of a field; *out is {NULL, 0} when it is absent.
 *   Errors   -EBADMSG no boundary, more than MULTIPART_MAX_PARTS, or a body
 *            that does not end with its boundary
 */
MUST_CHECK int multipart_find(const char *content_type, const char *body,
                              size_t n, const char *field, struct part *out);
