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
		*if_none_match, *idempotency_key, *cookie, *origin, *fetch_site,
		*host, *mcp_version;
	bool secure;                       /* received over HTTPS */
	bool loopback;                     /* sent from this machine */
	int64_t content_length;            /* -1: not a number */
	bool metrics_allowed;              /* nginx vouches for the client */
	const char *sso_user, *sso_groups; /* the user of a single sign-on,
	                                      vouched for by nginx; or "" */
	const char *certificate;           /* the host that a TLS certificate
	                                      names, vouched for by nginx; or
	                                      "" */

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
/* Name of the cookie of a browser session. Browsers accept the first name only
 * from hosts that answer by HTTPS. Source: RFC 6265bis, 4.1.3.2 */
static inline const char *
request_cookie_name(const struct request *r)
{
	return r->secure ? "__Host-stoker" : "stoker";
}
/*
 * Copies the value of the browser session's cookie.
 *   Errors   -ENOENT if none was sent, or one that is too long
 */
MUST_CHECK int request_cookie(const struct request *r, char *out, size_t size);
/*
 * True if the browser states that a page of this host sent the request, so that
 * no other site can make use of a cookie.
 *   Source   Fetch Metadata Request Headers, 2.3; Fetch, 3.2
 */
bool request_same_origin(const struct request *r);
/* Returns the first value of a query parameter, or NULL. */
const char *request_query(const struct request *r, const char *name);
