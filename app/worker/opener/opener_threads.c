/*
 * Threads of a target, read while they go on: a blocked thread's stack lies
 * still, and the kernel tells where it is. Those that run are left to
 * opener_stop.c.
 */
#include "opener_threads.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define TRIES 3 /* to find a thread at rest */

/* --- a batch ---------------------------------------------------------------
 */

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

/* --- one thread ------------------------------------------------------------
 */

/* The file of a thread as text, its newline taken off; "" on failure. */
static bool
read_text(int fd, char *out, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, out, size - 1, 0);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return n > 0;
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
 * The stack pointer, last word but one; 0 when the thread runs.
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

void
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

/* What changes whenever the thread runs: where it is, and how often it ran
 * (the kernel may be built without). */
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

/* True when it was at rest from the first look to the last. */
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
	row->how = THREAD_UNREAD;
	for (int i = 0; i < TRIES && row->how == THREAD_UNREAD; i++)
		if (copy_at_rest(b, row, call, ran))
			row->how = THREAD_BLOCKED;
	read_once(b, row->tid, "stat", row->stat, sizeof(row->stat));
	read_once(b, row->tid, "wchan", row->wchan, sizeof(row->wchan));
}

int
read_threads(const struct conf *conf, const struct host_ask *ask,
             struct answer *out)
{
	CLEANUP(batch_done)
	struct thread_batch b = {.pid = ask->pid,
	                         .count = ask->count,
	                         .room = ask->size,
	                         .task = -1,
	                         .fd = -1};
	int rc = batch_check(ask);

	(void)conf;
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

/* --- descriptors -----------------------------------------------------------
 */

int
read_links(const struct conf *conf, const struct host_ask *ask,
           struct answer *out)
{
	struct thread_link row;
	char path[64];
	CLEANUP_FD int fd = -1;
	int rc = 0;

	(void)conf;
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
