/*
 * The kinds of perf event we open, and their filter in the kernel.
 *
 * CPU time is sampled by one cpu-clock event per CPU, over all processes:
 * per-task events would start and stop a timer at every context switch of the
 * target, which costs a switch-heavy program half its throughput. The fields of
 * a sample are fixed here, so that the reader (record.h) can rely on them.
 *
 * We use the clock even where the hardware can count cycles. A sample stands
 * for the same CPU time on every machine and at every frequency of its CPU,
 * whereas cycles would shift weight to moments at which the CPU ran fast, and
 * perf's adaptive period would give each sample a different weight. The price
 * is that samples of kernel code that runs with interrupts off show the
 * instruction that turns them on again.
 *
 * Source: perf_event_open(2), bpf(2).
 */
#pragma once

#include "base/cleanup.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* Fields that every record ends with, whatever its type. */
#define EVENT_TRAILER_TYPE \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define EVENT_SAMPLE_TYPE                                              \
	(EVENT_TRAILER_TYPE | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
/* A sample of event_open_output() also has the bytes its program wrote. */
#define EVENT_OUTPUT_TYPE (EVENT_SAMPLE_TYPE | PERF_SAMPLE_RAW)
/* Mask of the sampled registers (asm/perf_regs.h), and the indexes of the stack
 * pointer and of the program counter. */
#if defined(__aarch64__)
#define EVENT_REGS ((UINT64_C(1) << 33) - 1) /* x0 to x30, sp, pc */
#define EVENT_SP   PERF_REG_ARM64_SP
#define EVENT_PC   PERF_REG_ARM64_PC
#else
#define EVENT_REGS UINT64_C(0xff01ff) /* ax to ip, r8 to r15 */
#define EVENT_SP   PERF_REG_X86_SP
#define EVENT_PC   PERF_REG_X86_IP
#endif
#define EVENT_MIN_STACK 1024
#define EVENT_MAX_STACK 65528

struct event_ask {
	int32_t task; /* EVENT_ALL, or a thread; its children inherit the
	                 event */
	uint32_t cpu;
	uint64_t period_ns;
	uint32_t stack_bytes; /* rounded down to a multiple of 8 */
};
#define EVENT_ALL (-1)

/*
 * Opens a disabled event on one CPU. If this user may not see the kernel, an
 * event of a thread leaves out kernel code, and *user_only is set.
 *
 *   Owns     *fd is the caller's
 *   Errors   -EINVAL out of bounds; -ENOSYS the system call is missing, or a
 *            seccomp filter refuses it; -EACCES perf_event_paranoid refuses
 *            this process despite its capability, or refuses everybody;
 *            -EPERM not allowed without CAP_PERFMON; -errno of
 *            perf_event_open(2)
 */
MUST_CHECK int
event_open(const struct event_ask *ask, int *fd, bool *user_only);
/*
 * Opens a disabled event that takes no samples. It owns a ring that other
 * events on that CPU write to, and outlives them. With EVENT_ALL it also
 * reports forks, execs and exits of all processes; events of threads do so
 * themselves.
 *
 *   Shape    task: EVENT_ALL, or 0 for an event that reports nothing
 *   Owns, Errors   as event_open
 */
MUST_CHECK int event_open_ring(int32_t task, uint32_t cpu, int *fd);

/*
 * Opens a disabled event that writes the samples of a BPF program, each with
 * bytes from that program. A sample's process is the one that was running.
 *   Owns, Errors   as event_open
 */
MUST_CHECK int event_open_output(uint32_t cpu, uint32_t stack_bytes, int *fd);

/*
 * Opens an event that runs a BPF program whenever a thread on that CPU has
 * waited for a page from a disk, until the event is closed.
 *   Owns, Errors   as event_open; -EBADF, -EINVAL prog_fd is not such a program
 */
MUST_CHECK int event_open_faults(uint32_t cpu, int prog_fd, int *fd);

/*
 * Opens a BPF filter that drops samples of denied processes before they are
 * copied, and writes the others to rings, with the frames of interpreters
 * (capture/host/filter_layout.h). A sample for which a ring has no room is left
 * to perf. If the kernel refuses that program, perf writes all samples.
 *
 * Setting bit n of the map denies process n. Unknown processes are not denied,
 * so that a process that lives for a few ms is never missed.
 */
#define FILTER_MAX_CPUS 4096

#define FILTER_LEAST_RING ((uint32_t)128 << 10)
#define FILTER_MOST_RING  ((uint32_t)2 << 20)

struct filter_ask {
	uint32_t ncpus;      /* number of configured CPUs */
	uint32_t ring_bytes; /* of a CPU's samples: a power of two, from
	                        FILTER_LEAST_RING to FILTER_MOST_RING */
};

enum filter_fd {
	FILTER_DENIED,  /* the map */
	FILTER_PROGRAM, /* to be attached to events */
	FILTER_INTERPS, /* struct interp_table */
	FILTER_RINGS,   /* one ring per CPU */
	FILTER_WAKES,   /* readable when a ring is half full: a ring of BPF */
	FILTER_FDS
};

struct filter {
	int fds[FILTER_FDS];
	uint32_t nfds;  /* FILTER_INTERPS: samples are left to perf */
	uint32_t nbits; /* number of processes with a bit, a multiple of 64 */
};
void filter_close(struct filter *f);

/*
 *   Owns     filter_close() it, or take the descriptors
 *   Shape    maps can be mapped shared
 *   Errors   -errno of bpf(2), -EXDEV when process numbers here are not
 *            the kernel's own (pid namespace)
 */
MUST_CHECK int filter_open(const struct filter_ask *ask, struct filter *out);
