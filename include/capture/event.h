/*
 * The kinds of perf event we open, and the in-kernel filter over it.
 *
 * A cpu-clock event per CPU, over all processes: per-task events would start
 * and stop a timer at every context switch of the target, which costs
 * a switch-heavy program half its throughput. What one sample holds is fixed
 * here, so that the reader (record.h) can rely on it.
 *
 * The clock, and not the hardware's cycles where there are any: a sample
 * stands for the same CPU time on every machine and at every frequency of its
 * CPU, where a count of cycles would shift weight to the moments at which it
 * ran fast, and perf's way of adapting the count to a rate would give every
 * sample another weight. The price: code of the kernel that has interrupts
 * off is seen where it turns them on again.
 *
 * Source: perf_event_open(2), bpf(2).
 */
#pragma once

#include "base/cleanup.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* Of every record, whatever event it is of. */
#define EVENT_TRAILER_TYPE \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define EVENT_SAMPLE_TYPE                                              \
	(EVENT_TRAILER_TYPE | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
/* Which registers of asm/perf_regs.h, and which of them is the stack's. */
#if defined(__aarch64__)
#define EVENT_REGS ((UINT64_C(1) << 33) - 1) /* x0 to x30, sp, pc */
#define EVENT_SP   PERF_REG_ARM64_SP
#else
#define EVENT_REGS UINT64_C(0xff01ff) /* ax to ip, r8 to r15 */
#define EVENT_SP   PERF_REG_X86_SP
#endif
#define EVENT_MIN_STACK 1024
#define EVENT_MAX_STACK 65528

struct event_ask {
	int32_t task; /* EVENT_ALL, or a thread whose children inherit it */
	uint32_t cpu;
	uint64_t period_ns;
	uint32_t stack_bytes; /* rounded down to a multiple of 8 */
};
#define EVENT_ALL (-1)

/*
 * Opens a disabled event on one CPU. One of a thread leaves out what runs in
 * the kernel (*user_only) where that is not for this user to see.
 *
 *   Owns     *fd is the caller's
 *   Errors   -EINVAL out of bounds; -ENOSYS no such call, or a seccomp filter
 *            refuses it; -EACCES perf_event_paranoid refuses what this
 *            process has the capability for, or refuses everybody; -EPERM
 *            not allowed without CAP_PERFMON; -errno of perf_event_open(2)
 */
MUST_CHECK int
event_open(const struct event_ask *ask, int *fd, bool *user_only);
/*
 * Opens a disabled event that takes no samples: the owner of a ring for other
 * events on that CPU, which lives longer than they. One of EVENT_ALL tells of
 * the lives of all processes, as events of threads do themselves.
 *
 *   Shape    task: EVENT_ALL, or 0 for one that tells nothing
 *   Owns, Errors   as event_open
 */
MUST_CHECK int event_open_ring(int32_t task, uint32_t cpu, int *fd);

/*
 * A filter that drops samples of denied processes before they are copied, and
 * follows interpreted frames of the others: python_ring.h.
 *
 * Bit n of the map, set by whoever maps it, denies process n. A process is
 * heard until it is known, so one that lives a few ms is never missed. Behind
 * the bits are PYTHON_SLOTS slots.
 */
#define FILTER_MAX_CPUS 4096

struct filter_ask {
	uint64_t period_ns;
	uint32_t ncpus; /* configured */
};

struct filter {
	int map_fd, prog_fd;
	int rings_fd;   /* a ring per CPU; -1: this kernel can't have them */
	uint32_t nbits; /* processes that have a bit, a multiple of 64 */
};

/*
 *   Owns     the descriptors are the caller's
 *   Shape    maps can be mapped shared
 *   Errors   -errno of bpf(2), -EXDEV when process numbers here are not
 *            the kernel's own (pid namespace)
 */
MUST_CHECK int filter_open(const struct filter_ask *ask, struct filter *out);
