/*
 * Processes at which an engine looks twice: when a capture begins, or they join
 * it, and when it ends. A process that cannot be read does not fail the profile
 * of the others.
 *
 * The engine's row of a process begins with its struct process *proc. A row
 * does not move.
 */
#pragma once

#include "capture/engine.h"

struct looks_verbs {
	size_t size; /* of a row */
	/* Looks at a process; the row is zeroed, and is passed to done() after
	 * a failure. joined: the process has joined the capture. */
	int (*first)(void *arg, void *row, int32_t pid, bool joined);
	/* Looks again, and adds the process to the profile. */
	int (*again)(void *arg, void *row);
	void (*done)(void *row);
	/* Another engine may take all of the processes: -ENOEXEC of one counts
	 * more than other errors. */
	bool yields;
};

struct looks {
	const struct looks_verbs *verbs;
	void *arg; /* of first() */
	char *rows;
	uint32_t n, room;
	uint32_t unread; /* processes that could not be read */
	uint32_t ended;  /* before the second look */
	int last;        /* the most informative error of a process */
};

/* Takes the first look. Errors: those of first(). looks_done() it, also after a
 * failure. */
MUST_CHECK int looks_open(struct looks *l, const struct looks_verbs *verbs,
                          void *arg, const struct engine_ask *ask);
void looks_done(struct looks *l);
/* Looks at processes that have joined; known ones are skipped. Errors: -ENOMEM,
 * -E2BIG. */
MUST_CHECK int looks_join(struct looks *l, const int32_t *pids, size_t n);
/* Takes the second look, with arg of again(): names the processes, and counts
 * them. Errors: -ENOMEM, -E2BIG; those of single processes are in l. */
MUST_CHECK int
looks_again(struct looks *l, void *arg, struct profile *p, struct quality *q);
void *looks_row(const struct looks *l, uint32_t i);
/* True when an error of one process must fail the whole profile. */
bool looks_fatal(int rc);
/*
 * Returns the more informative error of two processes: that a Go program's
 * profile is off, rather than that a shell beside it is not a Go program.
 */
int looks_worse(int last, int rc);
