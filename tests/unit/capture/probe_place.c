/*
 * Places of probes in functions written here and in those of Debian's
 * allocators, and whether the kernel counts every call there.
 */
#include "capture/probes/probe_place.h"
#include "capture/elf/elf.h"

#include "base/cleanup.h"
#include "lib/corpus.h"
#include "lib/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- functions written here ----------------------------------------------- */

#define CODE(bytes) bytes, sizeof(bytes) - 1

static const struct {
	const char *label, *code;
	size_t n;
	unsigned arguments;
	int rc;
	uint32_t at;
	bool passes_on;
	int64_t to;
} rows[] = {
	{"push %rbp; ret", CODE("\x55\xc3"), 6, 0, 0, false, 0},
	{"push %r12; ret", CODE("\x41\x54\xc3"), 6, 0, 0, false, 0},
	{"nop; ret", CODE("\x90\xc3"), 6, 0, 0, false, 0},
	{"endbr64; push %rbx; ret", CODE("\xf3\x0f\x1e\xfa\x53\xc3"), 6, 0, 4,
         false, 0},
	{"nopl 0(%rax,%rax); push %rbx; ret", CODE("\x0f\x1f\x44\0\0\x53\xc3"),
         6, 0, 5, false, 0},
	{"cmp $0x1000,%rdi; ja 1f; 1: ret",
         CODE("\x48\x81\xff\0\x10\0\0\x77\0\xc3"), 2, 0, 7, false, 0},
	{"test %rdi,%rdi; je 1f (32 bits); 1: ret",
         CODE("\x48\x85\xff\x0f\x84\0\0\0\0\xc3"), 2, 0, 3, false, 0},
	{"call 1f; 1: ret", CODE("\xe8\0\0\0\0\xc3"), 6, 0, 0, false, 0},
	{"sub $8,%rsp; push %rbx; ret", CODE("\x48\x83\xec\x08\x53\xc3"), 6, 0,
         4, false, 0},

	/* A changing argument matters only if it is watched. */
	{"mov %rsi,%rdi; push", CODE("\x48\x89\xf7\x53\xc3"), 1, -EOPNOTSUPP, 0,
         false, 0},
	{"mov %edi,%ebp; xor %edi,%edi: half of it is lost",
         CODE("\x89\xfd\x31\xff\x53\xc3"), 1, -EOPNOTSUPP, 0, false, 0},
	{"mov %rdi,%rsi; push, one argument", CODE("\x48\x89\xfe\x53\xc3"), 1,
         0, 3, false, 0},
	{"mov %rdi,%rsi; push, two arguments", CODE("\x48\x89\xfe\x53\xc3"), 2,
         -EOPNOTSUPP, 0, false, 0},
	{"cqo; push, two arguments", CODE("\x48\x99\x53\xc3"), 2, 0, 2, false,
         0},
	{"cqo; push, three arguments", CODE("\x48\x99\x53\xc3"), 3, -EOPNOTSUPP,
         0, false, 0},
	{"mov $1,%ch; push, three arguments", CODE("\xb5\x01\x53\xc3"), 3, 0, 2,
         false, 0},
	{"mov $1,%ch; push, four arguments", CODE("\xb5\x01\x53\xc3"), 4,
         -EOPNOTSUPP, 0, false, 0},
	{"xor %r8d,%r8d; push, four arguments", CODE("\x45\x31\xc0\x53\xc3"), 4,
         0, 3, false, 0},
	{"xor %r8d,%r8d; push, five arguments", CODE("\x45\x31\xc0\x53\xc3"), 5,
         -EOPNOTSUPP, 0, false, 0},
	{"xor %r9d,%r9d; push, six arguments", CODE("\x45\x31\xc9\x53\xc3"), 6,
         -EOPNOTSUPP, 0, false, 0},
	{"syscall; push: its effect is not known", CODE("\x0f\x05\x53\xc3"), 1,
         -EOPNOTSUPP, 0, false, 0},

	/* Every path ends before an instruction that the kernel emulates. */
	{"mov %edi,%eax; ret", CODE("\x89\xf8\xc3"), 1, -EOPNOTSUPP, 0, false,
         0},
	{"jmp *%rax; push %rbx", CODE("\xff\xe0\x53\xc3"), 1, -EOPNOTSUPP, 0,
         false, 0},
	{"jrcxz 1f; 1: push; ret", CODE("\xe3\0\x53\xc3"), 1, -EOPNOTSUPP, 0,
         false, 0},
	{"je with an operand size; push", CODE("\x66\x74\0\x53\xc3"), 1,
         -EOPNOTSUPP, 0, false, 0},

	/* Jumps back to the place of the probe, to before it, and to after
	 * it. */
	{"1: push %rbx; jmp 1b", CODE("\x53\xeb\xfd"), 1, -ELOOP, 0, false, 0},
	{"1: test; push; jne 1b", CODE("\x85\xc0\x53\x75\xfb\xc3"), 1, -ELOOP,
         0, false, 0},
	{"push; 1: nop; jmp 1b", CODE("\x53\x90\xeb\xfd"), 1, 0, 0, false, 0},
	{"push; call itself; ret", CODE("\x53\xe8\xfa\xff\xff\xff\xc3"), 1, 0,
         0, false, 0},

	/* Functions that only jump to another one. */
	{"jmp to behind its end", CODE("\xe9\x0b\0\0\0"), 1, 0, 0, true, 16},
	{"jmp to before its start", CODE("\xeb\xee"), 1, 0, 0, true, -16},
	{"jmp within", CODE("\xeb\0\xc3"), 1, 0, 0, false, 0},

	{"no byte", CODE(""), 1, -EOPNOTSUPP, 0, false, 0},
	{"half an instruction", CODE("\x48\x85"), 1, -EBADMSG, 0, false, 0},
	{"push; half an instruction", CODE("\x53\x48\x85"), 1, -EBADMSG, 0,
         false, 0},
};

