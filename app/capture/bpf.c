#include "base/file.h"
#include "capture/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PID_MAX_LIMIT (1u << 22) /* include/linux/threads.h */
/* Inode of the first pid namespace: PROC_PID_INIT_INO, linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

static int
bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

static int
first_pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	return st.st_ino == FIRST_PID_NAMESPACE ? 0 : -EXDEV;
}

static uint32_t
pid_limit(void)
{
	CLEANUP_BUF struct buf text = BUF_INIT(32);
	unsigned long n;

	if (file_read(AT_FDCWD, "/proc/sys/kernel/pid_max", &text))
		return PID_MAX_LIMIT;
	n = strtoul(buf_str(&text), NULL, 10);
	return n && n < PID_MAX_LIMIT ? (uint32_t)n : PID_MAX_LIMIT;
}

static int
map_new(uint32_t nbits)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = nbits / 8,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

/* clang-format off */
#define INSN(c, d, s, o, i) \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), \
	                   .off = (o), .imm = (i)})
/* clang-format on */

/* return pid < nbits ? !(map[pid / 8] >> pid % 8 & 1) : 1; */
static int
prog_new(int map_fd, uint32_t nbits)
{
	const struct bpf_insn code[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0,
	             BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1),
		INSN(BPF_JMP | BPF_JGE | BPF_K, 3, 0, 9, (int32_t)nbits),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0,
	             map_fd),
		INSN(0, 0, 0, 0, 0), /* second half: offset in the value */
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 3, 0, 0),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, 2, 0, 0, 3),
		INSN(BPF_ALU64 | BPF_ADD | BPF_X, 1, 2, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_B, 2, 1, 0, 0),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, 7),
		INSN(BPF_ALU64 | BPF_RSH | BPF_X, 2, 3, 0, 0),
		INSN(BPF_ALU64 | BPF_XOR | BPF_X, 0, 2, 0, 0),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, 1),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_LEN(code),
		.license = (uintptr_t) "",
	};

	memcpy(attr.prog_name, "stoker_filter", sizeof("stoker_filter"));
	return bpf(BPF_PROG_LOAD, &attr);
}

int
filter_open(int *map_fd, int *prog_fd, uint32_t *nbits)
{
	uint32_t n = (pid_limit() + 63) & ~63u;
	int rc = first_pid_namespace();
	CLEANUP_FD int map = -1;
	CLEANUP_FD int prog = -1;

	if (rc)
		return rc;
	map = map_new(n);
	if (map < 0)
		return map;
	prog = prog_new(map, n);
	if (prog < 0)
		return prog;
	*map_fd = TAKE_FD(map);
	*prog_fd = TAKE_FD(prog);
	*nbits = n;
	return 0;
}
