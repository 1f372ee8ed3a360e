/*
 * The context that a thread publishes: the trace and span that it works for,
 * and attributes such as the route of a request. Its bytes were copied while
 * the thread was interrupted; they may be anything.
 *
 *   Source   opentelemetry-specification, oteps/profiles/4947-thread-ctx.md
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_MAX_KEYS       256
#define THREAD_KEY            64 /* bytes of a name, with a NUL */
#define THREAD_MAX_ATTRIBUTES 16 /* of one context; more are left out */
#define THREAD_SPAN           48 /* hexadecimal digits of a trace and a span */
#define THREAD_TRACE          32 /* those of the trace, which come first */

/* Names of attributes by their number, as a process publishes them. */
struct thread_keys {
	bool used; /* its threads publish contexts */
	uint32_t n;
	char names[THREAD_MAX_KEYS][THREAD_KEY]; /* "": not shown */
};

/*
 * Reads the names in an encoded context of a process (published.h).
 *   Errors   -EBADMSG; *out may be partly filled
 */
MUST_CHECK int
thread_keys_parse(const void *p, size_t n, struct thread_keys *out);

struct thread_attribute {
	const char *name, *value; /* value: not NUL-terminated */
	size_t len;
};

struct thread_context {
	char span[THREAD_SPAN + 1]; /* "": none */
	uint32_t n;
	struct thread_attribute attributes[THREAD_MAX_ATTRIBUTES]; /* by name */
	bool unknown; /* an attribute has a number that keys lack */
};

/*
 * Reads a thread's context. Values that are not text are left out.
 *
 *   Owns     *out points into p and keys
 *   Errors   -ENOENT it is not valid, or empty; *out undefined
 */
MUST_CHECK int
thread_context_parse(const uint8_t *p, size_t n, const struct thread_keys *keys,
                     struct thread_context *out);
