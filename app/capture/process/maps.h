/*
 * The executable mappings of one process, by address.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define MAPS_MAX 32768 /* more are passed over: vm.max_map_count is 65530 */

struct map {
	uint64_t start, end; /* addresses */
	uint64_t bias;       /* address - bias: address in the module */
	uint32_t module;
};

struct maps {
	struct map *rows; /* by start, none overlaps */
	uint32_t n, cap;
};

void maps_done(struct maps *m);
void maps_clear(struct maps *m);
/*
 * Adds a mapping; what it covers of older ones is gone.
 *   Errors   -EINVAL empty, -E2BIG past MAPS_MAX, -ENOMEM; *m as before
 */
MUST_CHECK int maps_add(struct maps *m, const struct map *row);
/* NULL when nothing executable is there. */
const struct map *maps_find(const struct maps *m, uint64_t addr);
/* Whether anything executable lies in [start, end). */
bool maps_overlap(const struct maps *m, uint64_t start, uint64_t end);
/* *to, which must be empty, becomes as *from. */
MUST_CHECK int maps_copy(const struct maps *from, struct maps *to);

/* A mapping as the kernel names it, before its file is known. */
struct map_seen {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t major, minor;
	const uint8_t *build_id; /* NULL: the kernel did not say */
	uint32_t build_id_size;
	const char *path; /* "" for memory without a file */
};

/*
 * Reads one line of /proc/PID/maps (without its newline; it is written to).
 *
 *   Owns     out->path points into line
 *   Errors   -EBADMSG; *out untouched
 *   Source   proc(5)
 */
MUST_CHECK int maps_parse(char *line, struct map_seen *out, bool *executable);
