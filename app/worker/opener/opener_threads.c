/*
 * Answers questions about the threads of a target. Names, memory and CPU time
 * are texts of the kernel, in which the target controls only the name. Stacks
 * are read while the target runs: the stack of a blocked thread does not
 * change, and the kernel reports its stack pointer. A running thread is stopped
 * while its registers and stack are copied.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "capture/threads.h"
#include "opener.h"
#include "opener_groups.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* --- maps ----------------------------------------------------------------- */

#define MAPS_MAX ((size_t)16 << 20) /* bytes, for one process */

/* Hands out a copy: a read of the file itself waits while the target has its
 * address space locked, for good if a file system never answers the target. */
int
open_maps(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAPS_MAX);
	char path[64];
	struct stat st;
	int rc;

	(void)o;
	if (ask->pid <= 0)
		return -EINVAL;
	/* A directory has two links, and one for each subdirectory. */
	snprintf(path, sizeof(path), "/proc/%d/task", ask->pid);
	if (!stat(path, &st) && st.st_nlink > 2)
		out->reply.value = (uint32_t)st.st_nlink - 2;
	rc = proc_read(AT_FDCWD, ask->pid, "maps", &text);
	return rc ?: answer_give(text.p, text.len, out);
}

/* --- names ---------------------------------------------------------------- */

static bool
read_name(int tasks, int32_t tid, char out[static HOST_COMM_MAX])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	size_t n;

	if (proc_read(tasks, tid, "comm", &text))
		return false;
	n = text.len ? text.len - 1 : 0; /* without its newline */
	if (n >= HOST_COMM_MAX)
		n = HOST_COMM_MAX - 1;
	memcpy(out, buf_str(&text), n);
	return true;
}

/* Reads a thread's number in its own pid namespace. */
static bool
read_inner_of(int tasks, int32_t tid, int32_t *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	return !proc_read(tasks, tid, "status", &text) &&
	       !proc_parse_inner(buf_str(&text), out);
}

int
list_names(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_BUF struct buf rows =
		BUF_INIT(sizeof(struct host_thread[HOST_MAX_THREADS]));
	CLEANUP_FOLDER DIR *tasks = NULL;
	int rc = folder_open_tasks(AT_FDCWD, ask->pid, &tasks);
	int32_t tid;

	(void)o;
	if (rc)
		return rc;
	while (!buf_err(&rows) && (tid = folder_next_number(tasks))) {
		struct host_thread row = {.tid = tid};

		if (read_name(dirfd(tasks), tid, row.name) &&
		    (!ask->size ||
		     read_inner_of(dirfd(tasks), tid, &row.inner)))
			buf_add(&rows, &row, sizeof(row));
	}
	return buf_err(&rows) ?: answer_give(rows.p, rows.len, out);
}

/* --- use ------------------------------------------------------------------ */

/* Reads the sizes of a process's memory, in pages. */
static int
read_sizes(int32_t pid, uint64_t *mapped, uint64_t *anonymous)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	return proc_read(AT_FDCWD, pid, "statm", &text)
	               ?: proc_parse_memory(buf_str(&text), mapped, anonymous);
}

static bool
has_ended(const char *stat)
{
	return proc_parse_state(stat) == 'Z';
}

#define MAX_ENDED 256 /* threads that are looked at, in find_living() */

/* Finds a thread that goes on after the first one has ended. */
static int32_t
find_living(int32_t pid, struct buf *stat)
{
	CLEANUP_FOLDER DIR *tasks = NULL;
	int32_t tid;

	if (folder_open_tasks(AT_FDCWD, pid, &tasks))
		return 0;
	for (int n = 0; n < MAX_ENDED && (tid = folder_next_number(tasks)); n++)
		if (!proc_read(dirfd(tasks), tid, "stat", stat) &&
		    !has_ended(buf_str(stat)))
			return tid;
	return 0;
}

static enum host_halt
find_halt(int32_t pid, struct buf *stat)
{
	CLEANUP_BUF struct buf wchan = BUF_INIT(BUF_MAX_SMALL);

	if (has_ended(buf_str(stat)))
		pid = find_living(pid, stat);
	if (proc_is_halted(buf_str(stat)))
		return HOST_STOPPED;
	return !proc_read(AT_FDCWD, pid, "wchan", &wchan) &&
	                       proc_is_frozen(buf_str(stat), buf_str(&wchan))
	               ? HOST_FROZEN
	               : HOST_NOT_HALTED;
}

/* Threads of a process whose waits for a CPU are read. If there are more, many
 * wait alike. */
#define MAX_WAITING 256

