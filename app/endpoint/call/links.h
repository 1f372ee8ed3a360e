/* Signed links (store/link.h) to pages whose query decides what they show. */
#pragma once

#include "endpoint/request.h"
#include "store/link.h"

/* The query of a page whose whole query decides what it shows. */
struct link_query {
	const struct query_pair *q;
	size_t n;
};

/*
 * Appends the signed part of a query: all parameters but format and those that
 * links add, in an order independent of the query's. Different queries give
 * different texts.
 */
void link_subject(const struct link_query *query, struct buf *out);
/* Appends the query, encoded for a URL. */
void link_put_query(const struct link_query *query, struct buf *out);
