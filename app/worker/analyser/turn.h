/*
 * Limits the memory of all children of the analyser together. Each may
 * allocate MEMORY_CHILD at any time. One that needs more waits for its turn,
 * which only one child has at a time, until it ends: a hostile program whose
 * names take all of the allowed memory delays only other such programs.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>

struct turns {
	int fd;    /* whose lock is the turn */
	int statm; /* /proc/self/statm of the analyser */
};

/*
 * Opens the file of turns, before the sandbox is entered; it stays open for all
 * children.
 */
MUST_CHECK int turns_open(struct turns *out);
/* Sets the limit of a child that has just been forked. */
MUST_CHECK int turn_begin(const struct turns *t);
/*
 * Waits for the turn. malloc() calls it when an allocation fails.
 *   Shape    true when an allocation that failed may succeed now: once in the
 *            life of a child, and never in other processes
 */
bool turn_take(void);
/*
 * Keeps a child from taking the turn while it waits for a capture's time:
 * until turn_resume(), its memory stays limited.
 *   Errors   -ENOMEM if it has the turn already
 */
MUST_CHECK int turn_pause(void);
void turn_resume(void);
