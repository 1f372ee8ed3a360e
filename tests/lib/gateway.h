/*
 * The part of nginx in a test: HTTP on a free port of 127.0.0.1, handed to a
 * pool of stoker-api over FastCGI. And the command line, run against it.
 */
#pragma once

#include "lib/api.h"

#include <stdint.h>

struct gateway {
	struct test_api *api;
	pid_t pid;
	uint16_t port;
};
#define CLEANUP_GATEWAY CLEANUP(gateway_stop)

/* The pool must live until gateway_stop(). */
struct gateway gateway_start(struct test_api *a);
void gateway_stop(struct gateway *g);

/*
 * Runs `stoker ARGS` in a shell, with a key of the pool, and appends what it
 * writes, errors too, to out. Returns its exit status.
 */
int gateway_stoker(const struct gateway *g, enum api_key key, const char *args,
                   struct buf *out);

/*
 * Fails unless `stoker ARGS`, called by an administrator, leaves with status
 * and writes exactly what a pattern of fnmatch(3) says: * for identifiers,
 * times and ports.
 */
void gateway_shows(const struct gateway *g, const char *args, int status,
                   const char *pattern);

/* A row of gateway_shows(). */
struct shown {
	const char *args;
	int status;
	const char *pattern;
};

/*
 * Shows them one after the other, with an API of their own, in whose directory
 * are profiles of cpu, a.folded and b.folded, of goroutines, a.txt and b.txt,
 * and services.json. What a command writes to $HOME.NAME is removed.
 */
void gateway_show_all(const struct shown *rows, size_t n);
