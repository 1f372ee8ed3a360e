/*
 * Who descends from whom, of the processes that one look saw.
 *
 * A process whose parent has ended is its own origin here: the kernel gives it
 * to init, or to a process that asked for such orphans, and forgets whose child
 * it was.
 */
#pragma once

#include "process_table.h"

struct family {
	const struct proc_table *procs;
	uint32_t *first,
		*next;     /* child, sibling: index of a row + 1; 0: none */
	uint32_t *waiting; /* room for a walk */
	bool *met;         /* by the walk, or by one before */
};

/*
 *   Owns     procs is borrowed; family_done(out)
 *   Errors   -ENOMEM
 */
MUST_CHECK int family_init(const struct proc_table *procs, struct family *out);
void family_done(struct family *f);
#define CLEANUP_FAMILY CLEANUP(family_done)

/* Tells of a descendant; false: what descends from it is not told of. */
typedef bool family_seen(void *arg, const struct proc *p);
/* Tells of all that descends from row at, of each once until family_clear(). */
void family_walk(struct family *f, size_t at, family_seen *seen, void *arg);
void family_clear(struct family *f);
