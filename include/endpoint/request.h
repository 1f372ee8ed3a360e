/*
 * A request as the handlers see it: nothing of HTTP's or FastCGI's syntax is
 * left, every text is NUL-terminated and holds no NUL.
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

	/* of the target, decoded */
	const char *segments[REQUEST_MAX_SEGMENTS];
	size_t nsegments;
	struct query_pair query[REQUEST_MAX_QUERY];
	size_t nquery;
	char text[REQUEST_MAX_URI + 2]; /* what these point into */

	/* headers, "" when absent */
	const char *authorization, *tenant, *content_type, *accept,
		*if_none_match, *idempotency_key;
	int64_t content_length; /* -1: not a number */
	bool metrics_allowed;   /* nginx vouches for the client */

	const char *body;
	size_t body_len;

	/* end a wait early when they become readable or hang up; -1: none */
	int stop_fd, peer_fd;
};

/*
 * Reads a raw request target: cut at '?', split at '/', then each piece
 * decoded once.
 *
 *   Shape    fills segments, query and text; a trailing slash is ignored;
 *            '+' in a query is a space
 *   Errors   -ENOENT for a path that can't be one of ours: a bad escape, a
 *            NUL, an encoded slash, an empty or dot segment, bytes that are
 *            not UTF-8; -EINVAL for such a query; -E2BIG past a bound
 *   Source   RFC 3986, 3.3 and 3.4
 */
MUST_CHECK int request_target(struct request *r, const char *uri);
enum method request_method(const char *name);
/* The first value of a query parameter, or NULL. */
const char *request_query(const struct request *r, const char *name);