/* The kernel returns the line, which is three numbers, in one read(). */
static int
read_schedstat(int dir_fd, const char *path, struct proc_schedstat *out)
{
	CLEANUP_FD int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return proc_parse_schedstat(text, out);
}

static void
read_waits(int32_t pid, struct host_usage *out)
{
	CLEANUP_FOLDER DIR *tasks = NULL;
	int32_t tid;

	if (folder_open_tasks(AT_FDCWD, pid, &tasks))
		return;
	for (int n = 0; n < MAX_WAITING && (tid = folder_next_number(tasks));
	     n++) {
		struct proc_schedstat s;
		char path[64];

		snprintf(path, sizeof(path), "%d/schedstat", tid);
		if (read_schedstat(dirfd(tasks), path, &s))
			continue;
		out->ran_ns += s.ran_ns;
		out->waited_ns += s.waited_ns;
	}
}

static int
read_hindrance(int32_t pid, struct host_usage *out,
               struct opener_groups *groups)
{
	int rc = groups_read(groups, pid, out);

	if (!rc)
		read_waits(pid, out);
	return rc;
}

static int
read_use(int32_t pid, struct host_usage *out, enum host_use use,
         struct opener_groups *groups)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char comm[PROC_COMM_MAX];
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t ticks, pages, began, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t mapped, anonymous;
	int rc;

	*out = (struct host_usage){.pid = pid};
	if (use == HOST_USE_HINDRANCE)
		return read_hindrance(pid, out, groups);
	rc = proc_read(AT_FDCWD, pid, "stat", &text)
	             ?: proc_parse_usage(buf_str(&text), &ticks, &pages)
	             ?: proc_parse_stat(buf_str(&text), comm, &began)
	             ?: read_sizes(pid, &mapped, &anonymous);
	if (rc)
		return rc;
	*out = (struct host_usage){
		.pid = pid,
		.rss_bytes = pages * page,
		.anonymous_bytes = anonymous * page,
		.mapped_bytes = mapped * page,
		.cpu_us = ticks * 1000000 / hz,
		.began_ns = began * (1000000000 / hz),
		.halt = find_halt(pid, &text),
	};
	if (use == HOST_USE_ALL)
		(void)!read_hindrance(pid, out, groups);
	return 0;
}

int
read_usage(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	struct opener_groups groups = {.n = 0};
	uint32_t n = 0;

	(void)o;
	if (ask->count > HOST_MAX_USAGE)
		return -EINVAL;
	for (uint32_t i = 0; i < ask->count; i++)
		if (ask->list[i] > 0 &&
		    !read_use(ask->list[i], &out->reply.usage[n], ask->size,
		              &groups))
			n++;
	out->reply.value = n;
	return 0;
}

#define TRIES 3 /* tries to find a thread at rest */
/* A running thread stops at its next turn on a CPU, for which ten others may
 * wait. */
#define STOP_WAIT_MS 300    /* for one thread to stop */
#define STOP_SPIN_NS 100000 /* at first, without sleeping */
#define STOP_MAX_S   2      /* for the whole batch */

/* --- a batch -------------------------------------------------------------- */

/* A batch of threads while it is read. */
struct thread_batch {
	int32_t pid;
	uint32_t count, room; /* threads; stack bytes for each */
	int task;             /* the directory of its threads */
	int fd;               /* the file to hand out, mapped at map */
	size_t size;
	char *map;
	struct thread_row *rows; /* start of map */
};

static void
batch_done(struct thread_batch *b)
{
	if (b->map)
		munmap(b->map, b->size);
	close_ptr(&b->task);
	close_ptr(&b->fd);
}

static int
batch_check(const struct host_ask *ask)
{
	if (ask->pid <= 0 || !ask->count || ask->count > HOST_MAX_LIST ||
	    !ask->size || ask->size > THREADS_MAX_STACK ||
	    (size_t)ask->size * ask->count > THREADS_MAX_BYTES)
		return -EINVAL;
	return 0;
}

static int
batch_open(struct thread_batch *b)
{
	char path[64];
	void *map;

	snprintf(path, sizeof(path), "/proc/%d/task", b->pid);
	b->task = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->task < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	b->fd = memfd_create("stoker-threads", MFD_CLOEXEC);
	if (b->fd < 0 || ftruncate(b->fd, (off_t)b->size))
		return -errno;
	map = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	b->map = map;
	b->rows = map;
	return 0;
}

/* --- one thread ----------------------------------------------------------- */

/* Reads a file of a thread as text without its newline; "" on failure. */
static bool
read_text(int fd, char *out, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, out, size - 1, 0);
	bool is_read = n > 0;

	out[is_read ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return is_read;
}

static int
open_text(const struct thread_batch *b, int32_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", tid, name);
	return openat(b->task, path, O_RDONLY | O_CLOEXEC);
}