TEST(a_probe_is_placed_where_each_call_passes_once_with_its_arguments)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct probe_place place = {.at = 99};
		int rc = probe_place((const uint8_t *)rows[i].code, rows[i].n,
		                     rows[i].arguments, &place);

		ck_assert_msg(rc == rows[i].rc, "%s: %d", rows[i].label, rc);
		if (rc) {
			ck_assert_msg(place.at == 99, "%s", rows[i].label);
			continue;
		}
		ck_assert_msg(place.at == rows[i].at, "%s: at %u",
		              rows[i].label, place.at);
		ck_assert_msg(place.passes_on == rows[i].passes_on &&
		                      place.to == rows[i].to,
		              "%s: to %ld", rows[i].label, (long)place.to);
	}
}
END

static const struct {
	const char *label, *code;
	size_t n;
	uint8_t regs[PROBE_MAX_ARGUMENTS];
} moved[] = {
	{"nothing moves", CODE("\x53\xc3"), {7, 6, 2, 1, 8, 9}},
	{"mov %rdi,%rbp: the caller's register is named",
         CODE("\x48\x89\xfd"
              "\x53\xc3"),
         {7, 6, 2, 1, 8, 9}},
	{"mov %rdi,%rbp; xor %edi,%edi",
         CODE("\x48\x89\xfd\x31\xff\x53\xc3"),
         {5, 6, 2, 1, 8, 9}},
	{"mov %r9,%r12 (by 8b); mov %rax,%r9",
         CODE("\x4d\x8b\xe1\x49\x89\xc1"
              "\x53\xc3"),
         {7, 6, 2, 1, 8, 12}},
	{"mov %rsi,%rax; mov %rdi,%rsi; mov %rax,%rdi: they change places",
         CODE("\x48\x89\xf0\x48\x89\xfe\x48\x89\xc7\x53\xc3"),
         {6, 0, 2, 1, 8, 9}},
};

TEST(a_place_names_the_register_that_each_argument_is_in)
{
	for (size_t i = 0; i < ARRAY_LEN(moved); i++) {
		struct probe_place place;

		ck_assert_msg(!probe_place((const uint8_t *)moved[i].code,
		                           moved[i].n, PROBE_MAX_ARGUMENTS,
		                           &place),
		              "%s", moved[i].label);
		for (unsigned a = 0; a < PROBE_MAX_ARGUMENTS; a++)
			ck_assert_msg(place.regs[a] == moved[i].regs[a],
			              "%s: argument %u in %u", moved[i].label,
			              a, place.regs[a]);
	}
}
END

/* --- Debian's allocators -------------------------------------------------- */

