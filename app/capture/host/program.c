#include "program.h"

#include "base/file.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PID_MAX_LIMIT (1u << 22) /* include/linux/threads.h */
/* Inode of the first pid namespace: PROC_PID_INIT_INO, linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

uint32_t
program_pids(void)
{
	CLEANUP_BUF struct buf text = BUF_INIT(32);
	unsigned long n = 0;

	if (!file_read(AT_FDCWD, "/proc/sys/kernel/pid_max", &text))
		n = strtoul(buf_str(&text), NULL, 10);
	if (!n || n > PID_MAX_LIMIT)
		n = PID_MAX_LIMIT;
	return ((uint32_t)n + 63) & ~63u;
}

int
program_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	return st.st_ino == FIRST_PID_NAMESPACE ? 0 : -EXDEV;
}

DEFINE_CLEANUP(struct btf *, btf__free)

/* Returns the offset of a member of a structure of the kernel; 0: unknown. */
static uint32_t
offset_of(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id)
	                                  : NULL;

	for (__u32 i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(btf, m->name_off);

		if (name && !strcmp(name, member))
			return btf_member_bit_offset(t, i) / 8;
	}
	return 0;
}

/* Where task_struct.thread keeps the thread pointer: on arm64 it is the first
 * member of uw.
 *   Source   Linux arch/x86/include/asm/processor.h, arch/arm64/include/asm/
 *            processor.h */
#ifdef __x86_64__
#define THREAD_POINTER "fsbase"
#else
#define THREAD_POINTER "uw"
#endif

static void
find_thread_pointer(const struct btf *btf, uint32_t *out)
{
	const uint32_t thread = offset_of(btf, "task_struct", "thread");
	const uint32_t within = offset_of(btf, "thread_struct", THREAD_POINTER);

	if (thread && within)
		out[PROGRAM_THREAD] = thread + within;
}

static void
find_in_tasks(uint32_t *out)
{
	CLEANUP(btf__free_ptr) struct btf *btf = NULL;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT,
	                            BPF_FUNC_probe_read_kernel, NULL) != 1)
		return; /* as when the kernel is locked down */
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return;
	out[PROGRAM_TGID] = offset_of(btf, "task_struct", "tgid");
	out[PROGRAM_PID] = offset_of(btf, "task_struct", "pid");
	if (out[PROGRAM_TGID] && out[PROGRAM_PID])
		out[PROGRAM_PARENT] =
			offset_of(btf, "task_struct", "real_parent");
	out[PROGRAM_STACK] = offset_of(btf, "task_struct", "stack");
	find_thread_pointer(btf, out);
}

void
program_kernel(uint32_t out[static PROGRAM_KERNEL])
{
	static uint32_t known[PROGRAM_KERNEL]; /* reading BTF takes a while */
	struct stat st;

	if (!known[PROGRAM_NS_DEV] && !stat("/proc/self/ns/pid", &st)) {
		known[PROGRAM_NS_DEV] = (uint32_t)st.st_dev;
		find_in_tasks(known);
	}
	memcpy(out, known, sizeof(known));
}

int
program_keep(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}
