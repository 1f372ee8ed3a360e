/*
 * A small HTTP server for tests, on a free port of 127.0.0.1: answers each path
 * with the bytes of its row, unchanged, and closes. It ends with the test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct canned {
	const char *path; /* without the query; "*": any other */
	const char *bytes;
	size_t n;          /* 0: strlen(bytes) */
	int hangs;         /* then sends nothing until the client has left */
	const char *again; /* sent after that without end; slowly if it hangs */
};

struct http_server {
	pid_t pid;
	uint16_t port;
	int asked; /* receives "PATH?QUERY\n" for each request, and "gone\n" when the client of a row that hangs has left */
};

/* rows must live until http_server_stop(). */
void
http_server_start(struct http_server *s, const struct canned *rows, size_t n);
void http_server_stop(struct http_server *s);
/* Reads the next line of asked, without its newline. */
void http_server_line(const struct http_server *s, char *out, size_t max);
