/*
 * A reply while it is made. Nothing is sent before the handler has returned, so
 * fail() may still replace everything.
 */
#pragma once

#include "endpoint/call/tables.h"

#define REPLY_MAX_HEADERS ((size_t)4 << 10)
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define REPLY_ETAG_MAX    96

struct reply {
	int status;
	int retry_s;              /* Retry-After, 0 none */
	const char *content_type; /* static text */
	struct buf body;
	struct buf headers;  /* "Name: value\r\n"... */
	struct buf details;  /* members of the error's details */
	struct buf warnings; /* elements of warnings[] */
	struct buf cause;    /* for the log, never for the client */
	const char *error;   /* error_code, NULL on success */
	bool is_json;        /* body is an object that warnings[] may join */
	char etag[REPLY_ETAG_MAX]; /* with its quotes; "" none */
};

void reply_init(struct reply *r);
void reply_done(struct reply *r);
/* Empties the reply for the next request; keeps memory unless it is a lot. */
void reply_clear(struct reply *r);
/* Adds a header; a value with control characters poisons r->headers. */
void reply_header(struct reply *r, const char *name, const char *fmt, ...)
	PRINTF(3, 4);
