/*
 * The executable mappings of one process, by address.
 */
#pragma once

#include "base/buf.h"
#include "base/cleanup.h"
#include "capture/host.h"

#include <stdbool.h>
#include <stdint.h>

#define MAPS_MAX_TEXT ((size_t)16 << 20) /* /proc/PID/maps */
#define MAPS_MAX      32768 /* more are dropped: vm.max_map_count is 65530 */

struct map {
	uint64_t start, end; /* addresses */
	uint64_t bias;       /* address - bias: vaddr in the module */
	uint32_t module;
};

struct maps {
	struct map *rows; /* by start, without overlap */
	uint32_t n, cap;
};

void maps_done(struct maps *m);
void maps_clear(struct maps *m);
/*
 * Adds a mapping, which replaces the parts of older ones that it covers.
 *   Errors   -EINVAL empty, -E2BIG past MAPS_MAX, -ENOMEM; *m unchanged
 */
MUST_CHECK int maps_add(struct maps *m, const struct map *row);
/* Finds the mapping at addr; NULL when nothing executable is there. */
const struct map *maps_find(const struct maps *m, uint64_t addr);
/* True when anything executable lies in [start, end). */
bool maps_overlap(const struct maps *m, uint64_t start, uint64_t end);
/* Copies all mappings to *to, which must be empty. */
MUST_CHECK int maps_copy(const struct maps *from, struct maps *to);

/* A mapping as the kernel reports it, before its file is known. */
struct map_seen {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t major, minor;
	const uint8_t *build_id; /* NULL: the kernel gave none */
	uint32_t build_id_size;
	const char *path; /* "" for memory without a file */
	bool executable;
	bool unlinked; /* path no longer leads to the file, and
	                     the kernel's mark was removed from it */
};

/*
 * Reads /proc/PID/maps.
 *   Errors   -ESRCH no such process, or it no longer has memory; as
 *            host_fd() and fd_read_all()
 */
MUST_CHECK int maps_text(const struct host *host, int32_t pid, struct buf *out,
                         uint32_t *threads);
/*
 * Reads one line of /proc/PID/maps, without its newline; the line is modified.
 *
 *   Owns     out->path points into line
 *   Errors   -EBADMSG; *out untouched
 *   Source   proc(5)
 */
MUST_CHECK int maps_parse(char *line, struct map_seen *out);
/*
 * Splits the text of /proc/PID/maps into rows. Broken lines are left out.
 *   Owns     *out is the caller's, free() it; paths point into text
 *   Errors   -ENOMEM
 */
MUST_CHECK int maps_split(char *text, struct map_seen **out, size_t *n);
/* True for two mappings of one file. */
bool maps_same_file(const struct map_seen *a, const struct map_seen *b);
/* Removes " (deleted)", the kernel's mark of an unlinked file, from the end of
 * a path. Returns false if the path has no mark. */
bool maps_cut_unlinked(char *path);
