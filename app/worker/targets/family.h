/*
 * Descendants of processes, as seen in one look.
 *
 * A process whose parent has ended has no ancestors here: the kernel makes it a
 * child of init, or of a process that adopts orphans, and forgets its parent.
 */
#pragma once

#include "process_table.h"

struct family {
	const struct proc_table *procs;
	uint32_t *first,
		*next;     /* child, sibling: index of a row + 1; 0: none */
	uint32_t *waiting; /* stack of a walk */
	bool *met;         /* visited since family_clear() */
};

/*
 *   Owns     procs is borrowed; family_done(out)
 *   Errors   -ENOMEM
 */
MUST_CHECK int family_init(const struct proc_table *procs, struct family *out);
void family_done(struct family *f);
#define CLEANUP_FAMILY CLEANUP(family_done)

/* Called with a descendant. False skips the processes that descend from it. */
typedef bool family_seen(void *arg, const struct proc *p);
/* Visits all descendants of row at, each once until family_clear(). */
void family_walk(struct family *f, size_t at, family_seen *seen, void *arg);
void family_clear(struct family *f);
