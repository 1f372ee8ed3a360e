/* Stored profiles in one of the formats of formats.def. */
#pragma once

#include "endpoint/call.h"
#include "profile/export.h"
#include "store/blob.h"
#include "store/session.h"

/*
 * Fills the reply's body, or names the file for nginx to send; 0, or -1 with
 * the reply.
 */
MUST_CHECK int view_render(struct call *c, const struct session *s,
                           const struct format *f, const struct blob *b);
/* The same, made whole and gzipped: a file, not a page. */
MUST_CHECK int view_gzipped(struct call *c, const struct session *s,
                            const struct format *f, const struct blob *b);
