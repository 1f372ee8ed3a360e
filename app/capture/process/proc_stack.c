#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "capture/event.h"
#include "process_code.h"
#include "process_interp.h"
#include "process_jit.h"
#include "process_runtime.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FUTILE_NS  ((uint64_t)NS_PER_S)
#define MAX_OTHER  ((uint32_t)64 << 10) /* bytes read from another stack */
#define LARGE      (16 << 10) /* bytes between known and missing stack words */
#define BELOW      256 /* bytes below a return address: saved registers */
#define REST_BYTES ((uint32_t)(HOST_MAX_MEMORY - HOST_EXPECT)) /* of one read */

/* True for a mark of perf among the kernel's frames. Only the mark
 * for "the kernel part follows" is requested. */
static bool
is_mark(uint64_t ip)
{
	return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

static void
put(struct proc_stack *out, uint32_t module, uint64_t vaddr)
{
	if (out->n < PROCS_MAX_STACK)
		out->places[out->n++] = (struct place){module, vaddr};
}

static void
kernel_frames(const struct record *r, struct proc_stack *out)
{
	for (size_t i = 0; i < r->sample.nchain; i++) {
		uint64_t ip;

		memcpy(&ip, r->sample.chain + i * sizeof(ip), sizeof(ip));
		if (is_mark(ip))
			continue;
		/* All but the first are return addresses. */
		put(out, MODULE_KERNEL, out->n ? ip - 1 : ip);
	}
}

static bool
find_mapping(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	struct process *proc = arg;
	const struct map *m = maps_find(&proc->maps, addr);
	const struct module *of;

	if (m && proc->modules->rows[m->module]->pid && process_code_look(proc))
		m = maps_find(&proc->maps, addr);
	if (!m)
		return false;
	of = proc->modules->rows[m->module];
	*out = (struct unwind_mapping){.start = m->start,
	                               .end = m->end,
	                               .bias = m->bias,
	                               .table = of->table};
	if (of->pid)
		process_interp_code(proc, out);
	process_jit_mapping(proc, of, out);
	if (of->pid && !proc->jit)
		process_code_copy(proc, addr, out);
	return true;
}

struct place
process_place(const struct process *proc, uint64_t pc)
{
	const struct map *m = maps_find(&proc->maps, pc);

	return m ? (struct place){m->module, pc - m->bias}
	         : (struct place){MODULE_UNKNOWN, pc};
}

static void
user_frame(const struct process *proc, uint64_t pc, struct proc_stack *out)
{
	struct place at = process_place(proc, pc);

	put(out, at.module, at.vaddr);
}

static void
one_frame(struct process *proc, const uint64_t *pcs, size_t i,
          struct proc_stack *out)
{
	const uint64_t pc = i ? pcs[i] - 1 : pcs[i];

	if (!process_jit_frame(proc, i, pc, out))
		user_frame(proc, pc, out);
}

static void
user_frames(struct process *proc, const uint64_t *pcs, size_t n,
            struct proc_stack *out)
{
	for (size_t i = 0; i < n; i++)
		one_frame(proc, pcs, i, out);
}

/* True for code that -X perf generates to call the interpreter for one
 * function: the function's name is in the stack already. */
static bool
is_trampoline(const struct process *proc, uint64_t pc)
{
	const struct map *m = maps_find(&proc->maps, pc - 1);

	return m && proc->modules->rows[m->module]->pid;
}

static void
mixed_frames(struct process *proc, const uint64_t *pcs, size_t n,
             struct interp_runs *runs, struct proc_stack *out)
{
	for (size_t i = 0; i < n; i++) {
		if (interp_is_core(proc, pcs, i, n, runs))
			continue;
		if (!interp_next_run(proc, pcs, i, runs, out))
			one_frame(proc, pcs, i, out);
		else if (i + 1 < n && is_trampoline(proc, pcs[i + 1]))
			i++;
	}
	interp_rest(proc, runs, out);
}

/*
 * Finds the module where a stack breaks off; skips addresses outside of code,
 * which are not callers.
 */
static uint32_t
last_module(const struct process *proc, const uint64_t *pcs, size_t n)
{
	const struct map *m = NULL;

	while (n && !m) {
		n--;
		m = maps_find(&proc->maps, pcs[n] - (n > 0));
	}
	return m ? m->module : MODULE_UNKNOWN;
}

/* --- reading on in a stack ------------------------------------------------ */

/*
 * Reads more of stacks whose copy in the sample is too short. By the time a
 * sample is read the thread has moved on, but its outer frames are mostly still
 * there; the last bytes of the copy must be unchanged.
 *
 * The kernel's copy ends at its full size, or at the first page that is not in
 * memory: an array that was never written to leaves such holes. Reading on
 * brings the page into memory (as shared zeroes, if it was never written to),
 * so that later copies of this thread include it: a hole costs one read, even
 * if that was too late for its own sample.
 *   Source   Linux kernel/events/internal.h, DEFINE_OUTPUT_COPY;
 *            process_vm_readv(2)
 */

/* Uses up one of the reads that are left in this drain; false if none are
 * left. */
static bool
may_read(const struct process *proc, struct proc_stack *out)
{
	if (!out->topups || proc->unreadable ||
	    (uint64_t)clock_mono_ns() >= out->topups_end_ns)
		return false;
	out->topups--;
	return true;
}

static const struct proc_rest *
find_rest(const struct proc_rest *want, const struct proc_stack *out)
{
	for (size_t i = 0; i < out->nrests; i++) {
		const struct proc_rest *r = &out->rests[i];

		if (r->pid == want->pid && r->addr == want->addr &&
		    !memcmp(r->before, want->before, sizeof(r->before)))
			return r;
	}
	return NULL;
}

/*
 * Reads the rest of a stack, once for all samples of a drain whose copies end
 * alike: a thread often stays within the outer frames of a deep stack.
 *   Errors   as read_on()
 */
static int
read_rest(struct process *proc, struct proc_rest *rest, struct proc_stack *out)
{
	struct host_ask ask = {
		.op = HOST_STACK,
		.pid = (int32_t)proc->pid,
		.address = rest->addr,
		.size = REST_BYTES,
	};
	const struct proc_rest *found = find_rest(rest, out);
	int rc;

	if (found) {
		rest->fd = found->fd;
		return 0;
	}
	if (out->nrests == ARRAY_LEN(out->rests) || !may_read(proc, out))
		return -EAGAIN;
	memcpy(ask.expect, rest->before, sizeof(ask.expect));
	rc = host_fd(proc->modules->host, &ask, &rest->fd);
	if (rc == -EPERM || rc == -EACCES)
		proc->unreadable = true;
	if (!rc)
		out->rests[out->nrests++] = *rest;
	return rc;
}

/*
 * Reads on above the *len bytes of whole[], and raises *len.
 *   Errors   -EAGAIN no read is left in this drain; -ESTALE the thread has
 *            moved on, but the hole is filled; any other means that there is no
 *            more to read
 */
static int
read_on(struct process *proc, uint64_t sp, struct proc_stack *out, size_t *len)
{
	struct proc_rest rest = {.pid = proc->pid, .addr = sp + *len};
	const size_t known = *len < HOST_EXPECT ? *len : HOST_EXPECT;
	ssize_t n;
	int rc;

	if (*len + REST_BYTES > sizeof(out->whole))
		return -E2BIG;
	/* A shorter copy can't be extended, but its hole gets filled. */
	memcpy(rest.before + HOST_EXPECT - known, out->whole + *len - known,
	       known);
	rc = read_rest(proc, &rest, out);
	if (rc)
		return rc;
	n = pread(rest.fd, out->whole + *len, REST_BYTES, 0);
	if (n <= 0)
		return -ENODATA;
	*len += (size_t)n;
	return 0;
}

/*
 * Finds the record of a thread's short copies that end at the same address. If
 * nothing could be read there, no read is tried for a while. A read that was
 * too late, or after which the walk breaks off, still filled the hole, and says
 * nothing about other samples taken before.
 */
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

/* --- the other stack ------------------------------------------------------ */

/*
 * Reads stacks that a thread left for another one. C code and Go's runtime do
 * not run on the stack of the goroutine that called them, and signal handlers
 * may have a separate stack; the stack that was left does not change
 * meanwhile.
 */

static const struct memory_piece *
find_other(const struct process *proc, uint64_t addr,
           const struct proc_stack *out)
{
	for (size_t i = 0; i < out->nothers; i++) {
		const struct proc_other *o = &out->others[i];

		if (o->pid == proc->pid && o->read.addr == addr)
			return &o->read;
	}
	return NULL;
}

/* Reads the stack from addr upwards, once for all samples of a drain, all of
 * which are older than the read. NULL when no more may be read. */
static const struct memory_piece *
read_other(struct process *proc, uint64_t addr, struct proc_stack *out)
{
	const struct memory_piece *found = find_other(proc, addr, out);
	struct memory m = {.host = proc->modules->host,
	                   .pid = (int32_t)proc->pid};
	struct proc_other *o = &out->others[out->nothers];
	int rc;

	if (found)
		return found;
	if (out->nothers == ARRAY_LEN(out->others) || !may_read(proc, out))
		return NULL;
	*o = (struct proc_other){proc->pid, {.addr = addr, .len = MAX_OTHER}};
	rc = memory_read(&m, &o->read, 1, &out->read);
	if (rc == -EPERM || rc == -EACCES)
		proc->unreadable = true;
	if (rc)
		o->read.got = 0;
	out->nothers++;
	return &o->read;
}

/* True when all pcs may be code: a stack that was overwritten since the sample
 * can lead anywhere. */
static bool
is_code(const struct process *proc, const uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!maps_find(&proc->maps, pcs[i] - 1))
			return false;
	return true;
}