static const struct {
	const char *path;
	const char *
		preload; /* into a program that uses it; "": it needs no preload; NULL: it is built for another C library */
} allocators[] = {
	{"/usr/lib/x86_64-linux-gnu/libc.so.6", ""},
	{"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "libjemalloc.so.2"},
	{"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
         "libtcmalloc_minimal.so.4"},
	{"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "libmimalloc.so.2"},
	{"/usr/lib/x86_64-linux-musl/libc.so", NULL},
};

static const struct {
	const char *name;
	unsigned arguments; /* the last one is the size */
} functions[] = {
	{"malloc", 1},         {"calloc", 2},        {"realloc", 2},
	{"posix_memalign", 3}, {"aligned_alloc", 2}, {"memalign", 2},
	{"_Znwm", 1},          {"_Znam", 1},         {"free", 1},
};
#define FIRST_THREE 3
#define ALLOCATING  (ARRAY_LEN(functions) - 1)

struct function {
	uint8_t *code;
	size_t n;
	uint64_t offset; /* in the file */
};

static void
read_function(const struct elf_image *e, const Elf64_Sym *sym,
              struct function *out)
{
	uint64_t left;

	ck_assert(elf_offset_of(e, sym->st_value, &out->offset, &left));
	ck_assert_uint_le(sym->st_size, left);
	out->n = sym->st_size;
	ck_assert_int_eq(
		elf_copy(e, out->offset, out->n, out->n, (void **)&out->code),
		0);
}

/* Returns false if the image has no such function. */
static bool
find_function(const struct elf_image *e, const char *name, struct function *out)
{
	const struct elf_section *s = elf_section_typed(e, SHT_DYNSYM);
	const struct elf_section *text = &e->sections[s->link];
	CLEANUP_FREE void *symbols = NULL;
	CLEANUP_FREE void *names = NULL;
	const Elf64_Sym *sym;

	ck_assert_int_eq(elf_copy(e, s->offset, s->size, s->size, &symbols), 0);
	ck_assert_int_eq(
		elf_copy(e, text->offset, text->size, text->size, &names), 0);
	sym = symbols;
	for (size_t i = 0; i < s->size / sizeof(*sym); i++)
		if (sym[i].st_shndx != SHN_UNDEF &&
		    !strcmp((char *)names + sym[i].st_name, name)) {
			read_function(e, &sym[i], out);
			return true;
		}
	return false;
}

static void
open_allocator(const char *path, struct elf_image **out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(elf_open_fd(fd, out), 0);
}

/* Finds the place of functions[f]; false if the image has no such function. */
static bool
place_of(const struct elf_image *e, const char *path, size_t f,
         struct probe_place *out, uint64_t *offset)
{
	struct function function = {0};
	int rc;

	if (!find_function(e, functions[f].name, &function))
		return false;
	rc = probe_place(function.code, function.n, functions[f].arguments,
	                 out);
	free(function.code);
	ck_assert_msg(!rc, "%s, %s: %d", path, functions[f].name, rc);
	*offset = function.offset + out->at;
	return true;
}

TEST(every_allocation_function_of_five_allocators_has_a_place)
{
	for (size_t a = 0; a < ARRAY_LEN(allocators); a++) {
		CLEANUP_ELF struct elf_image *e = NULL;
		unsigned n = 0;

		open_allocator(allocators[a].path, &e);
		for (size_t f = 0; f < ARRAY_LEN(functions); f++) {
			struct probe_place place;
			uint64_t offset;

			n += place_of(e, allocators[a].path, f, &place,
			              &offset);
		}
		ck_assert_uint_ge(n, 7);
	}
}
END

/* Only at the entry can the return of a call be watched. */
TEST(places_in_the_first_functions_come_before_the_stack_pointer_moves)
{
	for (size_t a = 0; a < ARRAY_LEN(allocators); a++) {
		CLEANUP_ELF struct elf_image *e = NULL;

		open_allocator(allocators[a].path, &e);
		for (size_t f = 0; f < FIRST_THREE; f++) {
			struct probe_place place;
			uint64_t offset;

			ck_assert(place_of(e, allocators[a].path, f, &place,
			                   &offset));
			ck_assert_msg(!place.moved, "%s: %s",
			              allocators[a].path, functions[f].name);
		}
	}
}
END

/* --- the kernel ----------------------------------------------------------- */

#define TIMES      500
#define BYTES      12352 /* a size that nobody else allocates */
#define RING_BYTES (1u << 17)

/* The numbers that perf has for registers.
 *   Source   Linux 6.1, arch/x86/include/uapi/asm/perf_regs.h */
static const uint8_t perf_regs[16] = {0,  2,  3,  1,  7,  6,  4,  5,
                                      16, 17, 18, 19, 20, 21, 22, 23};

static int
uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &type) != 1)
		type = -1;
	fclose(f);
	return type;
}

