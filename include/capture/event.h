/*
 * The kinds of perf event we open, and the in-kernel filter over it.
 *
 * A cpu-clock event per CPU, over all processes: per-task events would start
 * and stop a timer at every context switch of the target, which costs
 * a switch-heavy program half its throughput. What one sample holds is fixed
 * here, so that the reader (record.h) can rely on it.
 *
 * Source: perf_event_open(2), bpf(2).
 */
#pragma once

#include "base/cleanup.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENT_SAMPLE_TYPE                                                  \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)
/* AX to IP and R8 to R15 of asm/perf_regs.h. */
#define EVENT_REGS      UINT64_C(0xff01ff)
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
 * Opens an event of the calling process that counts nothing: the owner of
 * a ring for events of threads on that CPU, which lives longer than they.
 *   Owns, Errors   as event_open
 */
MUST_CHECK int event_open_ring(uint32_t cpu, int *fd);

/*
 * A filter that drops samples of denied processes before they are copied.
 *
 * Bit n of the map, set by whoever maps it, denies process n. A process is
 * heard until it is known, so one that lives a few ms is never missed.
 *
 *   Owns     *map_fd and *prog_fd are the caller's
 *   Shape    the map can be mapped shared; *nbits processes have a bit
 *   Errors   -errno of bpf(2), -EXDEV when process numbers here are not
 *            the kernel's own (pid namespace)
 */
MUST_CHECK int filter_open(int *map_fd, int *prog_fd, uint32_t *nbits);