/*
 * Adds the frames, read from memory, of the stack that a goroutine or, for a
 * signal handler, a thread has left. out->end is then that stack's. By now the
 * frames may be those of a later call, if calls are short.
 *
 *   Shape    pcs[max] and *n come from the walk so far, and are extended
 */
static void
cross(struct process *proc, struct proc_stack *out, uint64_t *pcs, size_t max,
      size_t *n)
{
	uint64_t at = unwind_other_stack(proc->unwinder);
	const struct memory_piece *other = NULL;
	size_t more;

	if (at && *n < max)
		other = read_other(proc, at, out);
	if (!other || !other->got ||
	    unwind_on(proc->unwinder, other->p, other->got, pcs + *n, max - *n,
	              &more) != UNWIND_ROOT ||
	    !is_code(proc, pcs + *n, more))
		return;
	*n += more;
	out->end = UNWIND_ROOT;
	out->topped_up = true;
}

/* --- stacks whose copy is too short --------------------------------------- */

/*
 * Reads the stack from the missing return address of a large frame on. What is
 * below it in the frame is not needed.
 *   Errors   -E2BIG there are too many such frames, -EAGAIN no read is left in
 *            this drain, -ENODATA nothing could be read
 */
static int
read_far(struct process *proc, struct proc_stack *out)
{
	const uint64_t missing = unwind_missing(proc->unwinder);
	const struct memory_piece *read;

	if (out->nfar == ARRAY_LEN(out->far))
		return -E2BIG;
	read = read_other(proc, missing - BELOW, out);
	if (!read)
		return -EAGAIN;
	if (read->got <= BELOW)
		return -ENODATA;
	out->far[out->nfar++] =
		(struct unwind_piece){read->p, read->addr, read->got};
	unwinder_far(proc->unwinder, out->far, out->nfar);
	return 0;
}

