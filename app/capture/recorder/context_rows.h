/*
 * The contexts of a capture's samples, each kept once: spans, and sets of
 * attributes. Both are bounded; a sample for whose span there is no room keeps
 * its attributes.
 */
#pragma once

#include "capture/contexts/thread_context.h"
#include "capture/process/place.h"
#include "profile/profile.h"

#define CONTEXT_MAX_SPANS 65536
#define CONTEXT_MAX_SETS  4096
#define CONTEXT_LABELS    (THREAD_MAX_ATTRIBUTES + 2) /* of a sample */

struct context_rows {
	struct strings *spans, *sets; /* NULL: none yet */
};

void context_rows_done(struct context_rows *r);
/* Finds or adds the place of a context, in MODULE_CONTEXT; false if there is no
 * room for any of it. */
bool context_rows_place(struct context_rows *r, const struct thread_context *c,
                        struct place *out);
/* Returns the number of spans; numbers count from 1, and 0 is none. */
uint32_t context_rows_spans(const struct context_rows *r);
/* Returns the number of the span of such a place. */
static inline uint32_t
context_span_of(uint64_t vaddr)
{
	return (uint32_t)(vaddr >> 32);
}
/*
 * Makes the labels of a context from its place, with or without those of its
 * span.
 *   Errors   those of profile_string()
 */
MUST_CHECK int
context_rows_labels(const struct context_rows *r, uint64_t vaddr,
                    bool with_span, struct profile *p,
                    struct label out[static CONTEXT_LABELS], uint32_t *n);
