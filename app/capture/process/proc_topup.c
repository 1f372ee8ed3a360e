/*
 * Stacks of which more is needed than was copied with their sample. By the
 * time a sample is read the thread has moved on, but its outer frames mostly
 * still stand; the last bytes of the copy must be found as they were.
 *
 * The kernel's copy ends at its full size, or at the first page that is not in
 * memory: an array that was never written to leaves such holes. Reading on
 * brings the page into memory (as zeroes that are shared, for one that was
 * never written to), so that later copies of this thread pass over it: a hole
 * costs one read, even if that came too late for its own sample.
 *   Source   Linux kernel/events/internal.h, DEFINE_OUTPUT_COPY;
 *            process_vm_readv(2)
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "capture/event.h"
#include "proc_private.h"

#include <errno.h>
#include <string.h>

#define FUTILE_NS ((uint64_t)NS_PER_S)

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
	const size_t known = len < HOST_EXPECT ? len : HOST_EXPECT;
	const struct host *host = proc->modules->host;
	CLEANUP_FD int fd = -1;
	ssize_t n;
	int rc;

	if (len + ask.size > PROCS_MAX_TOPUP)
		return 0;
	/* A shorter copy can't be read on, but its hole is filled. */
	memcpy(ask.expect + HOST_EXPECT - known, whole + len - known, known);
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

/* Where a short copy ends, which is the same for all copies of a thread that
 * end there: what no read helped is not read again for a while. */
static struct proc_futile *
futile_of(struct process *proc, const struct record *r, uint64_t *end)
{
	*end = r->sample.regs[EVENT_SP] + r->sample.stack_len;
	return &proc->futile[hash_u64(*end) % ARRAY_LEN(proc->futile)];
}

static bool
is_futile(struct process *proc, const struct record *r)
{
	uint64_t end;
	const struct proc_futile *f = futile_of(proc, r, &end);

	return !r->sample.stack_cut && f->end == end &&
	       r->time_ns < f->until_ns;
}

static void
note_futile(struct process *proc, const struct record *r)
{
	uint64_t end;
	struct proc_futile *f = futile_of(proc, r, &end);

	if (!r->sample.stack_cut)
		*f = (struct proc_futile){end, r->time_ns + FUTILE_NS};
}

void
process_top_up(struct process *proc, const struct record *r,
               struct proc_stack *out, uint64_t *pcs, size_t max, size_t *n)
{
	const uint64_t sp = r->sample.regs[EVENT_SP];
	size_t len = r->sample.stack_len, more;

	out->cut = !is_futile(proc, r);
	if (!out->cut)
		return;
	memcpy(out->whole, r->sample.stack, len);
	while (out->end == UNWIND_TRUNCATED && process_may_read(proc, out)) {
		more = read_on(proc, sp, out->whole, len);
		if (!more)
			break;
		len += more;
		out->topped_up = true;
		out->end = unwind(proc->unwinder, r->sample.regs, out->whole,
		                  len, pcs, max, n);
	}
	if (out->end != UNWIND_ROOT)
		note_futile(proc, r);
}
