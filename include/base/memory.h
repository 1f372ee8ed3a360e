/*
 * Limits on the memory of this process, and their sums.
 */
#pragma once

#include "base/conf.h"

#include <stdint.h>

/*
 * The most that each part may take beside what keys of stoker.conf allow. The
 * parts hold themselves to these limits, and stoker doctor adds them up.
 */
#define MEMORY_API_PROCESS \
	((int64_t)64 << 20) /* beside a heavy request: its
     code and caches, a light request, the inflated upload that waits */
#define MEMORY_KEEPER    ((int64_t)512 << 20)
#define MEMORY_SUMS      ((int64_t)1 << 30) /* the keeper's child that adds up */
#define MEMORY_OPENER    ((int64_t)128 << 20) /* with its readers */
#define MEMORY_SCHEDULER ((int64_t)512 << 20)
#define MEMORY_FETCHER   ((int64_t)128 << 20) /* the courier, too */
#define MEMORY_CHILD \
	((int64_t)32 << 20)                /* of the analyser's children,
     which take more one after the other */
#define MEMORY_BODIES ((int64_t)256 << 20) /* fetched, in memory files */
#define MEMORY_READINGS \
	((int64_t)256 << 20) /* kept from one periodic
     profile to the next */
#define MEMORY_COPIES \
	((int64_t)512 << 20) /* of targets' files that may
     not be read where they are */

#define MEMORY_PERIODICS          6 /* periodic profiles that are made at once */
#define MEMORY_CHILDREN(captures) (2 * (captures) + MEMORY_PERIODICS + 2)

/* Children of the analyser at once: a finisher and a checkpointer of each
 * capture, those of periodic profiles, one that writes windows and one that adds
 * them up. */
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
 * The same for a process that may open no file, with a descriptor of
 * /proc/self/statm, which may be that of the process that it was forked from.
 */
MUST_CHECK int memory_bound_by(int statm_fd, int64_t bytes);
/* Takes the limit away. */
MUST_CHECK int memory_unbound(void);
