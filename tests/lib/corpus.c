#include "lib/corpus.h"

#include <asm/perf_regs.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define MAX_THREADS 64

struct recording {
	pid_t pid;
	pid_t tids[MAX_THREADS];
	size_t ntids;
	struct corpus *c;
};

/* --- the program ---------------------------------------------------------- */

/* Starts the program; returns after its exec, which closes the child's end of
 * a pipe. A traced program is then stopped. */
static pid_t
run(char *const argv[], bool traced)
{
	int up[2];
	char byte;
	pid_t pid;

	if (pipe2(up, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		if (traced)
			ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[0], argv);
		_exit(127);
	}
	close(up[1]);
	while (read(up[0], &byte, 1) < 0 && errno == EINTR)
		continue;
	close(up[0]);
	return pid;
}

static bool
is_followed(const struct recording *r, pid_t tid)
{
	for (size_t i = 0; i < r->ntids; i++)
		if (r->tids[i] == tid)
			return true;
	return false;
}

static void
follow_threads(struct recording *r)
{
	struct dirent *e;
	char path[64];
	pid_t tid;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", r->pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		tid = (pid_t)atoi(e->d_name);
		if (tid && r->ntids < MAX_THREADS && !is_followed(r, tid) &&
		    !ptrace(PTRACE_SEIZE, tid, 0, 0))
			r->tids[r->ntids++] = tid;
	}
	if (d)
		closedir(d);
}

/* --- one sample ----------------------------------------------------------- */

static void
keep_registers(const struct user_regs_struct *r, uint64_t *out)
{
	out[PERF_REG_X86_AX] = r->rax;
	out[PERF_REG_X86_BX] = r->rbx;
	out[PERF_REG_X86_CX] = r->rcx;
	out[PERF_REG_X86_DX] = r->rdx;
	out[PERF_REG_X86_SI] = r->rsi;
	out[PERF_REG_X86_DI] = r->rdi;
	out[PERF_REG_X86_BP] = r->rbp;
	out[PERF_REG_X86_SP] = r->rsp;
	out[PERF_REG_X86_IP] = r->rip;
	out[PERF_REG_X86_R8] = r->r8;
	out[PERF_REG_X86_R9] = r->r9;
	out[PERF_REG_X86_R10] = r->r10;
	out[PERF_REG_X86_R11] = r->r11;
	out[PERF_REG_X86_R12] = r->r12;
	out[PERF_REG_X86_R13] = r->r13;
	out[PERF_REG_X86_R14] = r->r14;
	out[PERF_REG_X86_R15] = r->r15;
}

/* Copies pages up to the end of the stack's mapping. */
static int
keep_stack(pid_t pid, struct corpus_sample *s)
{
	uint64_t sp = s->regs[PERF_REG_X86_SP];
	struct iovec to, from[CORPUS_STACK / 4096 + 1];
	static uint8_t copy[CORPUS_STACK];
	size_t n = 0, left = CORPUS_STACK;
	ssize_t got;

	for (uint64_t at = sp; left; n++) {
		size_t part = 4096 - at % 4096;

		part = part < left ? part : left;
		from[n] = (struct iovec){(void *)at, part};
		at += part;
		left -= part;
	}
	to = (struct iovec){copy, sizeof(copy)};
	got = process_vm_readv(pid, &to, 1, from, n, 0);
	if (got < 0)
		return -errno;
	s->stack = malloc((size_t)got + 1);
	if (!s->stack)
		return -ENOMEM;
	memcpy(s->stack, copy, (size_t)got);
	s->stack_len = (size_t)got;
	return 0;
}

/* Keeps a sample of a stopped task. */
static int
keep_sample(struct recording *r, pid_t tid)
{
	struct corpus_sample *s = &r->c->samples[r->c->n];
	struct user_regs_struct regs;
	int rc;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs))
		return -errno;
	keep_registers(&regs, s->regs);
	rc = keep_stack(r->pid, s);
	r->c->n += !rc;
	return rc;
}

/* Takes a sample, and continues the task with the signal that stopped it, if
 * any. */
static int
take_sample(struct recording *r, pid_t tid)
{
	int status, rc, sig;

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -ESRCH;
	sig = status >> 16 ? 0 : WSTOPSIG(status);
	rc = keep_sample(r, tid);
	if (ptrace(PTRACE_CONT, tid, 0, sig))
		return -errno;
	return rc;
}

/* --- mappings ------------------------------------------------------------- */

static int
open_image(pid_t pid, const char *path, struct corpus_map *m)
{
	size_t n = m->m.end - m->m.start;
	struct iovec to = {malloc(n), n}, from = {(void *)m->m.start, n};
	int r = -ENOENT, fd = -1;

	if (path[0] == '/') {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : elf_open_fd(fd, &m->elf);
	} else if (process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)n) {
		r = elf_open_memory(to.iov_base, n, &m->elf);
	}
	free(to.iov_base);
	if (r && fd >= 0)
		close(fd);
	return r;
}

