#include "probe_link.h"

#include "base/clock.h"
#include "base/shortage.h"
#include "locks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Source: linux/bpf.h of Linux 6.6, the member uprobe_multi of link_create in
 * union bpf_attr. */
struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

int
probe_link(const struct probe_link *of)
{
	char path[64];
	struct link_create attr = {
		.prog_fd = (uint32_t)of->prog_fd,
		.attach_type = of->type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)of->offsets,
		.ref_ctr_offsets = (uintptr_t)of->counters,
		.cookies = (uintptr_t)of->cookies,
		.count = of->n,
		.pid = (uint32_t)of->pid,
	};
	int32_t pid;
	long fd;

	if (locks_look(of->locks_fd, &pid))
		return -EBUSY;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", of->file);
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : (int)fd;
}

/* Asks for too many probes: a kernel that has such links fails with E2BIG. */
int
probe_link_try(enum probe_link_type type, int prog_fd)
{
	const uint64_t offset = 0;
	struct link_create attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = type,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = UINT32_MAX,
	};

	(void)!syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (is_shortage(-errno))
		return -errno;
	return errno == E2BIG ? 0 : -EOPNOTSUPP;
}

/* --- what a probe costs --------------------------------------------------- */

#define TRIES 15
#define CALLS 64          /* per try */
#define BYTES (32u << 10) /* memory touched between two calls */

/* Like allocation functions, begins with an instruction that the kernel
 * emulates. */
#if defined(__x86_64__)
__attribute__((naked, noinline)) static void
probed(void)
{
	__asm__ volatile("push %rbp; pop %rbp; ret");
}
#else
__attribute__((noinline)) static void
probed(void)
{
	__asm__ volatile("nop");
}
#endif

/* Returns the offset in this program's file of an address; 0 if unknown. */
static uint64_t
offset_in_file(uintptr_t address)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	uint64_t found = 0;
	char line[4096];

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) ==
		            3 &&
		    address >= start && address < end)
			found = address - start + offset;
	if (f)
		fclose(f);
	return found;
}

/* Touches memory between the calls, as a real program does, so that the kernel
 * finds little in the CPU's nearest cache. */
static int64_t
time_calls(void)
{
	static volatile char used[BYTES];
	int64_t began = clock_cpu_ns();

	for (int i = 0; i < CALLS; i++) {
		for (uint32_t k = 0; k < BYTES; k += 64)
			used[k]++;
		probed();
	}
	return clock_cpu_ns() - began;
}

static int
by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
time_tries(int64_t took[static TRIES])
{
	for (int i = 0; i < TRIES; i++)
		took[i] = time_calls();
	qsort(took, TRIES, sizeof(*took), by_time);
}

static uint32_t
each(int64_t with, int64_t without)
{
	int64_t ns = (with - without) / CALLS;

	return ns > 0 && ns < UINT32_MAX ? (uint32_t)ns : PROBE_LINK_NS;
}

struct probe_cost
probe_link_cost(const struct probe_link *with_fds, uint64_t cookie, int *link)
{
	CLEANUP_FD int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t offset = offset_in_file((uintptr_t)probed);
	int64_t without[TRIES], with[TRIES];
	const struct probe_link of = {
		.type = PROBE_CALLS,
		.prog_fd = with_fds->prog_fd,
		.locks_fd = with_fds->locks_fd,
		.file = file,
		.pid = getpid(),
		.n = 1,
		.offsets = &offset,
		.cookies = &cookie,
	};

	time_tries(without);
	*link = file < 0 || !offset ? -1 : probe_link(&of);
	if (*link < 0)
		return (struct probe_cost){PROBE_LINK_NS, PROBE_LINK_NS};
	time_tries(with);
	return (struct probe_cost){
		.least_ns = each(with[0], without[0]),
		.usual_ns = each(with[TRIES / 2], without[TRIES / 2]),
	};
}
