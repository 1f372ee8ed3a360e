/*
 * A child of the opener that watches the allocation functions of processes
 * (capture/allocs.h): taking a probe away can last some 100 ms, and all probes
 * are gone when the child is.
 */
#pragma once

#include "capture/host.h"

#include <sys/types.h>

#define PROBER_FDS 3

struct prober {
	pid_t pid;  /* 0: none */
	int socket; /* to it */
	int client; /* who asked for it */
};

/*
 * Starts a child for a client, in place of the last one.
 *
 *   Shape    fds: outputs, threads that run Python, and what ends the child
 * when it is closed Owns     the descriptors are the caller's Errors   as
 * allocs_open(); -errno
 */
MUST_CHECK int
prober_start(struct prober *p, int client, int fds[static PROBER_FDS]);
/* Passes a question of HOST_PROBE on, with its file; -ECHILD when there is no
 * child, -EINVAL. */
MUST_CHECK int
prober_watch(const struct prober *p, const struct host_ask *ask, int file);
/* Ends the child when its client has gone. */
void prober_leave(struct prober *p, int client);
void prober_child_ended(struct prober *p, pid_t pid);
