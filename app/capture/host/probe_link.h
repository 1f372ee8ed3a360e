/* Links of BPF programs to probes at functions of a file, in one process. */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/* Source: linux/bpf.h, BPF_TRACE_UPROBE_MULTI of Linux 6.6 and
 * BPF_TRACE_UPROBE_SESSION of Linux 6.13. */
enum probe_link_type {
	PROBE_CALLS = 48,            /* the program sees calls, */
	PROBE_CALLS_AND_RETURNS = 57 /* and the returns it asks for */
};

struct probe_link {
	enum probe_link_type type;
	int prog_fd, file;
	int locks_fd; /* of locks_open() */
	int32_t pid;
	uint32_t n;
	const uint64_t *offsets, *cookies;
	/* Offsets of 16-bit counts of a static probe's listeners; NULL, or an
	 * offset of 0: there is none. */
	const uint64_t *counters;
};

/* Creates a link; returns its descriptor, or -errno: -EBUSY while a process
 * keeps its memory locked. Closing the descriptor removes the probes, which can
 * take some 100 ms; call locks_wait() before. */
MUST_CHECK int probe_link(const struct probe_link *of);
/* Returns 0 when this kernel has links of this type, else -EOPNOTSUPP; -EMFILE
 * and the like when it cannot be tried. */
MUST_CHECK int probe_link_try(enum probe_link_type type, int prog_fd);
/*
 * Measures what a probe costs the process that hits it, by probing a function
 * of this program: half a microsecond on bare metal, several where a hypervisor
 * handles each trap.
 *
 *   Shape    with_fds: prog_fd, for PROBE_CALLS, and locks_fd are set; prog_fd gets
 *            the cookie with calls of this process
 *   Owns     *link is the caller's; -1: there is none
 *   Returns  PROBE_LINK_NS for a cost that cannot be measured
 */
#define PROBE_LINK_NS 1000
struct probe_cost {
	uint32_t least_ns, usual_ns; /* of a call */
};
struct probe_cost
probe_link_cost(const struct probe_link *with_fds, uint64_t cookie, int *link);
