/* A process that stopped itself deep in known calls is walked from outside. */
#include "capture/unwind/unwind.h"
#include "capture/symbols/symbols.h"
#include "lib/corpus.h"
#include "lib/test.h"

#include <asm/perf_regs.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define MAX_MAPS   64
#define MAX_FRAMES 128
#define STACK      (64 << 10)

struct map {
	struct unwind_mapping m;
	struct elf_image *elf;
	struct unwind_table *table;
};

struct process {
	pid_t pid, tid;
	bool unindexed; /* its images lost their .eh_frame_hdr */
	struct map maps[MAX_MAPS];
	uint32_t nmaps;
	struct symbols_cache *cache;
	struct symbolizer *symbols;
	uint64_t regs[UNWIND_REGS];
	char stack[STACK];
	size_t stack_len;
	uint64_t pcs[MAX_FRAMES];
	size_t n;
	char names[8192]; /* innermost first, one blank after each */
};

static pid_t
start(const char *mode)
{
	char path[PATH_MAX];
	int status;
	pid_t pid;

	corpus_target("deep", path, sizeof(path));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		execl(path, path, mode, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert_msg(WIFSTOPPED(status), "%s: status %x", path, status);
	return pid;
}

/* Returns the only task, or else the thread that the main one waits for. */
static pid_t
last_task(pid_t pid)
{
	char path[64];
	struct dirent *e;
	pid_t tid = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		if (atoi(e->d_name) > tid)
			tid = atoi(e->d_name);
	closedir(d);
	return tid;
}

static void
read_registers(struct process *p)
{
	struct user_regs_struct r;
	int status;

	ck_assert_int_eq(ptrace(PTRACE_SEIZE, p->tid, 0, 0), 0);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, p->tid, 0, 0), 0);
	ck_assert_int_eq(waitpid(p->tid, &status, __WALL), p->tid);
	ck_assert_int_eq(ptrace(PTRACE_GETREGS, p->tid, 0, &r), 0);
	p->regs[PERF_REG_X86_BX] = r.rbx;
	p->regs[PERF_REG_X86_BP] = r.rbp;
	p->regs[PERF_REG_X86_SP] = r.rsp;
	p->regs[PERF_REG_X86_IP] = r.rip;
	p->regs[PERF_REG_X86_R12] = r.r12;
	p->regs[PERF_REG_X86_R13] = r.r13;
	p->regs[PERF_REG_X86_R14] = r.r14;
	p->regs[PERF_REG_X86_R15] = r.r15;
}

/* Reads up to the end of the stack's mapping. */
static void
read_stack(struct process *p)
{
	struct iovec to = {p->stack, sizeof(p->stack)}, from;
	ssize_t n = -1;

	for (; to.iov_len && n < 0; to.iov_len -= 1024) {
		from = (struct iovec){(void *)p->regs[PERF_REG_X86_SP],
		                      to.iov_len};
		n = process_vm_readv(p->pid, &to, 1, &from, 1, 0);
	}
	ck_assert_int_gt(n, 0);
	p->stack_len = (size_t)n;
}

static void
open_map(struct process *p, const char *path, uint64_t offset)
{
	struct map *m = &p->maps[p->nmaps];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_open_fd(fd, &m->elf)) {
		ck_assert_int_eq(fd, -1);
		return;
	}
	for (uint32_t i = 0; p->unindexed && i < m->elf->nsegments; i++)
		if (m->elf->segments[i].type == PT_GNU_EH_FRAME)
			m->elf->segments[i].type = PT_NULL;
	ck_assert_int_eq(elf_bias(m->elf, m->m.start, offset, PF_X, &m->m.bias),
	                 0);
	ck_assert_int_eq(unwind_table_new(m->elf, &m->table), 0);
	m->m.table = m->table;
	ck_assert_int_eq(symbolizer_add(p->symbols, p->nmaps, m->elf, NULL), 0);
}

static void
read_maps(struct process *p)
{
	char line[PATH_MAX + 128], path[PATH_MAX], prot[8];
	uint64_t start, end, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end,
		           prot, &offset, path) < 4 ||
		    prot[2] != 'x')
			continue;
		p->maps[p->nmaps].m =
			(struct unwind_mapping){.start = start, .end = end};
		open_map(p, path, offset);
		p->nmaps++;
	}
	fclose(f);
}

static bool
find(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	const struct process *p = arg;

	for (uint32_t i = 0; i < p->nmaps; i++)
		if (addr >= p->maps[i].m.start && addr < p->maps[i].m.end) {
			*out = p->maps[i].m;
			return true;
		}
	return false;
}

static void
add_names(struct process *p, uint64_t pc)
{
	struct sym_frame frames[8];
	size_t n = 0;

	for (uint32_t i = 0; i < p->nmaps; i++)
		if (pc >= p->maps[i].m.start && pc < p->maps[i].m.end)
			n = symbolizer_lookup(p->symbols, i,
			                      pc - p->maps[i].m.bias, frames,
			                      8);
	if (!n)
		strcat(p->names, "? ");
	for (size_t i = 0; i < n; i++) {
		strcat(p->names, frames[i].name);
		strcat(p->names, " ");
	}
}

static struct process *
stopped(const char *mode, bool unindexed)
{
	struct process *p = calloc(1, sizeof(*p));

	ck_assert_ptr_nonnull(p);
	p->unindexed = unindexed;
	p->cache = symbols_cache_new(0);
	p->symbols = symbolizer_new(p->cache);
	ck_assert_ptr_nonnull(p->symbols);
	p->pid = start(mode);
	p->tid = last_task(p->pid);
	read_registers(p);
	read_stack(p);
	read_maps(p);
	return p;
}

