/*
 * Acts as nginx in tests: accepts HTTP on a free port of 127.0.0.1, and passes
 * requests to a pool of stoker-api over FastCGI. Also runs the command line
 * against it.
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
 * Runs `stoker ARGS` in a shell, with a key of the pool, and appends its output
 * and errors to out. Returns its exit status.
 */
int gateway_stoker(const struct gateway *g, enum api_key key, const char *args,
                   struct buf *out);

/*
 * Fails unless `stoker ARGS`, run by an administrator, exits with status and
 * writes what a pattern of fnmatch(3) describes exactly: * stands for ids,
 * times and ports.
 */
void gateway_shows(const struct gateway *g, const char *args, int status,
                   const char *pattern);

/* The arguments of a call of gateway_shows(). */
struct shown {
	const char *args;
	int status;
	const char *pattern;
};

/*
 * Runs the rows in order with a new API. Its directory contains profiles of
 * CPU time (a.folded and b.folded) and of goroutines (a.txt and b.txt), and
 * services.json. Files that commands write to $HOME.NAME are removed.
 */
void gateway_show_all(const struct shown *rows, size_t n);
