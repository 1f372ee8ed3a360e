/*
 * Checks signatures of requests to Amazon's S3, independently of the product's
 * code and of libcurl, which sign them.
 *
 * Source: Authenticating Requests (AWS Signature Version 4), Amazon S3 API
 * Reference, whose examples test these checks in tests/unit/store/s3.c.
 */
#pragma once

#include <stddef.h>

#define SIGV4_HEADERS 32

struct sigv4_request {
	char *method, *path, *query; /* query: without '?', "" for none */
	struct {
		char *name, *value; /* name in lower case */
	} headers[SIGV4_HEADERS];
	size_t nheaders;
	const char *body;
	size_t nbody;
};

/* Returns the value of a header, or NULL. */
const char *sigv4_header(const struct sigv4_request *r, const char *name);
/* Returns NULL if the request is signed with the key, in its header or query;
 * otherwise the reason. */
const char *sigv4_refuses(const struct sigv4_request *r, const char *key,
                          const char *secret);
