#include "probe_link.h"

#include "base/clock.h"

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
		.cookies = (uintptr_t)of->cookies,
		.count = of->n,
		.pid = (uint32_t)of->pid,
	};
	long fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", of->file);
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : (int)fd;
}

/* Asks for too many probes: a kernel that knows such links says so. */
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
	return errno == E2BIG ? 0 : -EOPNOTSUPP;
}

/* --- what a probe costs ---------------------------------------------------
 */

#define TRIES 8  /* of which the fastest counts: others were interrupted */
#define CALLS 64 /* in each */

/* A function that begins with an instruction that the kernel emulates, like
 * those that are probed. */
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

/* Finds an address of this program in its file; 0 when that is not known. */
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

static int64_t
time_calls(void)
{
	int64_t began = clock_cpu_ns();

	for (int i = 0; i < CALLS; i++)
		probed();
	return clock_cpu_ns() - began;
}

uint32_t
probe_link_cost(int prog_fd, uint64_t cookie)
{
	CLEANUP_FD int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t offset = offset_in_file((uintptr_t)probed);
	int64_t best = INT64_MAX;
	const struct probe_link of = {
		.type = PROBE_CALLS,
		.prog_fd = prog_fd,
		.file = file,
		.pid = getpid(),
		.n = 1,
		.offsets = &offset,
		.cookies = &cookie,
	};

	/* The link stays until the process ends: to take it away can last
	 * longer than all the rest. */
	if (file < 0 || !offset || probe_link(&of) < 0)
		return PROBE_LINK_NS;
	for (int i = 0; i < TRIES; i++) {
		int64_t took = time_calls();

		best = took < best ? took : best;
	}
	return best > 0 && best / CALLS < UINT32_MAX ? (uint32_t)(best / CALLS)
	                                             : PROBE_LINK_NS;
}
