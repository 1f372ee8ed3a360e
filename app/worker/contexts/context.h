/*
 * Labels of profiles, made from the resource attributes that a process
 * publishes about itself (capture/contexts/published.h). A context that cannot
 * be parsed gives none, and texts that cannot be labels (container_text_ok())
 * are left out.
 */
#pragma once

#include "capture/contexts/published.h"

#include <stdbool.h>

enum context_attribute {
#define CONTEXT(name, key) CONTEXT_##name,
#include "context.def"
#undef CONTEXT
	CONTEXT_ATTRIBUTES
};
extern const char *const context_keys[CONTEXT_ATTRIBUTES];

struct context {
	struct published at;
	char *texts[CONTEXT_ATTRIBUTES]; /* NULL: not given */
};

void context_done(struct context *c);
/*
 * Parses an encoded context.
 *   Owns     context_done(out), which is {0} before
 *   Errors   -EBADMSG, -ENOMEM; *out may be partly filled
 */
MUST_CHECK int context_parse(const void *p, size_t n, struct context *out);
/*
 * Reads the context of a process, or reads it again. An unchanged context costs
 * one read of 32 bytes.
 *
 *   Owns     context_done(c), which is {0} at first
 *   Errors   -EBADMSG, those of published_read(); *c is then {0}
 */
MUST_CHECK int context_read(const struct memory *m, struct context *c);
