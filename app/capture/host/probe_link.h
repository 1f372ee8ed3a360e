/* Links of programs to probes at functions of a file, in one process. */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

/* Source: linux/bpf.h, BPF_TRACE_UPROBE_MULTI of Linux 6.6 and
 * BPF_TRACE_UPROBE_SESSION of Linux 6.13. */
enum probe_link_type {
	PROBE_CALLS = 48,            /* the program sees calls, */
	PROBE_CALLS_AND_RETURNS = 57 /* and returns of those it wants to */
};

struct probe_link {
	enum probe_link_type type;
	int prog_fd, file;
	int32_t pid;
	uint32_t n;
	const uint64_t *offsets, *cookies;
};

/* Makes a link: its descriptor, or -errno. The probes are gone once it is
 * closed, which can take some 100 ms. */
MUST_CHECK int probe_link(const struct probe_link *of);
/* Returns 0 when this kernel knows such links, else -EOPNOTSUPP. */
MUST_CHECK int probe_link_try(enum probe_link_type type, int prog_fd);
/*
 * Measures what a probe costs the process that runs into it, by probing a
 * function of this program: half a microsecond on a machine of its own, several
 * where a hypervisor has a part in each trap.
 *
 *   Shape    prog_fd: a program for PROBE_CALLS, whose calls of this process
 *            have the cookie
 *   Returns  PROBE_LINK_NS when that cannot be measured
 */
#define PROBE_LINK_NS 1000
struct probe_cost {
	uint32_t least_ns, usual_ns; /* of a call */
};
struct probe_cost probe_link_cost(int prog_fd, uint64_t cookie);
