/*
 * Whether a request is signed as Amazon's S3 has it, by code of its own: what
 * the product and libcurl sign is checked against this.
 *
 * Source: Authenticating Requests (AWS Signature Version 4), Amazon S3 API
 * Reference, whose examples tests/unit/store/s3.c checks this by.
 */
#pragma once

#include <stddef.h>

#define SIGV4_HEADERS 32

struct sigv4_request {
	char *method, *path, *query; /* query: without '?', "" for none */
	struct {
		char *name, *value; /* name in small letters */
	} headers[SIGV4_HEADERS];
	size_t nheaders;
	const char *body;
	size_t nbody;
};

/* The value of a header; NULL when there is none. */
const char *sigv4_header(const struct sigv4_request *r, const char *name);
/* Returns NULL when the request is signed by that key, in its header or in its
 * query, or why it is not. */
const char *sigv4_refuses(const struct sigv4_request *r, const char *key,
                          const char *secret);
