/* Signed links (store/link.h) to pages whose query decides what they show. */
#pragma once

#include "endpoint/request.h"
#include "store/link.h"

/* A query, of a page whose whole query decides what it shows. */
struct link_query {
	const struct query_pair *q;
	size_t n;
};

/* Appends what is signed of it, in whatever order it comes: all but format
 * and what links themselves add. No two queries read alike. */
void link_subject(const struct link_query *query, struct buf *out);
/* Appends it as it stands in an address. */
void link_put_query(const struct link_query *query, struct buf *out);
