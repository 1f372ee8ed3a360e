#include "capture/event.h"
#include "proc_private.h"

#include <string.h>

/* Frames above this have run on a kernel stack: of perf's marks, "the kernel
 * part follows" is the only one we ask for. */
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

	if (!m)
		return false;
	of = proc->modules->rows[m->module];
	*out = (struct unwind_mapping){.start = m->start,
	                               .end = m->end,
	                               .bias = m->bias,
	                               .table = of->table};
	if (of->pid)
		process_python_code(proc, out);
	return true;
}

static void
user_frame(const struct process *proc, uint64_t pc, struct proc_stack *out)
{
	const struct map *m = maps_find(&proc->maps, pc);

	if (m)
		put(out, m->module, pc - m->bias);
	else
		put(out, MODULE_UNKNOWN, pc);
}

static void
user_frames(const struct process *proc, const uint64_t *pcs, size_t n,
            struct proc_stack *out)
{
	for (size_t i = 0; i < n; i++)
		user_frame(proc, i ? pcs[i] - 1 : pcs[i], out);
}

/* With -X perf, a piece of code made for the function calls the interpreter:
 * it has the function's name, which is there already. */
static bool
is_trampoline(const struct process *proc, uint64_t pc)
{
	const struct map *m = maps_find(&proc->maps, pc - 1);

	return m && proc->modules->rows[m->module]->pid;
}

static void
mixed_frames(const struct process *proc, const uint64_t *pcs, size_t n,
             struct python_runs *runs, struct proc_stack *out)
{
	for (size_t i = 0; i < n; i++) {
		if (!python_next_run(proc, pcs, i, runs, out))
			user_frame(proc, i ? pcs[i] - 1 : pcs[i], out);
		else if (i + 1 < n && is_trampoline(proc, pcs[i + 1]))
			i++;
	}
	python_rest(runs, out);
}

/* Where it breaks off: an address that is no code's was no caller's. */
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

void
process_stack(struct process *proc, const struct record *r,
              struct proc_stack *out)
{
	uint64_t pcs[PROCS_MAX_STACK];
	struct python_runs runs;
	size_t n = 0;

	out->n = 0;
	out->end = UNWIND_NO_INFO;
	out->last_module = MODULE_UNKNOWN;
	out->python = PYTHON_WITHOUT;
	out->cut = out->topped_up = false;
	kernel_frames(r, out);
	if (r->sample.no_user)
		out->end = UNWIND_ROOT;
	if (!r->sample.has_user)
		return;
	if (!proc->unwinder)
		proc->unwinder = unwinder_new(find_mapping, proc);
	if (!proc->unwinder)
		return;
	out->end = unwind(proc->unwinder, r->sample.regs, r->sample.stack,
	                  r->sample.stack_len, pcs, ARRAY_LEN(pcs) - out->n,
	                  &n);
	if (out->end == UNWIND_TRUNCATED)
		process_top_up(proc, r, out, pcs, ARRAY_LEN(pcs) - out->n, &n);
	if (out->end == UNWIND_SWITCHED)
		process_cross(proc, out, pcs, ARRAY_LEN(pcs) - out->n, &n);
	if (out->end != UNWIND_ROOT)
		out->last_module = last_module(proc, pcs, n);
	if (process_python(proc, r->sample.python, pcs, n, out, &runs))
		mixed_frames(proc, pcs, n, &runs, out);
	else
		user_frames(proc, pcs, n, out);
}

void
process_thread_stack(struct process *proc, const struct proc_thread *t,
                     struct proc_stack *out)
{
	uint64_t pcs[PROCS_MAX_STACK];
	struct python_stack python;
	struct python_runs runs;
	size_t n = 0;
	bool has;

	out->n = 0;
	out->end = UNWIND_NO_INFO;
	out->python = PYTHON_WITHOUT;
	out->last_module = MODULE_UNKNOWN;
	out->topups = 1; /* which another stack may take */
	out->topups_end_ns = UINT64_MAX;
	if (!proc->unwinder)
		proc->unwinder = unwinder_new(find_mapping, proc);
	if (!proc->unwinder)
		return;
	out->end = t->regs ? unwind(proc->unwinder, t->regs, t->stack, t->len,
	                            pcs, ARRAY_LEN(pcs), &n)
	                   : unwind_blocked(proc->unwinder, t->pc, t->sp,
	                                    t->stack, t->len, pcs,
	                                    ARRAY_LEN(pcs), &n);
	if (out->end == UNWIND_SWITCHED)
		process_cross(proc, out, pcs, ARRAY_LEN(pcs), &n);
	out->last_module = last_module(proc, pcs, n);
	has = process_python_read(proc, t->tid, &python);
	if (process_python(proc, has ? &python : NULL, pcs, n, out, &runs))
		mixed_frames(proc, pcs, n, &runs, out);
	else
		user_frames(proc, pcs, n, out);
}