static void
finish(struct process *p)
{
	kill(p->pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		continue;
	symbolizer_free(p->symbols);
	symbols_cache_free(p->cache);
	for (uint32_t i = 0; i < p->nmaps; i++) {
		unwind_table_free(p->maps[i].table);
		elf_free(p->maps[i].elf);
	}
	free(p);
}

/* Walks the stack twice, the second time from the cache. */
static enum unwind_end
walk(struct process *p, size_t stack_len, size_t max)
{
	CLEANUP_UNWINDER struct unwinder *u = unwinder_new(find, p);
	uint64_t again[MAX_FRAMES];
	enum unwind_end end;
	size_t n;

	ck_assert_ptr_nonnull(u);
	end = unwind(u, p->regs, p->stack, stack_len, p->pcs, max, &p->n);
	ck_assert_int_eq(
		unwind(u, p->regs, p->stack, stack_len, again, max, &n), end);
	ck_assert_uint_eq(n, p->n);
	ck_assert_mem_eq(again, p->pcs, n * sizeof(*again));
	p->names[0] = '\0';
	for (size_t i = 0; i < p->n; i++)
		add_names(p, p->pcs[i] - (i > 0));
	return end;
}

static void
assert_chain(const char *mode, bool unindexed, const char *const *calls)
{
	struct process *p = stopped(mode, unindexed);
	enum unwind_end end = walk(p, p->stack_len, MAX_FRAMES);
	const char *at = p->names;
	char call[64];

	ck_assert_msg(end == UNWIND_ROOT, "end %d: %s", end, p->names);
	for (; *calls; calls++) {
		snprintf(call, sizeof(call), "%s ", *calls);
		at = strstr(at, call);
		ck_assert_msg(at, "no %s in %s", *calls, p->names);
	}
	finish(p);
}

TEST(calls_without_frame_pointers_are_walked_to_the_program_start)
{
	static const char *const calls[] = {"deep_folded", "deep_c", "deep_b",
	                                    "deep_a",      "main",   "_start",
	                                    NULL};

	assert_chain("calls", false, calls);
}
END

TEST(static_programs_without_a_search_table_are_walked_all_the_same)
{
	static const char *const calls[] = {"deep_c", "deep_b", "deep_a",
	                                    "main",   "_start", NULL};

	assert_chain("calls", true, calls);
}
END

TEST(calls_below_a_signal_handler_are_walked_through_it)
{
	static const char *const calls[] = {"deep_c", "deep_a", "deep_handler",
	                                    "main",   "_start", NULL};

	assert_chain("signal", false, calls);
}
END

TEST(calls_of_a_thread_are_walked_to_its_start)
{
	static const char *const calls[] = {"deep_c", "deep_a", "deep_thread",
	                                    NULL};

	assert_chain("thread", false, calls);
}
END

TEST(code_without_tables_is_stepped_over_by_its_frame_pointer)
{
	static const char *const calls[] = {"deep_c", "deep_a", "?", "deep_jit",
	                                    "main",   "_start", NULL};

	assert_chain("jit", false, calls);
}
END

TEST(a_dump_that_ends_before_the_stack_is_truncated)
{
	struct process *p = stopped("calls", false);

	ck_assert_int_eq(walk(p, 2048, MAX_FRAMES), UNWIND_TRUNCATED);
	ck_assert_ptr_nonnull(strstr(p->names, "deep_c "));
	ck_assert_ptr_null(strstr(p->names, "main "));
	ck_assert_int_eq(walk(p, 0, MAX_FRAMES), UNWIND_TRUNCATED);
	ck_assert_uint_eq(p->n, 1);
	finish(p);
}
END

TEST(a_stack_of_more_than_max_frames_is_cut)
{
	struct process *p = stopped("calls", false);

	ck_assert_int_eq(walk(p, p->stack_len, 3), UNWIND_MAX);
	ck_assert_uint_eq(p->n, 3);
	finish(p);
}
END

TEST(an_address_outside_all_mappings_is_no_info)
{
	struct process *p = stopped("calls", false);

	p->regs[PERF_REG_X86_IP] = 0x10;
	p->regs[PERF_REG_X86_BP] = 1;
	ck_assert_int_eq(walk(p, p->stack_len, MAX_FRAMES), UNWIND_NO_INFO);
	ck_assert_uint_eq(p->n, 1);
	finish(p);
}
END

TEST(frame_pointers_in_a_circle_end_the_walk)
{
	struct process p = {.nmaps = 1};
	uint64_t stack[4] = {0x7000, 0x1100, 0x7000, 0x1100};

	p.maps[0].m = (struct unwind_mapping){.start = 0x1000, .end = 0x2000};
	p.regs[PERF_REG_X86_IP] = 0x1000;
	p.regs[PERF_REG_X86_SP] = p.regs[PERF_REG_X86_BP] = 0x7000;
	memcpy(p.stack, stack, sizeof(stack));
	p.cache = symbols_cache_new(0);
	p.symbols = symbolizer_new(p.cache);
	ck_assert_int_eq(walk(&p, sizeof(stack), MAX_FRAMES), UNWIND_NO_INFO);
	ck_assert_uint_eq(p.n, 2);
	symbolizer_free(p.symbols);
	symbols_cache_free(p.cache);
}
END

SUITE("unwind");
