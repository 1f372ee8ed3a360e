#include "base/file.h"
#include "capture/event.h"
#include "filter_python.h"

#include <errno.h>
#include <fcntl.h>
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
map_new(uint32_t value_size, uint32_t entries)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = value_size,
		.max_entries = entries,
		.map_flags = BPF_F_MMAPABLE,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

/* Writes pid < nbits ? !(map[pid / 8] >> pid % 8 & 1) : 1 to register 0;
 * register 9 holds the result of get_current_pid_tgid. */
static void
is_heard(struct bpf_code *c, int map_fd, uint32_t nbits)
{
	size_t heard;

	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_reg(c, BPF_MOV, 9, 0);
	code_reg(c, BPF_MOV, 3, 0);
	code_imm(c, BPF_RSH, 3, 32);
	code_imm(c, BPF_MOV, 0, 1);
	heard = code_jump(c, BPF_JGE, 3, (int32_t)nbits);
	code_map(c, 1, BPF_PSEUDO_MAP_VALUE, map_fd, 0);
	code_reg(c, BPF_MOV, 2, 3);
	code_imm(c, BPF_RSH, 2, 3);
	code_reg(c, BPF_ADD, 1, 2);
	code_load(c, BPF_B, 2, 1, 0);
	code_imm(c, BPF_AND, 3, 7);
	code_reg(c, BPF_RSH, 2, 3);
	code_reg(c, BPF_XOR, 0, 2);
	code_imm(c, BPF_AND, 0, 1);
	code_land(c, heard);
}

static int
prog_load(const struct bpf_code *c)
{
	/* The kernel lets only programs under such a licence
	 * read user memory. */
	static const char license[] = "Dual MIT/GPL";
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)c->insns,
		.insn_cnt = (uint32_t)c->n,
		.license = (uintptr_t)license,
	};

	memcpy(attr.prog_name, "stoker_filter", sizeof("stoker_filter"));
	return bpf(BPF_PROG_LOAD, &attr);
}

/* Passes samples of processes that are not denied; with maps, follows their
 * interpreter frames, too. */
static int
prog_new(int map_fd, uint32_t nbits, const struct python_maps *maps)
{
	struct bpf_code c = {.n = 0};
	size_t heard;

	is_heard(&c, map_fd, nbits);
	if (maps) {
		heard = code_jump(&c, BPF_JNE, 0, 0);
		code_exit(&c);
		code_land(&c, heard);
		bpf_python(&c, maps);
		code_imm(&c, BPF_MOV, 0, 1);
	}
	code_exit(&c);
	return prog_load(&c);
}

/* Kernels before 5.5 can only filter: then there are no rings. */
static int
prog_of(const struct filter_ask *ask, int map_fd, uint32_t nbits, int *rings_fd)
{
	uint32_t size = python_ring_stacks(ask->period_ns);
	CLEANUP_FD int rings =
		map_new((uint32_t)python_ring_bytes(size), ask->ncpus);
	struct python_maps maps = {map_fd, nbits / 8, rings, size};
	int prog = rings < 0 ? rings : prog_new(map_fd, nbits, &maps);

	if (prog < 0)
		return prog_new(map_fd, nbits, NULL);
	*rings_fd = TAKE_FD(rings);
	return prog;
}

int
filter_open(const struct filter_ask *ask, struct filter *out)
{
	uint32_t n = (pid_limit() + 63) & ~63u;
	int rc = first_pid_namespace();
	CLEANUP_FD int map = -1;
	int rings = -1, prog;

	if (!rc && (!ask->ncpus || ask->ncpus > FILTER_MAX_CPUS))
		rc = -EINVAL;
	if (rc)
		return rc;
	map = map_new(n / 8 + PYTHON_SLOTS * sizeof(struct python_slot), 1);
	if (map < 0)
		return map;
	prog = prog_of(ask, map, n, &rings);
	if (prog < 0)
		return prog;
	*out = (struct filter){TAKE_FD(map), prog, rings, n};
	return 0;
}
