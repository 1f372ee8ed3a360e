/*
 * Interprets the kernel's texts about one thread; does no I/O.
 */
#pragma once

#include "capture/threads.h"

#include "base/proc_text.h"
#include "capture/unwind/unwind.h"

#include <stdbool.h>

#define THREAD_MAX_FDS 16 /* descriptors shown of a poll */
#define THREAD_NO_CALL (-1)

enum thread_target {
	TARGET_NOTHING,
	TARGET_DESCRIPTOR,
	TARGET_POLLED,
	TARGET_FUTEX,
	TARGET_FUTEXES
};

struct thread_seen {
	char name[PROC_COMM_MAX];
	char state;  /* as ps(1) shows it; '?' unknown */
	long number; /* of the system call, or THREAD_NO_CALL */
	uint64_t args[UNWIND_ARGS];
	uint64_t futex;     /* address of the word it waits for; or 0 */
	uint64_t sp, pc;    /* 0: not known */
	char call[32];      /* its name; "" */
	const char *reason; /* reason of its row; NULL: no row */
	enum thread_target target;
	int32_t fds[THREAD_MAX_FDS];
	size_t nfds;
};

/*
 * Reads the row of a thread that existed. Parts that can't be read stay
 * unknown.
 *   Shape    stack[row->stack_bytes], of the row
 *   Source   proc(5), /proc/PID/stat; fs/proc/base.c, proc_pid_syscall()
 */
void thread_see(const struct thread_row *row, const void *stack,
                struct thread_seen *out);
/* Converts the registers of ptrace(2) to those of the unwinder. */
void
thread_regs(const struct user_regs_struct *from, uint64_t out[UNWIND_REGS]);
/* Returns "running", "waiting" or "syscall". */
const char *thread_state(const struct thread_seen *t);
/* Returns "pipe", "socket", ...: the kind of file that a link of /proc/PID/fd
 * names; "" unknown. */
const char *thread_link_kind(const char *link);
