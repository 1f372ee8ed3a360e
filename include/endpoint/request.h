/*
 * A request as handlers see it: the syntax of HTTP and FastCGI is gone, every
 * text is NUL-terminated and holds no NUL.
 */
#pragma once

#include "endpoint/call/tables.h"

#define REQUEST_MAX_URI      8192
#define REQUEST_MAX_SEGMENTS 16
#define REQUEST_MAX_QUERY    64
#define REQUEST_MAX_BODY     ((size_t)1 << 20)
#define REQUEST_MAX_ID       64

struct query_pair {
	const char *name, *value;
};

struct request {
	enum method method;
	const char *id; /* X-Request-Id */

	/* segments of the path and parameters of the query, decoded */
	const char *segments[REQUEST_MAX_SEGMENTS];
	size_t nsegments;
	struct query_pair query[REQUEST_MAX_QUERY];
	size_t nquery;
	char text[REQUEST_MAX_URI + 2]; /* memory that segments and query
	                                   point into */

	/* headers, "" when absent */
	const char *authorization, *tenant, *content_type, *accept,
		*if_none_match, *idempotency_key;
	int64_t content_length; /* -1: not a number */
	bool metrics_allowed;   /* nginx vouches for the client */

	const char *body;
	size_t body_len;

	/* descriptors that end a wait early when they become readable or hang
	 * up; -1: none */
	int stop_fd, peer_fd;
};

/*
 * Reads a raw request target, which is cut at '?' and split at '/' before each
 * piece is decoded once.
 *
 *   Shape    fills segments, query and text; a trailing slash is ignored;
 *            '+' in a query is a space
 *   Errors   -ENOENT for a path that no route can have: a bad escape, a NUL, an
 *            encoded slash, an empty or dot segment, bytes that are not UTF-8;
 *            -EINVAL for a query with these faults; -E2BIG past a bound
 *   Source   RFC 3986, 3.3 and 3.4
 */
MUST_CHECK int request_target(struct request *r, const char *uri);
enum method request_method(const char *name);
/* Returns the first value of a query parameter, or NULL. */
const char *request_query(const struct request *r, const char *name);
