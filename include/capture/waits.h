/*
 * Samples of waits: off-CPU time, with the stack of the thread that waited and
 * what it waited for. waits.def has the system calls that are input and output.
 *
 * A BPF program measures every wait of the followed processes and reports a
 * random part of the waits (emit_layout.h). The target pays some 100 ns per
 * context switch.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/host/emit_layout.h"

#include <stdbool.h>
#include <stdint.h>

struct waits_ask {
	bool results; /* report the bytes that system calls transferred; slows
	                 every system call on the host */
};

enum waits_fd {
	WAITS_CONTROL, /* a map to be mapped shared: struct emit_control and
	                  bits; no process is followed at first */
	WAITS_OUTPUTS, /* the array of events that samples are written to */
	WAITS_INTERPS, /* a map to be mapped shared: struct interp_table;
	                  samples of its threads have the interpreter's
	                  frames */
	WAITS_FAULTS,  /* the program that event_open_faults() runs */
	WAITS_SWITCH, /* links: the programs are attached while they are open */
	WAITS_END,
	WAITS_FORK,
	WAITS_FDS
};

struct waits {
	int fds[WAITS_FDS];
	uint32_t nbits; /* number of processes with a bit, a multiple of 64 */
};

/*
 * Loads and attaches the programs. They run for the whole host, but write no
 * sample before a process is followed and an event is among the outputs.
 *
 *   Owns     the descriptors are the caller's
 *   Errors   -EPERM without CAP_BPF and CAP_PERFMON; -EXDEV when process
 *            numbers here are not the kernel's own; -ESRCH the kernel has no
 *            type information (BTF); -errno of bpf(2)
 */
MUST_CHECK int waits_open(const struct waits_ask *ask, struct waits *out);
/* Lets an event of event_open_output() write the samples of its CPU; -errno. */
MUST_CHECK int emit_to(int outputs_fd, uint32_t cpu, int event_fd);

struct wait_call {
	const char *name;   /* "" when the number is not known */
	bool io, fd, bytes; /* as its row in waits.def says */
};
/* Describes the system call with this number. */
const struct wait_call *wait_call(int32_t number);