/* True if a walk broke off within a large frame above the known part of the
 * stack, which ends at end. If one read can fill the hole there, the frame is
 * not large. */
static bool
in_large_frame(const struct process *proc, uint64_t end, bool at_hole)
{
	return unwind_missing(proc->unwinder) - end >=
	       (at_hole ? REST_BYTES : LARGE);
}

/* Drops what was found beyond large frames, unless the stack's root was found.
 * certain: the number of frames found before. */
static void
end_far(struct process *proc, struct proc_stack *out, const uint64_t *pcs,
        size_t certain, size_t *n)
{
	unwinder_far(proc->unwinder, NULL, 0);
	if (out->nfar &&
	    (out->end != UNWIND_ROOT || !is_code(proc, pcs + 1, *n - 1))) {
		out->end = UNWIND_TRUNCATED;
		*n = certain;
	}
	out->nfar = 0;
}

/*
 * Walks again a stack whose dump was too short, with more of it read from
 * memory, until its root is found or no more can be read.
 *
 *   Shape    pcs[max] and *n come from the walk so far, and are replaced when
 *            more was found
 */
static void
top_up(struct process *proc, const struct record *r, struct proc_stack *out,
       uint64_t *pcs, size_t max, size_t *n)
{
	const uint64_t sp = r->sample.regs[EVENT_SP];
	size_t len = r->sample.stack_len, certain = *n;
	int rc = 0;

	out->cut = !is_futile(proc, r);
	if (!out->cut)
		return;
	memcpy(out->whole, r->sample.stack, len);
	while (out->end == UNWIND_TRUNCATED) {
		rc = in_large_frame(proc, sp + len, !r->sample.stack_cut)
		             ? read_far(proc, out)
		             : read_on(proc, sp, out, &len);
		if (rc)
			break;
		out->topped_up = true;
		out->end = unwind(proc->unwinder, r->sample.regs, out->whole,
		                  len, pcs, max, n);
		if (!out->nfar)
			certain = *n;
	}
	if (rc && rc != -ESTALE && rc != -EAGAIN)
		note_futile(proc, r);
	end_far(proc, out, pcs, certain, n);
}

