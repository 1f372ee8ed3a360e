/*
 * Reads functions from /tmp/perf-PID.map, which a JIT compiler writes.
 *
 * Source: Linux tools/perf/Documentation/jit-interface.txt: one line per
 * function, "START SIZE name", numbers in hex (the JDK writes 0x before them),
 * the name to the end of the line. Code moves: a later line replaces earlier
 * ones it overlaps.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define PERFMAP_MAX_BYTES ((size_t)64 << 20)
#define PERFMAP_MAX_ROWS  (1u << 21)

struct perfmap;

/*
 * Parses the whole text; malformed lines are skipped.
 *
 *   Owns     on success the text is taken over and *out is the caller's
 *   Errors   -E2BIG past PERFMAP_MAX_ROWS, -ENOMEM; text, *out untouched
 */
MUST_CHECK int perfmap_new(struct buf *text, struct perfmap **out);
void perfmap_free(struct perfmap *m);
DEFINE_CLEANUP(struct perfmap *, perfmap_free)
#define CLEANUP_PERFMAP CLEANUP(perfmap_free_ptr)

/* Returns the name of the function at addr, valid as long as m, or NULL. */
const char *perfmap_lookup(const struct perfmap *m, uint64_t addr);
