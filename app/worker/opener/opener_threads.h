/* A batch of threads that is being read. */
#pragma once

#include "capture/threads.h"
#include "opener.h"

#define STOP_WAIT_MS 50     /* for one thread to stop */
#define STOP_SPIN_NS 100000 /* the first of it, without sleep */
#define STOP_MAX_S   2      /* for all of a batch */

struct thread_batch {
	int32_t pid;
	uint32_t count, room; /* threads; bytes of each one's stack */
	int task;             /* its directory of threads */
	int fd;               /* the file that is handed out: */
	size_t size;
	char *map;
	struct thread_row *rows; /* map's start */
};

/* Copies what can be read from sp upwards, up to room, into the row's place. */
void thread_copy_stack(const struct thread_batch *b, struct thread_row *row,
                       uint64_t sp);
/*
 * Stops the threads that are THREAD_UNREAD, one after another, each as long
 * as its registers and stack take to copy. It's done by a child of ours that
 * ends with it: the kernel lets go of what a tracer holds when it ends,
 * however it ends, so no thread is left stopped or waiting to be.
 *
 *   Source   ptrace(2), PTRACE_SEIZE; PTRACE_O_EXITKILL is not set
 */
void threads_stop(const struct thread_batch *b);
