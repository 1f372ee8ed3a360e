/*
 * Finds the operation that a request is for, and runs its handler.
 */
#pragma once

#include "endpoint/call.h"
#include "endpoint/request.h"

struct route_match {
	const struct route *route; /* NULL: unknown path, or wrong method */
	unsigned allowed;          /* methods of the path, 1 << enum method */
};

/*
 * Finds the route of a request. Among the patterns that fit the path, the one
 * with the leftmost literal segments counts, for every method: GET of
 * ".../start" is a wrong method, not a profile named "start".
 */
struct route_match route_find(const struct request *r);
/* Appends "GET, HEAD, POST" for a set of methods. */
void route_allow(unsigned allowed, struct buf *out);
/* Runs the handler of the call's route. Returns 0 with a finished reply, else
 * -1. */
MUST_CHECK int route_run(struct call *c);
