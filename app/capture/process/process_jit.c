/*
 * Asks the language that compiled a process's code for callers and names. What
 * it learns of frames while they are walked is kept by their index until they
 * are named.
 */
#include "process_jit.h"

#include "base/clock.h"

#include <errno.h>

struct jit_process {
	const struct jit_image *image;
	uint64_t bias;
	void *runtime;     /* NULL: not attached */
	uint64_t tried_ns; /* to attach; 0: never */
	bool refused;      /* its layout is not known */
	struct memory_spare spare;
	struct jit_looks looks;
	struct jit_detail {
		uint64_t pc, value;
	} details[PROCS_MAX_STACK];
};

void
process_forget_jit(struct process *proc)
{
	struct jit_process *jp = proc->jit;

	if (jp && jp->runtime)
		jp->image->jit->detach(jp->runtime);
	if (jp)
		memory_spare_done(&jp->spare);
	free(jp);
	proc->jit = NULL;
	proc->jit_looked = false;
	if (proc->unwinder)
		unwinder_step(proc->unwinder, NULL, NULL);
}

static struct jit_process *
jit_of(struct process *proc)
{
	if (proc->jit_looked)
		return proc->jit;
	proc->jit_looked = true;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		const struct jit_image *image =
			proc->modules->rows[row->module]->jit;

		if (!image)
			continue;
		proc->jit = calloc(1, sizeof(*proc->jit));
		if (proc->jit) {
			proc->jit->image = image;
			proc->jit->bias = row->bias;
		}
		if (proc->unwinder) /* it may know rules of such code */
			unwinder_flush(proc->unwinder);
		break;
	}
	return proc->jit;
}

void
process_jit_mapping(struct process *proc, const struct module *at,
                    struct unwind_mapping *out)
{
	const struct jit_process *jp = jit_of(proc);

	if (!jp)
		return;
	if (at->pid) {
		out->step_start = out->start;
		out->step_end = out->end;
	} else if (at->jit == jp->image) {
		out->step_start = jp->image->start + out->bias;
		out->step_end = jp->image->end + out->bias;
	}
}

/* Attaches to the process if that has not been done. */
static bool
attach(struct jit_process *jp, const struct jit_space *space)
{
	int rc;

	if (jp->runtime || jp->refused)
		return jp->runtime;
	if (jp->tried_ns && space->now_ns - jp->tried_ns < JIT_ATTACH_NS)
		return false;
	jp->tried_ns = space->now_ns;
	rc = jp->image->jit->attach(space, &jp->runtime);
	if (rc)
		jp->runtime = NULL;
	jp->refused = rc == -EBADMSG;
	return jp->runtime;
}

/* Makes the space of a process; false when the language can't be asked. */
static bool
open_space(struct process *proc, struct memory *memory, struct jit_space *out)
{
	struct jit_process *jp = proc->jit;

	if (!jp || proc->unreadable)
		return false;
	*memory = (struct memory){.host = proc->modules->host,
	                          .pid = (int32_t)proc->pid,
	                          .spare = &jp->spare};
	*out = (struct jit_space){.memory = memory,
	                          .image = jp->image,
	                          .bias = jp->bias,
	                          .codes = proc->modules->codes,
	                          .now_ns = (uint64_t)clock_mono_ns(),
	                          .looks = &jp->looks};
	return attach(jp, out);
}

static int
step(void *arg, const struct unwind_stack *stack, struct unwind_frame *f)
{
	struct process *proc = arg;
	struct memory memory;
	struct jit_space space;
	const uint64_t pc = f->pc;
	const size_t index = f->index;
	uint64_t detail = 0;
	int rc;

	if (!open_space(proc, &memory, &space))
		return -ENOENT;
	rc = space.image->jit->step(proc->jit->runtime, &space, stack, f,
	                            &detail);
	if (index < PROCS_MAX_STACK)
		proc->jit->details[index] = (struct jit_detail){pc, detail};
	return rc;
}

void
process_jit_begin(struct process *proc)
{
	if (jit_of(proc))
		unwinder_step(proc->unwinder, step, proc);
}

/* True for code that step was asked for. *bias: where the image lies there; V8
 * maps its built-in functions a second time. */
static bool
is_stepped(struct process *proc, uint64_t pc, uint64_t *bias)
{
	const struct jit_image *image = proc->jit->image;
	const struct map *m = maps_find(&proc->maps, pc);

	if (!m)
		return false;
	if (proc->modules->rows[m->module]->pid)
		return true;
	*bias = m->bias;
	return proc->modules->rows[m->module]->jit == image &&
	       pc - m->bias >= image->start && pc - m->bias < image->end;
}

/* Marks the code at an address as known to its language. */
static void
describe(struct process *proc, uint64_t pc)
{
	const struct map *m = maps_find(&proc->maps, pc);

	if (m)
		proc->modules->rows[m->module]->described = true;
}

bool
process_jit_frame(struct process *proc, size_t i, uint64_t pc,
                  struct proc_stack *out)
{
	uint64_t places[JIT_MAX_PLACES];
	const struct jit_detail *detail;
	struct memory memory;
	struct jit_space space;
	uint64_t bias;
	size_t n = 0;
	int rc;

	if (!jit_of(proc))
		return false;
	bias = proc->jit->bias;
	if (!is_stepped(proc, pc, &bias))
		return false;
	if (!open_space(proc, &memory, &space)) {
		out->jit_unknown |= proc->jit->refused;
		return false;
	}
	space.bias = bias;
	detail = &proc->jit->details[i];
	rc = space.image->jit->names(
		proc->jit->runtime, &space, pc,
		detail->pc == pc + (i > 0) ? detail->value : 0, places, &n);
	describe(proc, pc);
	if (rc) {
		out->jit_missed |= rc != -ENOENT;
		return false;
	}
	for (size_t k = 0; k < n && out->n < PROCS_MAX_STACK; k++)
		if (places[k] != INTERP_NO_PLACE)
			out->places[out->n++] = (struct place){
				MODULE_JITS + space.image->jit->id, places[k]};
	return true;
}
