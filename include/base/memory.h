/*
 * Limits on the memory of this process, and their sums.
 */
#pragma once

#include "base/conf.h"

#include <stdint.h>

/*
 * The most memory that each part may use in addition to what keys of
 * stoker.conf allow. Each part enforces its own limit, and stoker doctor adds
 * them up.
 */
#define MEMORY_MIB(n) ((int64_t)(n) << 20)
/* An API process without a heavy request: code and caches, a light request, and
 * an inflated upload that waits. */
#define MEMORY_API_PROCESS MEMORY_MIB(64)
/* The importer of small files that an API process has. */
#define MEMORY_IMPORTER  MEMORY_MIB(32)
#define MEMORY_KEEPER    MEMORY_MIB(512)
#define MEMORY_SUMS      MEMORY_MIB(1024) /* the keeper's child that adds up */
#define MEMORY_OPENER    MEMORY_MIB(128)  /* with its readers */
#define MEMORY_SCHEDULER MEMORY_MIB(512)
#define MEMORY_FETCHER   MEMORY_MIB(128) /* the courier, too */
/* Each of the analyser's children; one at a time takes more. */
#define MEMORY_CHILD MEMORY_MIB(32)
/* Fetched replies, in memory files. */
#define MEMORY_BODIES MEMORY_MIB(256)
/* Profiles on their way to collectors, in memory files. */
#define MEMORY_DELIVERIES MEMORY_MIB(128)
/* Copies of pushed debug files that are not files of the store. */
#define MEMORY_PUSHED MEMORY_MIB(256)
/* Readings that are kept from one periodic profile to the next. */
#define MEMORY_READINGS MEMORY_MIB(256)
/* Copies of targets' files that may not be read in place. */
#define MEMORY_COPIES MEMORY_MIB(512)

#define MEMORY_PERIODICS          6 /* periodic profiles that are made at once */
#define MEMORY_CHILDREN(captures) (2 * (captures) + MEMORY_PERIODICS + 2)

/* Returns the most children that the analyser has at once: a finisher and a
 * checkpointer for each capture, those of periodic profiles, one that writes
 * windows, and one that adds windows up. */
static inline int64_t
memory_children(const struct conf *c)
{
	return MEMORY_CHILDREN(c->worker_max_captures);
}

/* Return the most bytes that the processes of a unit may take together. */
double memory_most_api(const struct conf *c);
double memory_most_keeper(const struct conf *c);
double memory_most_worker(const struct conf *c);

/*
 * Limits how much the process may allocate from now on; allocations past the
 * limit fail.
 *   Source   setrlimit(2): RLIMIT_DATA; proc(5): data of /proc/self/statm
 */
MUST_CHECK int memory_bound(int64_t bytes);
/*
 * As memory_bound(), for a process that may open no files: it uses a descriptor
 * of /proc/self/statm, which its parent may have opened before the fork.
 */
MUST_CHECK int memory_bound_by(int statm_fd, int64_t bytes);
/* Removes the limit. */
MUST_CHECK int memory_unbound(void);
