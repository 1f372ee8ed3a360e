/*
 * Compiled functions: a span says from which byte on a rule holds. The same
 * rules recur thousands of times, so a span is 6 bytes: an offset and the
 * number of a rule.
 */
#pragma once

#include "unwind_rule.h"

#define SPANS_MAX       (1u << 22) /* per image; 24 MiB */
#define SPANS_MAX_RULES 4096       /* distinct; further ones are CFA_FULL */

struct spans {
	uint32_t *from;
	uint16_t *rule;
	uint32_t n, cap;
	struct unwind_rule *rules; /* [0] is CFA_FULL */
	uint16_t *buckets;
	uint32_t nrules;
};

void spans_done(struct spans *s);
/*
 * Adds a span.
 *   Errors   -E2BIG past SPANS_MAX, -ENOMEM; *s unchanged
 */
MUST_CHECK int
spans_add(struct spans *s, uint32_t from, struct unwind_rule rule);
/* Returns the rule that holds at an offset, among n ascending spans from first
 * on. */
struct unwind_rule
spans_rule(const struct spans *s, uint32_t first, uint32_t n, uint32_t offset);