/* --- whole stacks --------------------------------------------------------- */

void
process_stacks_begin(struct proc_stack *s)
{
	process_stacks_end(s);
	s->topups = PROCS_TOPUPS;
	s->topups_end_ns = (uint64_t)clock_mono_ns() + PROCS_TOPUP_NS;
}

void
process_stacks_end(struct proc_stack *s)
{
	s->topups = 0;
	s->nothers = 0;
	while (s->nrests)
		close(s->rests[--s->nrests].fd);
	memory_batch_done(&s->read);
}

/*
 * True while the kernel loads the program of an execve(2): the user part of a
 * sample is that of the program that called it, whose memory is gone.
 *   Source   Linux fs/exec.c, begin_new_exec(); start_thread() sets the
 *            registers at the end
 */
static bool
is_loading(struct process *proc, const struct record *r,
           const struct proc_stack *out)
{
	if (proc->loading)
		proc->loading = out->n && !maps_find(&proc->maps,
		                                     r->sample.regs[EVENT_PC]);
	return proc->loading;
}

/* Adds the leaf frame of a 32-bit program, whose stack is not unwound. */
static void
leaf_of_32(const struct process *proc, uint64_t pc, struct proc_stack *out)
{
	user_frame(proc, pc, out);
	out->last_module = out->places[out->n - 1].module;
	out->is_32 = true;
}

static bool
is_in_32(const struct process *proc, uint64_t pc)
{
	const struct map *m = maps_find(&proc->maps, pc);

	return m && proc->modules->rows[m->module]->is_32;
}

/* Ends a walk for which the stack that the thread left was copied whole. */
static void
end_copied(struct process *proc, struct proc_stack *out)
{
	unwinder_far(proc->unwinder, NULL, 0);
	out->nfar = 0;
}

void
process_stack(struct process *proc, const struct record *r,
              struct proc_stack *out)
{
	uint64_t pcs[PROCS_MAX_STACK];
	struct interp_runs runs;
	size_t n = 0;

