/*
 * Compiled functions: from which byte on which rule holds. Rules repeat
 * themselves a thousandfold, so a span is 6 bytes: an offset and a rule's
 * number.
 */
#pragma once

#include "unwind_rule.h"

#define SPANS_MAX       (1u << 22) /* per image; 24 MiB */
#define SPANS_MAX_RULES 4096       /* different ones; others are CFA_FULL */

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
 * Adds one.
 *   Errors   -E2BIG past SPANS_MAX, -ENOMEM; *s as before
 */
MUST_CHECK int
spans_add(struct spans *s, uint32_t from, struct unwind_rule rule);
/* The rule that holds at an offset, of n spans from first on that ascend. */
struct unwind_rule
spans_rule(const struct spans *s, uint32_t first, uint32_t n, uint32_t offset);
