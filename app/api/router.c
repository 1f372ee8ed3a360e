#include "router.h"

#include "endpoint/call/tables.h"

#include <string.h>

static int (*const handlers[OP_COUNT])(struct call *c) = {
#define ROUTE(method, path, handler, who, body, op, status, others, reply, \
              summary)                                                     \
	[OP_##op] = handler,
#include "routes.def"
#undef ROUTE
};

int
route_run(struct call *c)
{
	return handlers[c->route->op](c);
}

#define NO_MATCH (-1)

/* Rates how well a pattern fits a path: NO_MATCH, or a number with one bit per
 * literal segment, the leftmost being the highest. */
static int
fit(const char *pattern, const struct request *r)
{
	int score = 0;
	size_t i;

	for (i = 0; *pattern == '/' && pattern[1]; i++) {
		size_t n = strcspn(++pattern, "/");

		if (i == r->nsegments)
			return NO_MATCH;
		score <<= 1;
		if (*pattern != '{') {
			if (strncmp(pattern, r->segments[i], n) ||
			    r->segments[i][n])
				return NO_MATCH;
			score |= 1;
		}
		pattern += n;
	}
	return i == r->nsegments ? score : NO_MATCH;
}

static bool
serves(const struct route *route, enum method m)
{
	return route->method == m ||
	       (route->method == METHOD_GET && m == METHOD_HEAD);
}

struct route_match
route_find(const struct request *r)
{
	struct route_match found = {0};
	int best = NO_MATCH;

	for (size_t i = 0; i < OP_COUNT; i++) {
		int score = fit(routes[i].path, r);

		if (score == NO_MATCH || score < best)
			continue;
		if (score > best)
			found = (struct route_match){0};
		best = score;
		found.allowed |= 1u << routes[i].method;
		if (routes[i].method == METHOD_GET)
			found.allowed |= 1u << METHOD_HEAD;
		if (serves(&routes[i], r->method))
			found.route = &routes[i];
	}
	return found;
}

void
route_allow(unsigned allowed, struct buf *out)
{
	for (unsigned m = 0; m < METHOD_OTHER; m++)
		if (allowed & 1u << m) {
			buf_puts(out, out->len ? ", " : "");
			buf_puts(out, method_names[m]);
		}
}
