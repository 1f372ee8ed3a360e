/*
 * URLs of other services, and lists of allowed hosts. Only a few forms of URL
 * are accepted, so that no two parsers can read one differently.
 *
 * A URL is http or https, a host of letters, digits, '-', '_' and '.', or an
 * IPv6 address in brackets, an optional port, and a path of unreserved
 * characters. User names and fragments are refused. Source: RFC 3986, which
 * allows more.
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
	uint16_t port;           /* the scheme's default if none is given */
	const char *path; /* points into the parsed text: "", or from its '/'
	                     on, with the query */
};

/*
 *   Owns     out->path points into text
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int url_parse(const char *text, struct url *out);
/*
 * True if one of the space-separated words of list allows the URL's host:
 *
 *	localhost            this machine: 127.0.0.0/8, ::1, localhost
 *	self                 the host own; none if that is NULL
 *	host, host:port      that host; 10.0.0.7, [fd00::7]:6060
 *	*.example.com        hosts below that name
 *	*                    any
 */
bool url_allowed(const char *list, const struct url *u, const char *own);
/* True if the host is a name or address of the loopback interface. */
bool url_is_local(const struct url *u);
