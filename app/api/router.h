/* Which operation a request is for. */
#pragma once

#include "endpoint/request.h"

struct match {
	const struct route *route; /* NULL: no such path, or wrong method */
	unsigned allowed;          /* methods of the path, 1 << enum method */
};

/*
 * Finds the route of a request. Of the patterns that fit the path, the one
 * with the leftmost literal segments counts, under every method: GET of
 * ".../start" is a wrong method, not a profile named "start".
 */
struct match route_find(const struct request *r);
/* Appends "GET, HEAD, POST" for a set of methods. */
void route_allow(unsigned allowed, struct buf *out);
