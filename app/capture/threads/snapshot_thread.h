/* What the kernel's words about one thread mean. Parses bytes, asks nobody. */
#pragma once

#include "capture/threads.h"

#include "capture/unwind/unwind.h"

#include <stdbool.h>

#define THREAD_MAX_FDS  16 /* shown, of those that a poll waits for */
#define THREAD_NO_CALL  (-1)
#define THREAD_MAX_NAME 64 /* the kernel shows no more of a workqueue's */

enum thread_target {
	TARGET_NOTHING,
	TARGET_DESCRIPTOR,
	TARGET_POLLED,
	TARGET_FUTEX
};

struct thread_seen {
	char name[THREAD_MAX_NAME];
	char state;  /* as ps(1) shows it; '?' unknown */
	long number; /* of the system call, or THREAD_NO_CALL */
	uint64_t args[6];
	uint64_t sp, pc;    /* 0: not known */
	char call[32];      /* its name; "" */
	const char *reason; /* of its row; NULL: it has none */
	enum thread_target target;
	int32_t fds[THREAD_MAX_FDS];
	size_t nfds;
};

/*
 * Reads the row of a thread that was there. What can't be read is unknown.
 *   Shape    stack[row->stack_bytes], of the row
 *   Source   proc(5), /proc/PID/stat; fs/proc/base.c, proc_pid_syscall()
 */
void thread_see(const struct thread_row *row, const void *stack,
                struct thread_seen *out);
/* Registers as ptrace(2) tells them, as the unwinder wants them. */
void
thread_regs(const struct user_regs_struct *from, uint64_t out[UNWIND_REGS]);
/* "running", "waiting" or "syscall". */
const char *thread_state(const struct thread_seen *t);
/* "pipe", "socket", ...: the kind of what a link of /proc/PID/fd names; "" */
const char *thread_link_kind(const char *link);
