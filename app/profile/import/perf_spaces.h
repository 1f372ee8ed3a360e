/*
 * The address spaces and threads of a perf recording: which file and offset, or
 * which part of the kernel, an address belongs to at a moment.
 *
 * A location of a file has its offset in the file as address, so that code has
 * one location in all processes and runs. Addresses of the kernel count from
 * the start of its text, which is random and secret.
 */
#pragma once

#include "perf_file.h"

#include "base/pairs.h"

#define PERF_MAX_MAPS 8192 /* mappings of one process; bounds time */

struct perf_map {
	uint64_t start, end;
	uint64_t shift;    /* subtracted from addresses to get the profile's */
	uint64_t offset;   /* offset in the file */
	uint32_t mapping;  /* row of the profile */
	uint32_t function; /* the function of all of its code; or
	                      PROFILE_NONE */
};

struct perf_space {
	struct perf_map *maps; /* sorted by address */
	uint32_t n, room;
	uint64_t version; /* version of its mappings; no two are equal */
};

struct perf_spaces {
	struct perf_file *file;
	struct perf_space kernel;
	struct perf_space *rows; /* by index of the pid */
	uint32_t *comms;         /* by number of tid; strings of the profile */
	uint32_t room, comm_room;
	struct pairs pids, tids;
	uint64_t nmaps, version;
	uint64_t left_out; /* mappings of processes that have too many */
};

void perf_spaces_init(struct perf_spaces *s, struct perf_file *f);
void perf_spaces_done(struct perf_spaces *s);
/* Applies a record to the spaces; records that do not change them are passed
 * over. */
MUST_CHECK int
perf_spaces_apply(struct perf_spaces *s, const struct perf_record *r);
/* Finds the space of a process, with no mapping if it is new. */
MUST_CHECK int perf_space_of(struct perf_spaces *s, uint32_t pid,
                             const struct perf_space **out);
/* Finds the mapping with an address; NULL: there is none. */
const struct perf_map *
perf_map_find(const struct perf_space *s, uint64_t address);
/* Finds the name of a thread. */
MUST_CHECK int perf_thread_name(struct perf_spaces *s, uint32_t pid,
                                uint32_t tid, uint32_t *out);