static void
read_once(const struct thread_batch *b, int32_t tid, const char *name,
          char *out, size_t size)
{
	CLEANUP_FD int fd = open_text(b, tid, name);

	(void)read_text(fd, out, size);
}

/*
 * Returns the stack pointer, the last but one word; 0 if the thread runs.
 *   Source   fs/proc/base.c, proc_pid_syscall(): "running", or "nr args sp
 *            pc", or "-1 sp pc"
 */
static uint64_t
stack_pointer(const char *call)
{
	const char *pc = strrchr(call, ' '), *sp = pc;

	while (sp && sp > call && sp[-1] != ' ')
		sp--;
	return pc ? strtoull(sp, NULL, 16) : 0;
}

/* Copies as much as can be read from sp upwards, up to room, to the row's
 * place. */
static void
thread_copy_stack(const struct thread_batch *b, struct thread_row *row,
                  uint64_t sp)
{
	size_t i = (size_t)(row - b->rows);
	struct iovec from = {(void *)(uintptr_t)sp, b->room}; // NOLINT
	struct iovec to = {b->map + threads_stack_at(b->count, i, b->room),
	                   b->room};
	ssize_t n = process_vm_readv(b->pid, &to, 1, &from, 1, 0);

	row->stack_bytes = n > 0 ? (uint32_t)n : 0;
}

/* --- threads that run ----------------------------------------------------- */

#if defined(__x86_64__)
#define STACK_POINTER(regs) ((regs)->rsp)
#elif defined(__aarch64__)
#define STACK_POINTER(regs) ((regs)->sp)
#endif

/*
 * Waits until the thread has stopped or ended. Polls at first, since the thread
 * stops within microseconds: if this process slept, the thread would stay
 * stopped until a CPU is free again.
 *   Errors   -ETIMEDOUT, -ECHILD
 */
static int
wait_stop(int32_t tid, int *status)
{
	struct timespec left = {0, STOP_WAIT_MS * NS_PER_MS};
	int64_t until = clock_mono_ns() + STOP_SPIN_NS;
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while ((got = waitpid(tid, status, __WALL | WNOHANG)) == 0)
		if (clock_mono_ns() >= until &&
		    sigtimedwait(&child, NULL, &left) < 0 && errno == EAGAIN)
			return -ETIMEDOUT;
	return got == tid ? 0 : -ECHILD;
}

/* Returns the signal that was about to be delivered, to deliver it later. */
static long
pending_signal(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

/* Builds registers from those that the kernel reports for a 32-bit thread: only
 * the addresses of its code and stack, since its stack is not walked. */
static void
widen(struct user_regs_struct *regs, size_t len)
{
#if defined(__x86_64__)
	enum { EIP = 12, ESP = 15, ALL = 17 }; /* asm/user32.h */
	uint32_t narrow[ALL];

	if (len != sizeof(narrow))
		return;
	memcpy(narrow, regs, sizeof(narrow));
	memset(regs, 0, sizeof(*regs));
	regs->rip = narrow[EIP];
	regs->rsp = narrow[ESP];
#else
	(void)regs;
	(void)len;
#endif
}

static void
copy_stopped(const struct thread_batch *b, struct thread_row *row)
{
	struct iovec io = {&row->regs, sizeof(row->regs)};

	if (ptrace(PTRACE_GETREGSET, row->tid, NT_PRSTATUS, &io))
		return;
	widen(&row->regs, io.iov_len);
	thread_copy_stack(b, row, STACK_POINTER(&row->regs));
	row->how = THREAD_STOPPED;
}

static bool
is_traced(const struct thread_batch *b, int32_t tid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	return !proc_read(b->task, tid, "status", &text) &&
	       proc_is_traced(buf_str(&text));
}

/*
 * Stops a thread, copies its registers and stack, and lets it run.
 *   Errors   -ETIMEDOUT: the thread may still stop, and stays stopped until
 *            this process ends
 */
static int
stop_one(const struct thread_batch *b, struct thread_row *row)
{
	int64_t start;
	int status, rc;

	if (ptrace(PTRACE_SEIZE, row->tid, 0, 0)) {
		if (is_traced(b, row->tid))
			row->how = THREAD_TRACED;
		return 0;
	}
	start = clock_mono_ns();
	if (ptrace(PTRACE_INTERRUPT, row->tid, 0, 0))
		return 0;
	rc = wait_stop(row->tid, &status);
	if (rc || !WIFSTOPPED(status))
		return rc == -ETIMEDOUT ? rc : 0;
	copy_stopped(b, row);
	ptrace(PTRACE_DETACH, row->tid, 0, pending_signal(status));
	row->stop_ns = (uint64_t)(clock_mono_ns() - start);
	return 0;
}

static void
stop_all(const struct thread_batch *b, pid_t parent)
{
	sigset_t child;
	int rc = 0;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(STOP_MAX_S);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		return;
	for (uint32_t i = 0; i < b->count && !rc; i++)
		if (b->rows[i].how == THREAD_UNREAD)
			rc = stop_one(b, &b->rows[i]);
}

static bool
any_unread(const struct thread_batch *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->rows[i].how == THREAD_UNREAD)
			return true;
	return false;
}

