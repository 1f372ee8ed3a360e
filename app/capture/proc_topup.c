/*
 * Stacks deeper than their dump. By the time a sample is read the thread has
 * moved on, but its outer frames mostly still stand; the last bytes of the
 * dump must be found as they were.
 */
#include "base/clock.h"
#include "base/file.h"
#include "capture/event.h"
#include "proc_private.h"

#include <errno.h>
#include <string.h>

/* Reads on above the len bytes of whole[]; 0 when there is no more. */
static size_t
read_on(struct process *proc, uint64_t sp, uint8_t *whole, size_t len)
{
	struct host_ask ask = {
		.op = HOST_STACK,
		.pid = (int32_t)proc->pid,
		.address = sp + len,
		.size = HOST_MAX_MEMORY - HOST_EXPECT,
	};
	const struct host *host = proc->modules->host;
	CLEANUP_FD int fd = -1;
	ssize_t n;
	int rc;

	if (len < HOST_EXPECT || len + ask.size > PROCS_MAX_TOPUP)
		return 0;
	memcpy(ask.expect, whole + len - HOST_EXPECT, HOST_EXPECT);
	rc = host_fd(host, &ask, &fd);
	if (rc == -EPERM || rc == -EACCES)
		proc->unreadable = true;
	n = rc ? 0 : pread(fd, whole + len, ask.size, 0);
	return n > 0 ? (size_t)n : 0;
}

bool
process_may_read(const struct process *proc, struct proc_stack *out)
{
	if (!out->topups || proc->unreadable ||
	    (uint64_t)clock_mono_ns() >= out->topups_end_ns)
		return false;
	out->topups--;
	return true;
}

void
process_top_up(struct process *proc, const struct record *r,
               struct proc_stack *out, uint64_t *pcs, size_t max, size_t *n)
{
	const uint64_t sp = r->sample.regs[EVENT_SP];
	size_t len = r->sample.stack_len, more;

	memcpy(out->whole, r->sample.stack, len);
	while (out->end == UNWIND_TRUNCATED && process_may_read(proc, out)) {
		more = read_on(proc, sp, out->whole, len);
		if (!more)
			return;
		len += more;
		out->topped_up = true;
		out->end = unwind(proc->unwinder, r->sample.regs, out->whole,
		                  len, pcs, max, n);
	}
}
