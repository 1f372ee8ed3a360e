/*
 * Children of the opener that place probes on the functions with which
 * processes allocate memory (capture/allocs.h) and release it
 * (capture/inuse.h). They are separate processes since removing a probe can
 * take some 100 ms, and since the end of a child removes all its probes.
 */
#pragma once

#include "capture/host.h"

#include <sys/types.h>

enum prober_of { PROBER_ALLOCS, PROBER_INUSE, PROBERS };
#define PROBER_FDS 10 /* HOST_MAX_FDS has room for them */

struct prober {
	pid_t pid;  /* 0: none */
	int socket; /* to the child */
	int client; /* the client for which they watch */
};

/*
 * Has the kernel load the programs, which takes a while.
 *
 *   Shape    fds: what prober_start() takes
 *   Owns     the descriptors are the caller's
 *   Errors   as allocs_open() and inuse_open()
 */
MUST_CHECK int
prober_load(enum prober_of of, int fds[static PROBER_FDS], size_t *nfds);
/*
 * Starts a child for a client, in place of the last one.
 *
 *   Shape    fds: what prober_load() gave. On return: the descriptor that ends
 *            the child when it is closed, then the maps of outputs, of threads
 *            that interpreters run, of processes and, for memory in use, of
 *            rows
 *   Units    percent of a CPU that the probes may cost each process
 *   Owns     takes fds[], also on failure; those that it returns are the
 *            caller's
 *   Errors   -errno
 */
MUST_CHECK int
prober_start(struct prober all[static PROBERS], enum prober_of of, int client,
             int64_t percent, int fds[static PROBER_FDS], size_t *nfds);
/* Passes a HOST_PROBE question and its file on to the child. Errors: -ECHILD
 * there is no child; -EINVAL; -EAGAIN it has not read the last ones yet */
MUST_CHECK int prober_watch(const struct prober all[static PROBERS],
                            const struct host_ask *ask, int file);
/* Ends the children of a client that is gone. */
void prober_leave(struct prober all[static PROBERS], int client);
void prober_child_ended(struct prober all[static PROBERS], pid_t pid);
