/*
 * The context that a process publishes about itself: SDKs of OpenTelemetry put
 * the attributes of their resource into a mapping that other processes find by
 * its name.
 *
 * The process may write anything there, and may write while it is read. A
 * context counts if its time stamp is the same before and after the read; one
 * that is too long, changes at each try or does not parse is an error, and the
 * process then has no context. Texts that could not be labels
 * (container_text_ok()) are left out.
 *
 *   Source   opentelemetry-specification, oteps/profiles/4719-process-ctx.md;
 *            opentelemetry-proto 1.11, processcontext/v1development
 */
#pragma once

#include "capture/host/memory.h"

#include <stdbool.h>

#define CONTEXT_MAX_BYTES ((size_t)16 << 10) /* of the encoded context */
#define CONTEXT_MAX_MAPS  ((size_t)16 << 20) /* bytes of /proc/PID/maps */
#define CONTEXT_MAX_NAMED 4 /* mappings of that name that are looked at */
#define CONTEXT_TRIES     3

enum context_attribute {
#define CONTEXT(name, key) CONTEXT_##name,
#include "context.def"
#undef CONTEXT
	CONTEXT_ATTRIBUTES
};
extern const char *const context_keys[CONTEXT_ATTRIBUTES];

struct context {
	uint64_t address;      /* of the mapping; 0: the process has none */
	uint64_t published_ns; /* the context's time stamp */
	char *texts[CONTEXT_ATTRIBUTES]; /* NULL: not given */
};

void context_done(struct context *c);
/*
 * Finds mappings of a context by their names.
 *   Shape    maps[n] is the text of /proc/PID/maps; returns their number
 */
size_t context_find(const char *maps, size_t n,
                    uint64_t out[static CONTEXT_MAX_NAMED]);
/*
 * Parses an encoded context.
 *   Owns     context_done(out), which is {0} before
 *   Errors   -EBADMSG, -ENOMEM; *out may be partly filled
 */
MUST_CHECK int context_parse(const void *p, size_t n, struct context *out);
/*
 * Reads the context of a process, or reads it again. An unchanged context costs
 * one read of 32 bytes.
 *
 *   Owns     context_done(c), which is {0} at first
 *   Errors   -ENOENT there is none, -EAGAIN it changed at each try, -E2BIG past
 *            CONTEXT_MAX_BYTES, -EBADMSG, -ENOMEM, -ETIMEDOUT, those of
 *            memory_copy(); *c is then {0}
 */
MUST_CHECK int context_read(const struct memory *m, struct context *c);