/* Opens an event that writes the register at each hit, or returns -errno. */
static int
open_probe(pid_t pid, const char *path, uint64_t offset, uint8_t reg)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)uprobe_type(),
		.config1 = (uintptr_t)path,
		.config2 = offset,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_REGS_USER,
		.sample_regs_user = UINT64_C(1) << perf_regs[reg],
		.disabled = 1,
		.enable_on_exec = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1,
	                  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* Starts tests/targets/allocs, which waits for a byte before exec. */
static pid_t
start_allocs(const char *function, const char *preload, int *go)
{
	char path[PATH_MAX], bytes[16], times[16];
	int ends[2];
	pid_t pid;
	char byte;

	corpus_target("allocs", path, sizeof(path));
	snprintf(bytes, sizeof(bytes), "%d", BYTES);
	snprintf(times, sizeof(times), "%d", TIMES);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1 &&
		    !setenv("LD_PRELOAD", preload, 1))
			execl(path, path, function, bytes, times, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

struct sample {
	struct perf_event_header header;
	uint64_t abi, reg;
};

/* Counts the samples in which the register was BYTES. */
static unsigned
count_samples(const struct perf_event_mmap_page *ring)
{
	const uint8_t *data = (const uint8_t *)ring + ring->data_offset;
	unsigned n = 0;

	ck_assert_uint_le(ring->data_head, RING_BYTES);
	for (uint64_t at = 0; at < ring->data_head;) {
		const struct sample *s = (const void *)(data + at);

		ck_assert_uint_ne(s->header.type, PERF_RECORD_LOST);
		if (s->header.type == PERF_RECORD_SAMPLE)
			n += s->reg == BYTES;
		at += s->header.size;
	}
	return n;
}

static void
check_calls_are_seen(pid_t pid, int go, int fd, const char *label)
{
	size_t size = RING_BYTES + (size_t)sysconf(_SC_PAGESIZE);
	void *ring =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned seen;
	int status;

	ck_assert(ring != MAP_FAILED);
	ck_assert_int_eq(write(go, "", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "%s: %#x",
	              label, (unsigned)status);
	seen = count_samples(ring);
	ck_assert_msg(seen == TIMES, "%s: %u", label, seen);
	munmap(ring, size);
}

/* Returns the result of opening the probe. */
static int
check_function(const struct elf_image *e, size_t a, size_t f)
{
	const unsigned last = functions[f].arguments - 1;
	char label[PATH_MAX];
	struct probe_place place;
	uint64_t offset;
	int go, fd;
	pid_t pid;

	if (!place_of(e, allocators[a].path, f, &place, &offset))
		return 0;
	snprintf(label, sizeof(label), "%s, %s", allocators[a].path,
	         functions[f].name);
	pid = start_allocs(functions[f].name, allocators[a].preload, &go);
	fd = open_probe(pid, allocators[a].path, offset, place.regs[last]);
	if (fd < 0) {
		close(go); /* it ends without its byte */
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		return fd;
	}
	check_calls_are_seen(pid, go, fd, label);
	close(fd);
	close(go);
	return 0;
}

TEST(the_kernel_sees_each_call_once_and_its_size_in_the_register)
{
	if (uprobe_type() < 0)
		SKIP("this kernel has no uprobes");
	for (size_t a = 0; a < ARRAY_LEN(allocators); a++) {
		CLEANUP_ELF struct elf_image *e = NULL;

		if (!allocators[a].preload)
			continue;
		open_allocator(allocators[a].path, &e);
		for (size_t f = 0; f < ALLOCATING; f++) {
			int rc = check_function(e, a, f);

			if (rc == -EACCES || rc == -EPERM)
				SKIP("the kernel refuses probes to this user");
			ck_assert_msg(!rc, "%s: %s", functions[f].name,
			              strerror(-rc));
		}
	}
}
END

SUITE("probe_place", .seconds = 120);