/*
 * Stops each thread that is THREAD_UNREAD while its registers and stack are
 * copied. A child does so and then exits: when a tracer ends, for whatever
 * reason, the kernel releases all its threads, so that none stays stopped.
 *
 *   Source   ptrace(2), PTRACE_SEIZE; PTRACE_O_EXITKILL is not set
 */
static void
threads_stop(const struct thread_batch *b)
{
	pid_t self = getpid(), child;

	if (!any_unread(b))
		return;
	child = fork();
	if (child == 0) {
		stop_all(b, self);
		_exit(0);
	}
	/* The wait is short: an alarm ends the child. */
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* --- threads at rest ------------------------------------------------------ */

/* Facts that change whenever a thread runs: where it is, and how often it ran
 * (if the kernel counts that). */
struct trace {
	char call[sizeof(((struct thread_row *)0)->call)];
	char ran[64];
};

static bool
look(int call, int ran, struct trace *out)
{
	(void)read_text(ran, out->ran, sizeof(out->ran));
	return read_text(call, out->call, sizeof(out->call));
}

/* Copies a stack. Returns true if the thread did not run meanwhile. */
static bool
copy_at_rest(const struct thread_batch *b, struct thread_row *row, int call,
             int ran)
{
	struct trace before, after;
	uint64_t sp;

	if (!look(call, ran, &before))
		return false;
	memcpy(row->call, before.call, sizeof(row->call));
	sp = stack_pointer(before.call);
	if (!sp)
		return false;
	thread_copy_stack(b, row, sp);
	return look(call, ran, &after) && !strcmp(before.call, after.call) &&
	       !strcmp(before.ran, after.ran);
}

static void
read_thread(const struct thread_batch *b, struct thread_row *row)
{
	CLEANUP_FD int call = open_text(b, row->tid, "syscall");
	CLEANUP_FD int ran = open_text(b, row->tid, "schedstat");

	if (call < 0)
		return;
	read_once(b, row->tid, "stat", row->stat, sizeof(row->stat));
	row->how = proc_is_kernel_thread(row->stat) ? THREAD_KERNEL
	                                            : THREAD_UNREAD;
	for (int i = 0; i < TRIES && row->how == THREAD_UNREAD; i++)
		if (copy_at_rest(b, row, call, ran))
			row->how = THREAD_BLOCKED;
	read_once(b, row->tid, "stat", row->stat, sizeof(row->stat));
	read_once(b, row->tid, "wchan", row->wchan, sizeof(row->wchan));
	/* The first thread of a process stays until the others have ended. */
	if (has_ended(row->stat))
		row->how = THREAD_GONE;
}

int
read_threads(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP(batch_done)
	struct thread_batch b = {.pid = ask->pid,
	                         .count = ask->count,
	                         .room = ask->size,
	                         .task = -1,
	                         .fd = -1};
	int rc = batch_check(ask);

	(void)o;
	if (rc)
		return rc;
	b.size = threads_stack_at(b.count, b.count, b.room);
	rc = batch_open(&b);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < b.count; i++) {
		b.rows[i].tid = ask->list[i];
		if (ask->list[i] > 0)
			read_thread(&b, &b.rows[i]);
	}
	threads_stop(&b);
	out->fds[out->nfds++] = TAKE_FD(b.fd);
	return 0;
}

/* --- descriptors ---------------------------------------------------------- */

int
read_links(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	struct thread_link row;
	char path[64];
	CLEANUP_FD int fd = -1;
	int rc = 0;

	(void)o;
	if (ask->pid <= 0 || !ask->count || ask->count > HOST_MAX_LIST)
		return -EINVAL;
	fd = memfd_create("stoker-links", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; i < ask->count && !rc; i++) {
		memset(&row, 0, sizeof(row));
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", ask->pid,
		         ask->list[i]);
		if (readlink(path, row.text, sizeof(row.text) - 1) < 0)
			row.text[0] = '\0';
		rc = fd_write_all(fd, &row, sizeof(row));
	}
	if (!rc)
		out->fds[out->nfds++] = TAKE_FD(fd);
	return rc;
}
