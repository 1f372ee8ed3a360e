/* Signed links (store/link.h) to pages whose query decides what they show. */
#pragma once

#include "endpoint/request.h"
#include "store/link.h"

/* A query, of a page whose whole query decides what it shows. */
struct link_query {
	const struct query_pair *q;
	size_t n;
};

/*
 * Appends the part of a query that is signed, in any order: all but format and
 * the parameters that links themselves add. Different queries give different
 * texts.
 */
void link_subject(const struct link_query *query, struct buf *out);
/* Appends the query as it is in an address. */
void link_put_query(const struct link_query *query, struct buf *out);
