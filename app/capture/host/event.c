#include "capture/event.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
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

/* The highest level of perf_event_paranoid upstream. Above it, as on Debian and
 * Ubuntu, only CAP_SYS_ADMIN may open events. */
#define PARANOID_UPSTREAM 2

static bool
paranoid_refuses_all(void)
{
	CLEANUP_BUF struct buf text = BUF_INIT(32);

	return !file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid",
	                  &text) &&
	       strtol(buf_str(&text), NULL, 10) > PARANOID_UPSTREAM;
}

/* Translates the kernel's errors. EPERM comes from the seccomp filter, if one
 * is set; otherwise EPERM and EACCES mean the paranoid level or a missing
 * capability. */
static int
refusal(int err)
{
	if (err == EPERM && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER)
		return -ENOSYS;
	if (err != EACCES && err != EPERM)
		return -err;
	return has_capability(CAP_PERFMON) || has_capability(CAP_SYS_ADMIN) ||
	                       paranoid_refuses_all()
	               ? -EACCES
	               : -EPERM;
}

static int
perf_event_open(struct perf_event_attr *attr, int32_t task, uint32_t cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, task, (int)cpu, -1,
	                      PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 || errno != EINVAL || !(attr->build_id | attr->read_format))
		return fd;
	if (attr->read_format)
		attr->read_format = 0; /* before Linux 6.0 */
	else
		attr->build_id = 0; /* before Linux 5.12 */
	return perf_event_open(attr, task, cpu);
}

/* Returns the attributes shared by all events that write to one ring. */
static struct perf_event_attr
describe(uint64_t config)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.sample_type = EVENT_TRAILER_TYPE,
		.read_format = PERF_FORMAT_LOST,
		.disabled = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 0, /* 0: half of the ring */
	};
}

static void
report_lives(struct perf_event_attr *attr)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->build_id = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
}

static struct perf_event_attr
describe_sampling(const struct event_ask *ask)
{
	struct perf_event_attr attr = describe(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_period = ask->period_ns;
	attr.sample_type = EVENT_SAMPLE_TYPE;
	attr.sample_regs_user = EVENT_REGS;
	attr.sample_stack_user = ask->stack_bytes & ~7u;
	attr.exclude_idle = 1;
	attr.exclude_callchain_user = 1;
	if (ask->task != EVENT_ALL) {
		attr.inherit = 1;
		report_lives(&attr);
	}
	return attr;
}

static bool
stack_fits(uint32_t bytes)
{
	return bytes >= EVENT_MIN_STACK && bytes <= EVENT_MAX_STACK;
}

int
event_open(const struct event_ask *ask, int *fd, bool *user_only)
{
	struct perf_event_attr attr = describe_sampling(ask);
	bool only = false;
	int got;

	if (ask->period_ns < MIN_PERIOD_NS || ask->period_ns > MAX_PERIOD_NS ||
	    !stack_fits(ask->stack_bytes) || ask->task < EVENT_ALL ||
	    !ask->task)
		return -EINVAL;
	got = perf_event_open(&attr, ask->task, ask->cpu);
	if (got < 0 && errno == EACCES && ask->task != EVENT_ALL) {
		only = true;
		attr.exclude_kernel = 1;
		attr.exclude_hv = 1;
		got = perf_event_open(&attr, ask->task, ask->cpu);
	}
	if (got < 0)
		return refusal(errno);
	*fd = got;
	*user_only = only;
	return 0;
}

static int
open_described(struct perf_event_attr *attr, int32_t task, uint32_t cpu,
               int *fd)
{
	int got = perf_event_open(attr, task, cpu);

	if (got < 0)
		return refusal(errno);
	*fd = got;
	return 0;
}

int
event_open_ring(int32_t task, uint32_t cpu, int *fd)
{
	struct perf_event_attr attr = describe(PERF_COUNT_SW_DUMMY);

	if (task && task != EVENT_ALL)
		return -EINVAL;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	if (task == EVENT_ALL)
		report_lives(&attr);
	return open_described(&attr, task, cpu, fd);
}

int
event_open_output(uint32_t cpu, uint32_t stack_bytes, int *fd)
{
	struct perf_event_attr attr = describe(PERF_COUNT_SW_BPF_OUTPUT);

	if (!stack_fits(stack_bytes))
		return -EINVAL;
	attr.sample_type = EVENT_OUTPUT_TYPE;
	attr.sample_period = 1;
	attr.sample_regs_user = EVENT_REGS;
	attr.sample_stack_user = stack_bytes & ~7u;
	attr.exclude_callchain_kernel = 1;
	attr.exclude_callchain_user = 1;
	return open_described(&attr, EVENT_ALL, cpu, fd);
}

int
event_open_faults(uint32_t cpu, int prog_fd, int *fd)
{
	struct perf_event_attr attr = describe(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	CLEANUP_FD int got = -1;
	int rc;

	attr.sample_period = 1;
	attr.disabled = 0;
	rc = open_described(&attr, EVENT_ALL, cpu, &got);
	if (rc)
		return rc;
	if (ioctl(got, PERF_EVENT_IOC_SET_BPF, prog_fd))
		return -errno;
	*fd = TAKE_FD(got);
	return 0;
}
