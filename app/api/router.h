/*
 * Finds the route of a request and runs its handler.
 */
#pragma once

#include "endpoint/call.h"
#include "endpoint/request.h"

struct route_match {
	const struct route *route; /* NULL: unknown path, or wrong method */
	unsigned allowed;          /* methods of the path, 1 << enum method */
};

/*
 * Finds the route of a request. If several patterns fit the path, the pattern
 * whose literal segments are leftmost wins, whatever its method: GET of
 * ".../start" is a wrong method, not a request for a profile named "start".
 */
struct route_match route_find(const struct request *r);
/* Appends the names of a set of methods: "GET, HEAD, POST". */
void route_allow(unsigned allowed, struct buf *out);
/* Runs the handler of the call's route. Returns 0 with a finished reply, or -1
 * with an error reply. */
MUST_CHECK int route_run(struct call *c);
