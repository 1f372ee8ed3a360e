/*
 * Selectors of PromQL: {service_name="shop", host=~"web-.*", stage!="test"}.
 *
 * A missing label counts as "". A regular expression matches a whole value.
 * Its syntax is that of RE2, without what POSIX lacks: flags other than a
 * leading (?i) or (?s), \p, and a count of a count are refused.
 *
 *   Source   prometheus.io/docs/prometheus/latest/querying/basics
 */
#pragma once

#include "base/buf.h"

#include <regex.h>
#include <stdbool.h>

#define SELECTOR_MAX          ((size_t)16 << 10) /* bytes */
#define SELECTOR_MAX_MATCHERS 32

struct matcher {
	char *name, *value;
	bool negated, pattern;
	regex_t re; /* of a pattern */
};

struct selector {
	char *text; /* memory of names and values */
	struct matcher items[SELECTOR_MAX_MATCHERS];
	size_t n;
};
#define CLEANUP_SELECTOR CLEANUP(selector_done)
void selector_done(struct selector *s);

/*
 * Reads a selector into s; an empty text has no matchers. Call it once for
 * each struct selector, or again after selector_done().
 *
 *   Errors   -EINVAL, -E2BIG past a bound, with a line in why; -ENOMEM. s can
 *            only be freed then
 */
MUST_CHECK int
selector_read(const char *text, struct selector *s, struct buf *why);
/* True if the matcher lets a value pass. */
bool matcher_passes(const struct matcher *m, const char *value);
/*
 * Compiles a regular expression in RE2's syntax, to be found with
 * pattern_matches(): whole if it must match a whole text, not any part.
 *
 *   Shape    name: what the pattern is for, as why calls it
 *   Owns     regfree(out)
 *   Errors   -EINVAL, -E2BIG, with a line in why; -ENOMEM; *out untouched
 */
MUST_CHECK int selector_pattern(const char *name, const char *pattern,
                                bool whole, regex_t *out, struct buf *why);
