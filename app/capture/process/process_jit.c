/*
 * Asks the language that compiled a process's code for callers and names. What
 * it learns of frames while they are walked is kept by their index until they
 * are named.
 */
#include "process_jit.h"

#include "base/clock.h"

#include <errno.h>

struct jit_process {
	void *runtime;     /* NULL: not attached */
	uint64_t tried_ns; /* last try to attach; 0: never */
	bool refused;      /* its layout is not known */
	struct memory_spare spare;
	struct jit_looks looks;
	struct memory memory;
	struct jit_space space; /* now_ns is that of the stack being walked */
	struct jit_detail {
		uint64_t pc, value;
	} details[PROCS_MAX_STACK];
};

void
process_forget_jit(struct process *proc)
{
	struct jit_process *jp = proc->jit;

	if (jp && jp->runtime)
		jp->space.image->jit->detach(jp->runtime);
	if (jp)
		memory_spare_done(&jp->spare);
	free(jp);
	proc->jit = NULL;
	proc->jit_looked = false;
	if (proc->unwinder)
		unwinder_step(proc->unwinder, NULL, NULL);
}

static struct jit_process *
jit_new(const struct process *proc, const struct jit_image *image,
        uint64_t bias)
{
	struct jit_process *jp = calloc(1, sizeof(*jp));

	if (!jp)
		return NULL;
	jp->memory = (struct memory){.host = proc->modules->host,
	                             .pid = (int32_t)proc->pid,
	                             .spare = &jp->spare};
	jp->space = (struct jit_space){.memory = &jp->memory,
	                               .image = image,
	                               .bias = bias,
	                               .codes = proc->modules->codes,
	                               .looks = &jp->looks};
	return jp;
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
		proc->jit = jit_new(proc, image, row->bias);
		if (proc->unwinder) /* it may have rules for such code */
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
	} else if (at->jit == jp->space.image) {
		out->step_start = jp->space.image->start + out->bias;
		out->step_end = jp->space.image->end + out->bias;
	}
}

/* Attaches to the process if that has not been done; false when the language
 * can't be asked. */
static bool
attach(const struct process *proc)
{
	struct jit_process *jp = proc->jit;
	int rc;

	if (proc->unreadable)
		return false;
	if (jp->runtime || jp->refused)
		return jp->runtime;
	if (jp->tried_ns && jp->space.now_ns - jp->tried_ns < JIT_ATTACH_NS)
		return false;
	jp->tried_ns = jp->space.now_ns;
	rc = jp->space.image->jit->attach(&jp->space, &jp->runtime);
	if (rc)
		jp->runtime = NULL;
	jp->refused = rc == -EBADMSG;
	return jp->runtime;
}

static int
step(void *arg, const struct unwind_stack *stack, struct unwind_frame *f)
{
	struct process *proc = arg;
	struct jit_process *jp = proc->jit;
	const uint64_t pc = f->pc;
	const size_t index = f->index;
	uint64_t detail = 0;
	int rc;

	if (!attach(proc))
		return -ENOENT;
	rc = jp->space.image->jit->step(jp->runtime, &jp->space, stack, f,
	                                &detail);
	if (index < PROCS_MAX_STACK)
		jp->details[index] = (struct jit_detail){pc, detail};
	return rc;
}

void
process_jit_begin(struct process *proc)
{
	struct jit_process *jp = jit_of(proc);

	if (!jp)
		return;
	jp->space.now_ns = (uint64_t)clock_mono_ns();
	unwinder_step(proc->unwinder, step, proc);
}

/* Finds the mapping of code that step was asked for; NULL for other code. */
static const struct map *
find_stepped(struct process *proc, uint64_t pc)
{
	const struct jit_image *image = proc->jit->space.image;
	const struct map *map = maps_find(&proc->maps, pc);
	const struct module *m = map ? proc->modules->rows[map->module] : NULL;

	if (!m)
		return NULL;
	return m->pid || (m->jit == image && pc - map->bias >= image->start &&
	                  pc - map->bias < image->end)
	               ? map
	               : NULL;
}

bool
process_jit_frame(struct process *proc, size_t i, uint64_t pc,
                  struct proc_stack *out)
{
	struct jit_process *jp = jit_of(proc);
	uint64_t places[JIT_MAX_PLACES];
	const struct jit_detail *detail;
	const struct map *map = jp ? find_stepped(proc, pc) : NULL;
	struct module *m;
	struct jit_space space;
	size_t n = 0;
	int rc;

	if (!map)
		return false;
	if (!attach(proc)) {
		out->jit_unknown |= jp->refused;
		return false;
	}
	m = proc->modules->rows[map->module];
	space = jp->space;
	if (!m->pid) /* V8 maps its built-in functions a second time */
		space.bias = map->bias;
	detail = &jp->details[i];
	rc = jp->space.image->jit->names(
		jp->runtime, &space, pc,
		detail->pc == pc + (i > 0) ? detail->value : 0, places, &n);
	m->described = true;
	if (rc == -ENOENT && m->pid)
		m->guest = jp->space.image->jit->guest;
	if (rc) {
		out->jit_missed |= rc != -ENOENT;
		return false;
	}
	for (size_t k = 0; k < n && out->n < PROCS_MAX_STACK; k++)
		if (places[k] != INTERP_NO_PLACE)
			out->places[out->n++] = (struct place){
				MODULE_JITS + jp->space.image->jit->id,
				places[k]};
	return true;
}
