/*
 * The context that a process publishes about itself: SDKs of OpenTelemetry put
 * attributes into a mapping that other processes find by its name.
 *
 * The process may write anything there, and may write during a read. A context
 * is valid only if its time stamp is the same before and after the read. One
 * that is too long, or that changes at each try, is an error.
 *
 *   Source   opentelemetry-specification, oteps/profiles/4719-process-ctx.md;
 *            opentelemetry-proto 1.11, processcontext/v1development
 */
#pragma once

#include "base/buf.h"
#include "capture/host/memory.h"

#define PUBLISHED_MAX_BYTES ((size_t)16 << 10) /* of the encoded context */
#define PUBLISHED_MAX_MAPS  ((size_t)16 << 20) /* bytes of /proc/PID/maps */
#define PUBLISHED_MAX_NAMED 4 /* mappings of that name that are looked at */
#define PUBLISHED_TRIES     3

/* The place where a context was read; {0} at first. */
struct published {
	uint64_t address; /* of the mapping; 0: the process has none */
	uint64_t time_ns; /* the context's time stamp */
};

/*
 * Finds mappings of a context by their names.
 *   Shape    maps[n] is the text of /proc/PID/maps; returns their number
 */
size_t published_find(const char *maps, size_t n,
                      uint64_t out[static PUBLISHED_MAX_NAMED]);
/*
 * Reads the encoded context of a process, the first time or again. If it has
 * not changed, only its 32-byte header is read.
 *
 *   Shape    out is BUF_INIT(PUBLISHED_MAX_BYTES); returns 1 if a context was
 *            read, 0 if it is unchanged
 *   Errors   -ENOENT there is none, -EAGAIN it changed at each try, -E2BIG past
 *            PUBLISHED_MAX_BYTES, -ENOMEM, -ETIMEDOUT, those of memory_copy();
 *            *p is then {0}
 */
MUST_CHECK int
published_read(const struct memory *m, struct published *p, struct buf *out);