static void
keep_map(struct corpus *c, pid_t pid, const char *path, uint64_t offset)
{
	struct corpus_map *m = &c->maps[c->nmaps++];
	const char *slash = strrchr(path, '/');

	snprintf(m->name, sizeof(m->name), "%.63s", slash ? slash + 1 : path);
	if (open_image(pid, path, m))
		return;
	if (elf_bias(m->elf, m->m.start, path[0] == '/' ? offset : 0, PF_X,
	             &m->m.bias) ||
	    unwind_table_new(m->elf, &m->table))
		return;
	m->m.table = m->table;
}

static int
keep_maps(struct corpus *c, pid_t pid)
{
	char line[PATH_MAX + 128], path[PATH_MAX], prot[8];
	uint64_t start, end, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (c->nmaps < CORPUS_MAX_MAPS && fgets(line, sizeof(line), f)) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end,
		           prot, &offset, path) < 4 ||
		    prot[2] != 'x')
			continue;
		c->maps[c->nmaps].m.start = start;
		c->maps[c->nmaps].m.end = end;
		keep_map(c, pid, path, offset);
	}
	fclose(f);
	return 0;
}

/* --- recordings ----------------------------------------------------------- */

/* When a program has a second thread, it is loaded and at work. */
static int
await_threads(struct recording *r)
{
	for (;;) {
		follow_threads(r);
		if (!r->ntids)
			return -ESRCH;
		if (r->ntids > 1)
			return 0;
		sched_yield();
	}
}

static int
record(struct recording *r, size_t n)
{
	int rc = await_threads(r);

	while (!rc && r->c->n < n) {
		follow_threads(r);
		if (!r->ntids)
			return -ESRCH;
		for (size_t i = 0; !rc && i < r->ntids && r->c->n < n; i++) {
			rc = take_sample(r, r->tids[i]);
			if (rc == -ESRCH && r->tids[i] != r->pid) {
				r->tids[i] = r->tids[--r->ntids];
				rc = 0;
			}
		}
	}
	return rc ? rc : keep_maps(r->c, r->pid);
}

/* Single-steps until the program stops itself; passes other signals on to
 * it. */
static int
record_steps(struct recording *r, size_t n, unsigned every)
{
	int status, sig = 0, rc = 0;

	for (size_t i = 0; !rc && r->c->n < n; i++) {
		if (waitpid(r->pid, &status, 0) != r->pid ||
		    !WIFSTOPPED(status))
			return -ESRCH;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (sig == SIGSTOP)
			break;
		if (i % every == 0)
			rc = keep_sample(r, r->pid);
		if (ptrace(PTRACE_SINGLESTEP, r->pid, 0, sig))
			return -errno;
	}
	return rc ? rc : keep_maps(r->c, r->pid);
}

static int
take_corpus(char *const argv[], size_t n, unsigned every, struct corpus **out)
{
	CLEANUP_CORPUS struct corpus *c = calloc(1, sizeof(*c));
	struct recording r = {.c = c};
	int rc;

	if (!c)
		return -ENOMEM;
	c->samples = calloc(n, sizeof(*c->samples));
	if (!c->samples)
		return -ENOMEM;
	r.pid = run(argv, every);
	if (r.pid < 0)
		return -errno;
	rc = every ? record_steps(&r, n, every) : record(&r, n);
	kill(r.pid, SIGKILL);
	/* The end of the main thread is reported only after the ends of the
	 * others. */
	for (size_t i = 0; i < r.ntids; i++)
		if (r.tids[i] != r.pid)
			waitpid(r.tids[i], NULL, __WALL);
	while (waitpid(r.pid, &(int){0}, __WALL) == r.pid)
		continue; /* the stop of a step may come first */
	if (rc)
		return rc;
	*out = TAKE(c);
	return 0;
}

int
corpus_record(char *const argv[], size_t n, struct corpus **out)
{
	return take_corpus(argv, n, 0, out);
}

int
corpus_record_steps(char *const argv[], size_t n, unsigned every,
                    struct corpus **out)
{
	return take_corpus(argv, n, every, out);
}

void
corpus_free(struct corpus *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nmaps; i++) {
		unwind_table_free(c->maps[i].table);
		elf_free(c->maps[i].elf);
	}
	for (size_t i = 0; c->samples && i < c->n; i++)
		free(c->samples[i].stack);
	free(c->samples);
	free(c);
}

const struct corpus_map *
corpus_map(const struct corpus *c, uint64_t addr)
{
	for (size_t i = 0; i < c->nmaps; i++)
		if (addr >= c->maps[i].m.start && addr < c->maps[i].m.end)
			return &c->maps[i];
	return NULL;
}

bool
corpus_find(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	const struct corpus_map *m = corpus_map(arg, addr);

	if (m)
		*out = m->m;
	return m;
}

void
corpus_target(const char *name, char out[], size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	bool above = false; /* found tests/ of the build */
	char *last;

	out[n > 0 ? n : 0] = '\0';
	while (!above && (last = strrchr(out, '/'))) {
		above = !strcmp(last, "/tests");
		*last = '\0';
	}
	snprintf(out + strlen(out), size - strlen(out), "/targets/%s", name);
}
