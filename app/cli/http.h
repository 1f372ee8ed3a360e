/*
 * HTTP to the server: a request with a JSON body, a reply in memory.
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

#include <signal.h>

#define HTTP_TOKEN_MAX 16384
#define HTTP_TICK_MS   100

struct http {
	void *curl, *multi;
	const char *server; /* borrowed */
	const char *tenant; /* borrowed; NULL: the token's default */
	char *token;        /* owned; NULL: none */
	/* PEM files: who vouches for the server, what is shown to it; borrowed,
	 * NULL: what libcurl takes, and none */
	const char *ca_file, *cert_file, *cert_key_file;
	/* When set, ends a call with -EINTR once it is not 0. */
	const volatile sig_atomic_t *stop;
	/* When set, called every HTTP_TICK_MS while a reply is waited for. */
	void (*tick)(void *arg);
	void *tick_arg;
};

struct reply {
	long status;
	long retry_after; /* seconds; 0: not told */
	int64_t date_s;   /* the server's clock, epoch; 0: not told */
	struct buf body;
	json_t *json; /* NULL unless the body is JSON */
};
#define CLEANUP_REPLY CLEANUP(http_reply_done)
#define REPLY_INIT                              \
	{                                       \
		.body = BUF_INIT(BUF_MAX_REPLY) \
	}

/* The body of a request. */
struct content {
	const char *type, *p;
	size_t n;
};

void http_done(struct http *h);
void http_reply_done(struct reply *r);

/*
 * One exchange; any status is a success here.
 *
 *   Shape    path begins with '/' and is encoded already; body may be NULL
 *   Owns     *out (REPLY_INIT) is filled; http_reply_done() it
 *   Errors   -EINTR when stopped, -EHOSTUNREACH with one line in *why,
 *            -ENOMEM, -E2BIG
 */
MUST_CHECK int
http_send(struct http *h, const char *method, const char *path,
          const struct content *body, struct reply *out, struct buf *why);
/* Sends a request with a body of JSON, or none. */
MUST_CHECK int
http_call(struct http *h, const char *method, const char *path,
          const json_t *body, struct reply *out, struct buf *why);
/* Appends s as one path segment or query value. */
void url_escape(struct buf *out, const char *s);
/* Appends ?key=value, or & behind another one; nothing where value is NULL. */
void query_add(struct buf *path, const char *key, const char *value);

/*
 * The token of this call, from the option, the file or the environment.
 *   Owns     *out is the caller's; NULL when there is none
 *   Errors   -errno with what to say in *why; -ENODATA for an empty file
 */
MUST_CHECK int token_find(const char *token, const char *token_file, char **out,
                          struct buf *why);
/* Appends the folder of this user where TOKEN_FILE is looked for; nothing
 * where the environment names none. */
#define TOKEN_FILE "token"
void token_home(struct buf *out);
