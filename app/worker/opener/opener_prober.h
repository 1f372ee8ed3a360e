/*
 * Children of the opener that watch the functions of processes which allocate
 * memory (capture/allocs.h), and which release it, too (capture/inuse.h):
 * taking a probe away can last some 100 ms, and all probes are gone when the
 * child is.
 */
#pragma once

#include "capture/host.h"

#include <sys/types.h>

enum prober_of { PROBER_ALLOCS, PROBER_INUSE, PROBERS };
#define PROBER_FDS 5

struct prober {
	pid_t pid;  /* 0: none */
	int socket; /* to it */
	int client; /* who asked for it */
};

/*
 * Starts a child for a client, in place of the last one.
 *
 *   Shape    fds: what ends the child when it is closed, outputs, threads that
 *            interpreters run; for memory in use also the maps of processes
 *            and of rows
 *   Units    percent of a CPU's time, which probes may cost each process
 *   Owns     the descriptors are the caller's
 *   Errors   as allocs_open() and inuse_open(); -errno
 */
MUST_CHECK int
prober_start(struct prober all[static PROBERS], enum prober_of of, int client,
             int64_t percent, int fds[static PROBER_FDS], size_t *nfds);
/* Returns 0 when the kernel takes the programs; else as prober_start(). */
MUST_CHECK int prober_try(enum prober_of of);
/* Passes a question of HOST_PROBE on, with its file; -ECHILD when there is no
 * child, -EINVAL. */
MUST_CHECK int prober_watch(const struct prober all[static PROBERS],
                            const struct host_ask *ask, int file);
/* Ends children when their client has gone. */
void prober_leave(struct prober all[static PROBERS], int client);
void prober_child_ended(struct prober all[static PROBERS], pid_t pid);
