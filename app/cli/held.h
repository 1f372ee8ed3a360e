/*
 * A program that is started, and stopped before its first instruction until a
 * capture counts what it does.
 *
 * A held program continues if this one is killed. Since it is traced at its
 * start, a set-user-ID program does not get its owner's rights.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct held {
	pid_t pid; /* 0: not started, or it has ended */
	int fd;    /* pidfd; -1: it has ended */
	bool runs; /* it was resumed */
	int left;  /* after its end: its status, as from waitpid() */
};
#define HELD_INIT         \
	{                 \
		.fd = -1, \
	}
#define CLEANUP_HELD_PROGRAM CLEANUP(held_done)

/* Kills a program that was not resumed. */
void held_done(struct held *h);
/*
 * Starts argv[0], searched for in PATH. NULL ends argv.
 *
 *   Shape    pid_file: the program's pid is written to it before it starts; -1:
 *            none
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int
held_start(const char *const argv[], int pid_file, struct held *out);
void held_let_go(struct held *h);
/* Waits for the program's end, and passes SIGTERM, SIGHUP and SIGINT on to it
 * meanwhile, unless they are ignored, or come from a terminal, which sends
 * them to both. */
void held_wait(struct held *h);
/* Takes the status of a program whose pidfd is readable. */
void held_ended(struct held *h);
/* Returns its exit status as a shell does: 128 and the number of the signal
 * that ended it. */
int held_status(const struct held *h);
