/*
 * Samples of memory in use, taken by BPF programs that are attached to the
 * functions of some processes that allocate and release memory. The rows of
 * capture/host/inuse_layout.h show which samples are still in use.
 *
 * Every call is watched, all the time: a missed release would look like a leak.
 * Calls cost as much as in allocs.h. When they cost a process more than its
 * budget allows, watching it ends.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/host/inuse_layout.h"

#include <stdint.h>

/* Size of the programs' state that is mapped shared. */
#define INUSE_SLOTS_BYTES (EMIT_SLOTS * sizeof(struct inuse_slot))
#define INUSE_SETS_BYTES  (INUSE_SETS * sizeof(struct inuse_set))

struct inuse {
	int slots_fd; /* maps to be mapped shared: struct inuse_slot, */
	int sets_fd;  /* and struct inuse_set */
	/* as in struct allocs */
	int outputs_fd, interps_fd, calls_fd, arguments_fd;
	int hold_fd, free_fd, sampled_fd, released_fd; /* the programs */
	int locks_fd;
};

/*
 * Loads the programs; nobody is watched yet.
 *
 *   Owns     the descriptors are the caller's
 *   Errors   -EPERM without CAP_BPF and CAP_PERFMON; -EOPNOTSUPP before Linux
 *            6.13; -errno of bpf(2)
 */
MUST_CHECK int inuse_open(struct inuse *out);
void inuse_close(struct inuse *u);
/* Watches processes as allocs_run() does. */
void inuse_run(const struct inuse *u, int socket, int hold, unsigned budget);
/* Makes the rows of a slot unused. */
void inuse_forget(struct inuse_set sets[static INUSE_SETS], uint32_t slot);
