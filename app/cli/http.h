/*
 * HTTP to the server: requests with a JSON body, replies in memory.
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
	/* PEM files, borrowed: the CAs that verify the server (NULL:
	 * libcurl's), and the client's certificate and key (NULL: none) */
	const char *ca_file, *cert_file, *cert_key_file;
	/* If set, a call ends with -EINTR once *stop is not 0. */
	const volatile sig_atomic_t *stop;
	/* If set, called every HTTP_TICK_MS while a call waits. */
	void (*tick)(void *arg);
	void *tick_arg;
};

struct http_reply {
	long status;
	long retry_after; /* seconds; 0 if not sent */
	int64_t date_s;   /* the server's clock, epoch; 0 if not sent */
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
void http_reply_done(struct http_reply *r);

/*
 * Sends a request and reads the reply. Any status counts as success.
 *
 *   Shape    path begins with '/' and is percent-encoded; body may be NULL
 *   Owns     *out begins as REPLY_INIT; http_reply_done() it
 *   Errors   -EINTR when stopped, -EHOSTUNREACH with one line in *why, -ENOMEM,
 *            -E2BIG
 */
MUST_CHECK int
http_send(struct http *h, const char *method, const char *path,
          const struct content *body, struct http_reply *out, struct buf *why);
/* As http_send(), with a JSON body or none. */
MUST_CHECK int
http_call(struct http *h, const char *method, const char *path,
          const json_t *body, struct http_reply *out, struct buf *why);
/* True if the URL is of another host. */
bool http_is_remote(const char *url);
/* Appends s percent-encoded, as one path segment or query value. */
void url_escape(struct buf *out, const char *s);
/* Appends ?key=value, or &key=value after another one. Appends nothing if value
 * is NULL. */
void query_add(struct buf *path, const char *key, const char *value);

/*
 * Finds the token: from the option, the file or the environment.
 *   Owns     *out is the caller's; NULL if there is no token
 *   Errors   -errno with an explanation in *why; -ENODATA for an empty file
 */
MUST_CHECK int token_find(const char *token, const char *token_file, char **out,
                          struct buf *why);
/* Appends the folder of the user's TOKEN_FILE, or nothing if the environment
 * names no folder. */
#define TOKEN_FILE "token"
void token_home(struct buf *out);
