/*
 * Stacks that were left for another one. C code and the work of Go's runtime
 * run apart from the goroutine that asked for them, and handlers of signals on
 * stacks of their own: what they left waits meanwhile.
 */
#include "capture/host/memory.h"
#include "proc_private.h"

#include <errno.h>

/* What stands from addr upwards; 0 bytes when it can't be had. */
static size_t
read_up(struct process *proc, uint64_t addr, struct memory_batch *batch,
        const void **out)
{
	struct memory m = {.host = proc->modules->host,
	                   .pid = (int32_t)proc->pid};
	struct memory_piece p = {.addr = addr, .len = PROC_MAX_OTHER};
	int rc = memory_read(&m, &p, 1, batch);

	if (rc == -EPERM || rc == -EACCES)
		proc->unreadable = true;
	*out = p.p;
	return rc ? 0 : p.got;
}

/* Whether all may be code: what was overwritten since leads anywhere. */
static bool
is_code(const struct process *proc, const uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!maps_find(&proc->maps, pcs[i] - 1))
			return false;
	return true;
}

void
process_cross(struct process *proc, struct proc_stack *out, uint64_t *pcs,
              size_t max, size_t *n)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {0};
	uint64_t at = unwind_other_stack(proc->unwinder);
	const void *stack;
	size_t len, more;

	if (!at || *n >= max || !process_may_read(proc, out))
		return;
	len = read_up(proc, at, &batch, &stack);
	if (!len ||
	    unwind_on(proc->unwinder, stack, len, pcs + *n, max - *n, &more) !=
	            UNWIND_ROOT ||
	    !is_code(proc, pcs + *n, more))
		return;
	*n += more;
	out->end = UNWIND_ROOT;
	out->topped_up = true;
}
