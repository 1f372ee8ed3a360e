/*
 * URLs of other services, and lists of allowed hosts. Only a few forms of URL
 * are accepted, so that no two parsers can read one differently.
 *
 * Accepted are http and https; a host of letters, digits, '-', '_' and '.', or
 * an IPv6 address in brackets; a port; a path of unreserved characters. No
 * user, no fragment. Source: RFC 3986, which allows more.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define URL_MAX      2000
#define URL_HOST_MAX 254

struct url {
	bool tls;
	char host[URL_HOST_MAX]; /* lower case, without brackets */
	uint16_t port;           /* the scheme's when none is given */
	const char *path;        /* inside the parsed text: "" or from its
	                            '/', with the query */
};

/*
 *   Owns     out->path points into text
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int url_parse(const char *text, struct url *out);
/*
 * True when a list of words allows a URL's host.
 *
 *	localhost            this machine: 127.0.0.0/8, ::1, localhost
 *	self                 own, unless that is NULL
 *	host, host:port      that host; 10.0.0.7, [fd00::7]:6060
 *	*.example.com        hosts below that name
 *	*                    any
 */
bool url_allowed(const char *list, const struct url *u, const char *own);
/* True when the host is this machine, by any of its names. */
bool url_is_local(const struct url *u);
