/*
 * Processes that the opener has killed and not yet reaped. One that waits in
 * the kernel for a file system may never exit, not even on SIGKILL, so nothing
 * waits longer than ENDED_WAIT_NS for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ENDED_MAX     64 /* more are killed, too, but not counted */
#define ENDED_WAIT_NS INT64_C(2000000000)

struct ended {
	struct ended_row {
		pid_t pid; /* 0: unused */
		int64_t killed_ns;
	} rows[ENDED_MAX];
};

/* Kills a child. */
void ended_kill(struct ended *e, pid_t pid);
/* Notes that a child has ended. */
void ended_child_gone(struct ended *e, pid_t pid);
/* True if a child that was killed has not ended within ENDED_WAIT_NS. */
bool ended_is_stuck(const struct ended *e, pid_t pid);
/* Returns how many killed children are stuck. */
uint32_t ended_stuck(const struct ended *e);
/* Returns the ms until the next child counts as stuck, or -1. */
int ended_wait(const struct ended *e);
