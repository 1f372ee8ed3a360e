/*
 * A FastCGI client: one request over one connection, as nginx sends it.
 * Source: FastCGI Specification 1.0, 8.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

#define CLIENT_MAX_PARAMS 32

struct client_param {
	const char *name, *value;
};

struct client_reply {
	int status;
	struct buf head, body;
	json_t *json; /* the body; NULL: it is not JSON */
};
#define CLEANUP_REPLY CLEANUP(client_reply_done)

/* Connects to a unix socket; returns a descriptor or -errno. */
int client_connect(const char *path);
/* Sends a whole request; params end with a NULL name. */
void client_send(int fd, const struct client_param *params, const char *body,
                 size_t n);
/* Sends only the first n bytes of what client_send() would send. */
void client_send_part(int fd, const struct client_param *params, size_t n);
/* Reads to the end of the request; fails the test on a broken reply. */
void client_receive(int fd, struct client_reply *out);
void client_reply_done(struct client_reply *r);
/* Returns the value of a header, or NULL. */
const char *client_header(const struct client_reply *r, const char *name);