	out->n = 0;
	out->end = UNWIND_NO_INFO;
	out->last_module = MODULE_UNKNOWN;
	out->interp = INTERP_WITHOUT;
	out->cut = out->topped_up = out->is_32 = false;
	out->jit_missed = out->jit_unknown = false;
	out->runtime = 0;
	kernel_frames(r, out);
	if (r->sample.no_user || is_loading(proc, r, out))
		out->end = UNWIND_ROOT;
	else if (r->sample.is_32)
		leaf_of_32(proc, r->sample.regs[EVENT_PC], out);
	if (!r->sample.has_user || out->end == UNWIND_ROOT)
		return;
	if (!proc->unwinder)
		proc->unwinder = unwinder_new(find_mapping, proc);
	if (!proc->unwinder)
		return;
	process_jit_begin(proc);
	process_code_begin(proc);
	out->nfar = process_interp_stack(proc, r->sample.interp, out->far);
	unwinder_far(proc->unwinder, out->far, out->nfar);
	out->end = unwind(proc->unwinder, r->sample.regs, r->sample.stack,
	                  r->sample.stack_len, pcs, ARRAY_LEN(pcs) - out->n,
	                  &n);
	if (out->nfar)
		end_copied(proc, out);
	else if (out->end == UNWIND_TRUNCATED)
		top_up(proc, r, out, pcs, ARRAY_LEN(pcs) - out->n, &n);
	if (out->end == UNWIND_SWITCHED)
		cross(proc, out, pcs, ARRAY_LEN(pcs) - out->n, &n);
	if (out->end != UNWIND_ROOT)
		out->last_module = last_module(proc, pcs, n);
	if (process_interp(proc, r->sample.interp, pcs, n, out, &runs))
		mixed_frames(proc, pcs, n, &runs, out);
	else
		user_frames(proc, pcs, n, out);
	out->runtime = process_runtime(proc, out);
}

static enum unwind_end
walk_thread(struct process *proc, const struct proc_thread *t, uint64_t *pcs,
            size_t max, size_t *n)
{
	return t->regs ? unwind(proc->unwinder, t->regs, t->stack, t->len, pcs,
	                        max, n)
	               : unwind_blocked(proc->unwinder, t->pc, t->sp, t->args,
	                                t->stack, t->len, pcs, max, n);
}

/* Walks the stack of a thread, even beyond large frames and on the stack that
 * it left for another one. */
static void
walk_all_of_thread(struct process *proc, const struct proc_thread *t,
                   struct proc_stack *out, uint64_t *pcs, size_t max, size_t *n)
{
	const uint64_t sp = t->regs ? t->regs[EVENT_SP] : t->sp;
	size_t certain;

	out->end = walk_thread(proc, t, pcs, max, n);
	certain = *n;
	process_stacks_begin(out);
	while (out->end == UNWIND_TRUNCATED &&
	       in_large_frame(proc, sp + t->len, false) && !read_far(proc, out))
		out->end = walk_thread(proc, t, pcs, max, n);
	end_far(proc, out, pcs, certain, n);
	if (out->end == UNWIND_SWITCHED)
		cross(proc, out, pcs, max, n);
	process_stacks_end(out);
}

void
process_thread_stack(struct process *proc, const struct proc_thread *t,
                     struct proc_stack *out)
{
	uint64_t pcs[PROCS_MAX_STACK];
	struct interp_stack interp;
	struct interp_runs runs;
	size_t n = 0;
	const uint64_t pc = t->regs ? t->regs[EVENT_PC] : t->pc;
	bool has;

	out->n = 0;
	out->end = UNWIND_NO_INFO;
	out->interp = INTERP_WITHOUT;
	out->jit_missed = out->jit_unknown = false;
	out->runtime = 0;
	out->last_module = MODULE_UNKNOWN;
	out->is_32 = is_in_32(proc, pc);
	if (out->is_32)
		return leaf_of_32(proc, pc, out);
	if (!proc->unwinder)
		proc->unwinder = unwinder_new(find_mapping, proc);
	if (!proc->unwinder)
		return;
	process_jit_begin(proc);
	process_code_begin(proc);
	walk_all_of_thread(proc, t, out, pcs, ARRAY_LEN(pcs), &n);
	out->last_module = last_module(proc, pcs, n);
	has = process_interp_read(proc, t, &interp);
	if (process_interp(proc, has ? &interp : NULL, pcs, n, out, &runs))
		mixed_frames(proc, pcs, n, &runs, out);
	else
		user_frames(proc, pcs, n, out);
	out->runtime = process_runtime(proc, out);
}
