/*
 * Threads as the opener reads them: the kernel's texts about each, and a copy
 * of its stack. Texts are copied from /proc; the opener parses only the stack
 * pointer.
 *
 * A batch is one file: a row for each thread that was asked for, then, at
 * threads_stack_at(), room for one stack per thread. The file is sparse: unused
 * room costs nothing.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define THREADS_MAX_STACK ((uint32_t)256 << 10)
#define THREADS_MAX_BYTES ((size_t)32 << 20) /* a batch's stacks */
#define THREADS_MAX_LINK  256

enum thread_how {
	THREAD_GONE,
	THREAD_UNREAD,  /* it ran or kept changing, and could not be
	                   stopped */
	THREAD_BLOCKED, /* it did not run while its stack was copied */
	THREAD_STOPPED, /* stopped by ptrace for stop_ns; regs are set */
	THREAD_TRACED,  /* unread, since another process traces it */
	THREAD_KERNEL,  /* it runs in the kernel alone, and has no stack */
};

struct thread_row {
	int32_t tid;
	uint32_t how; /* enum thread_how */
	uint32_t stack_bytes;
	uint64_t stop_ns;
	struct user_regs_struct regs;
	/* Texts are NUL-terminated; "" where the kernel gives none. */
	char call[192]; /* /proc/PID/task/TID/syscall */
	char stat[256]; /* start of /proc/PID/task/TID/stat: name, state */
	char wchan[64];
};

struct thread_link {
	char text[THREADS_MAX_LINK]; /* "" unknown; a long one is cut */
};

/* Returns the offset of the stack of row i of n; each stack has room bytes. */
static inline size_t
threads_stack_at(size_t n, size_t i, size_t room)
{
	size_t page = 4096, rows = n * sizeof(struct thread_row);

	return (rows + page - 1) / page * page + i * room;
}

struct host;
/* Appends the id of each thread of a process, as int32_t; a thread that is just
 * starting may be missed. Errors: those of host_fd() and fd_read_all(). */
MUST_CHECK int
threads_list(const struct host *host, int32_t pid, struct buf *out);
