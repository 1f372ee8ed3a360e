#include "capture/event.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <time.h>

#define MIN_PERIOD_NS UINT64_C(50000) /* 20 kHz */
#define MAX_PERIOD_NS UINT64_C(10000000000)

static bool
has_capability(cap_value_t which)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t on = CAP_CLEAR;

	if (!caps)
		return false;
	if (cap_get_flag(caps, which, CAP_EFFECTIVE, &on))
		on = CAP_CLEAR;
	cap_free(caps);
	return on == CAP_SET;
}

/* The kernel says EACCES for paranoid and capability alike. */
static int
refusal(int err)
{
	if (err != EACCES && err != EPERM)
		return -err;
	return has_capability(CAP_PERFMON) || has_capability(CAP_SYS_ADMIN)
	               ? -EACCES
	               : -EPERM;
}

static int
perf_event_open(struct perf_event_attr *attr, uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1,
	                    PERF_FLAG_FD_CLOEXEC);
}

int
event_open(uint32_t cpu, uint64_t period_ns, uint32_t stack_bytes, int *fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = EVENT_SAMPLE_TYPE,
		.sample_regs_user = EVENT_REGS,
		.sample_stack_user = stack_bytes & ~7u,
		.disabled = 1,
		.exclude_idle = 1,
		.exclude_callchain_user = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 0, /* half of the ring */
	};
	int got;

	if (period_ns < MIN_PERIOD_NS || period_ns > MAX_PERIOD_NS ||
	    stack_bytes < EVENT_MIN_STACK || stack_bytes > EVENT_MAX_STACK)
		return -EINVAL;
	got = perf_event_open(&attr, cpu);
	if (got < 0 && errno == EINVAL) {
		attr.build_id = 0; /* before Linux 5.12 */
		got = perf_event_open(&attr, cpu);
	}
	if (got < 0)
		return refusal(errno);
	*fd = got;
	return 0;
}
