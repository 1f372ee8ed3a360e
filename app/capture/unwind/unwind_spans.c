#include "unwind_spans.h"

#include "base/hash.h"

#include <errno.h>

#define BUCKETS    (2 * SPANS_MAX_RULES) /* a power of two */
#define FIRST_ROOM 256

void
spans_done(struct spans *s)
{
	free(s->from);
	free(s->rule);
	free(s->rules);
	free(s->buckets);
	*s = (struct spans){0};
}

static int
init_rules(struct spans *s)
{
	s->rules = calloc(SPANS_MAX_RULES, sizeof(*s->rules));
	s->buckets = calloc(BUCKETS, sizeof(*s->buckets));
	if (!s->rules || !s->buckets) {
		spans_done(s);
		return -ENOMEM;
	}
	s->rules[0] = (struct unwind_rule){.cfa = CFA_FULL};
	s->nrules = 1;
	return 0;
}

static bool
same(struct unwind_rule a, struct unwind_rule b)
{
	return !memcmp(&a, &b, sizeof(a));
}

/* Returns the number of a rule, or 0, which is CFA_FULL, if there is no more
 * room. */
static uint16_t
number_of(struct spans *s, struct unwind_rule rule)
{
	uint64_t bits;
	uint32_t at;

	if (rule.cfa == CFA_FULL)
		return 0;
	memcpy(&bits, &rule, sizeof(bits));
	for (at = hash_u64(bits) % BUCKETS; s->buckets[at];
	     at = (at + 1) % BUCKETS)
		if (same(s->rules[s->buckets[at]], rule))
			return s->buckets[at];
	if (s->nrules == SPANS_MAX_RULES)
		return 0;
	s->rules[s->nrules] = rule;
	s->buckets[at] = (uint16_t)s->nrules;
	return (uint16_t)s->nrules++;
}

static int
grow(struct spans *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : FIRST_ROOM;
	uint32_t *from;
	uint16_t *rule;

	if (s->n == SPANS_MAX)
		return -E2BIG;
	from = reallocarray(s->from, cap, sizeof(*from));
	if (from)
		s->from = from;
	rule = reallocarray(s->rule, cap, sizeof(*rule));
	if (rule)
		s->rule = rule;
	if (!from || !rule)
		return -ENOMEM;
	s->cap = cap;
	return 0;
}

int
spans_add(struct spans *s, uint32_t from, struct unwind_rule rule)
{
	int r = 0;

	if (!s->rules)
		r = init_rules(s);
	if (!r && s->n == s->cap)
		r = grow(s);
	if (r)
		return r;
	s->from[s->n] = from;
	s->rule[s->n++] = number_of(s, rule);
	return 0;
}

struct unwind_rule
spans_rule(const struct spans *s, uint32_t first, uint32_t n, uint32_t offset)
{
	uint32_t lo = first, hi = first + n, mid;

	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (s->from[mid] <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return s->rules[s->rule[lo]];
}
