/*
 * The one kind of perf event we open, and the in-kernel filter over it.
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
#include <stdint.h>

#define EVENT_SAMPLE_TYPE                                                  \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)
/* AX to IP and R8 to R15 of asm/perf_regs.h. */
#define EVENT_REGS      UINT64_C(0xff01ff)
#define EVENT_MIN_STACK 1024
#define EVENT_MAX_STACK 65528

/*
 * Opens a disabled event on one CPU.
 *
 *   Units    stack_bytes is rounded down to a multiple of 8
 *   Owns     *fd is the caller's
 *   Errors   -EINVAL out of bounds; -EACCES refused although this process
 *            has CAP_PERFMON or CAP_SYS_ADMIN (perf_event_paranoid), -EPERM
 *            refused for want of both; else -errno of perf_event_open(2)
 */
MUST_CHECK int
event_open(uint32_t cpu, uint64_t period_ns, uint32_t stack_bytes, int *fd);

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
