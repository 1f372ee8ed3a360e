/*
 * Puts interpreter frames among native ones. Each call of the interpreter's
 * function from C executes a run of Python functions, which call one another
 * without another C frame: the run replaces that C frame in the stack.
 */
#include "process_python.h"

#include "base/clock.h"

#define LIST_NS ((uint64_t)NS_PER_S / 20) /* between two lists of threads */

/* The interpreter that a process runs. */
struct python_process {
	const struct python_image *image;
	uint32_t module;
	uint64_t bias;
	struct python_threads threads;
	uint64_t listed_ns; /* 0: never */
};

void
process_forget_python(struct process *proc)
{
	if (proc->python)
		python_threads_done(&proc->python->threads);
	free(proc->python);
	proc->python = NULL;
	proc->python_looked = false;
}

static struct python_process *
python_of(struct process *proc)
{
	if (proc->python_looked)
		return proc->python;
	proc->python_looked = true;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		const struct module *m = proc->modules->rows[row->module];

		if (!m->python)
			continue;
		proc->python = calloc(1, sizeof(*proc->python));
		if (proc->python) {
			proc->python->image = m->python;
			proc->python->module = row->module;
			proc->python->bias = row->bias;
		}
		break;
	}
	return proc->python;
}

void
process_python_code(struct process *proc, struct unwind_mapping *out)
{
	const struct python_process *py = python_of(proc);
	const struct map *m =
		py ? maps_find(&proc->maps, py->image->eval_start + py->bias)
		   : NULL;

	if (m) {
		out->caller_start = m->start;
		out->caller_end = m->end;
	}
}

/* --- threads ---------------------------------------------------------------
 */

static bool
tell(const struct python_process *py, struct sampler *s,
     struct python_slot *slot, uint64_t native)
{
	return python_threads_find(&py->threads, native, slot) &&
	       sampler_python_thread(s, slot);
}

/* Finds the thread's number in its own namespace, which the
 * interpreter knows. */
static int
native_thread(const struct host *host, uint32_t tid, uint32_t *out)
{
	struct host_ask ask = {.op = HOST_INNER, .pid = (int32_t)tid};

	return host_value(host, &ask, out);
}

/*
 * Follows all threads that exist, so that not even their first samples lack
 * functions; in another pid namespace follows each thread when it is first
 * seen.
 */
void
process_python_threads(struct process *proc, struct sampler *s)
{
	struct python_process *py = python_of(proc);
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	struct python_slot slot = {.key = proc->pid};
	uint32_t native;

	if (!py || !sampler_follows_python(s) ||
	    native_thread(memory.host, proc->pid, &native) ||
	    native != proc->pid ||
	    python_threads_read(&memory, py->image, py->bias, &py->threads))
		return;
	for (uint32_t i = 0; i < py->threads.n; i++) {
		slot.tid = (uint32_t)py->threads.rows[i].native;
		(void)tell(py, s, &slot, py->threads.rows[i].native);
	}
}

void
process_python_thread(struct process *proc, struct sampler *s, uint32_t tid)
{
	struct python_process *py = python_of(proc);
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	struct python_slot slot = {.tid = tid, .key = proc->pid};
	uint64_t now = (uint64_t)clock_mono_ns();
	uint32_t native;

	if (!py || native_thread(memory.host, tid, &native) ||
	    tell(py, s, &slot, native) || now - py->listed_ns < LIST_NS)
		return;
	py->listed_ns = now;
	if (!python_threads_read(&memory, py->image, py->bias, &py->threads))
		(void)tell(py, s, &slot, native);
}

bool
process_python_read(struct process *proc, uint32_t tid,
                    struct python_stack *out)
{
	struct python_process *py = python_of(proc);
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	uint64_t now = (uint64_t)clock_mono_ns();
	struct python_slot slot;
	uint32_t native;

	if (!py || native_thread(memory.host, tid, &native))
		return false;
	if (now - py->listed_ns >= LIST_NS &&
	    python_threads_read(&memory, py->image, py->bias, &py->threads))
		return false;
	py->listed_ns = now;
	out->key = proc->pid;
	return python_threads_find(&py->threads, native, &slot) &&
	       !python_stack_read(&memory, &slot, out);
}

/* --- runs ------------------------------------------------------------------
 */

/* True after the last frame of a run. */
static bool
ends_run(const struct python_process *py, const struct python_frame *f,
         uint64_t place)
{
	return py->image->minor == 11
	               ? f->mark & 255
	               : place == PYTHON_NO_PLACE && (f->mark & 255) == 3;
}

static void
find_runs(const struct python_process *py, const struct python_stack *s,
          struct python_runs *out)
{
	bool open = false;

	for (uint32_t i = 0; i < s->n; i++) {
		out->ends[i] = ends_run(py, &s->frames[i], out->places[i]);
		open = !out->ends[i];
		out->n += out->ends[i];
	}
	out->n += open;
	out->nplaces = s->n;
}

static bool
is_eval(const struct process *proc, const uint64_t *pcs, size_t i)
{
	const struct python_process *py = proc->python;
	uint64_t at = (i ? pcs[i] - 1 : pcs[i]) - (py ? py->bias : 0);

	return py && at >= py->image->eval_start && at < py->image->eval_end;
}

/* True when there is a run for each call of the interpreter; the innermost call
 * has none yet when it has just begun. */
static bool
runs_fit(const struct process *proc, const uint64_t *pcs, size_t n,
         const struct proc_stack *out, struct python_runs *runs,
         enum python_end end)
{
	size_t calls = 0;

	for (size_t i = 0; i < n; i++)
		calls += is_eval(proc, pcs, i);
	if (calls == runs->n + 1 && is_eval(proc, pcs, 0)) {
		runs->skip = true;
		return true;
	}
	if (end == PYTHON_FULL)
		return true;
	return out->end == UNWIND_ROOT ? calls == runs->n : calls <= runs->n;
}

static bool
read_runs(struct process *proc, const struct python_stack *s,
          struct python_runs *out)
{
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	const struct python_space space = {
		.memory = &memory,
		.image = proc->python->image,
		.bias = proc->python->bias,
		.now_ns = (uint64_t)clock_mono_ns(),
	};

	if (!s || s->key != proc->pid || s->end == PYTHON_FAULT ||
	    python_places(proc->modules->python, &space, s, out->places))
		return false;
	find_runs(proc->python, s, out);
	return true;
}

bool
process_python(struct process *proc, const struct python_stack *s,
               const uint64_t *pcs, size_t n, struct proc_stack *out,
               struct python_runs *runs)
{
	runs->n = runs->nplaces = runs->at = 0;
	runs->skip = false;
	if (!python_of(proc) || !n)
		return false;
	if (read_runs(proc, s, runs) &&
	    runs_fit(proc, pcs, n, out, runs, s->end)) {
		out->python = runs->n ? PYTHON_MERGED : PYTHON_WITHOUT;
		return runs->n;
	}
	for (size_t i = 0; i < n && out->python == PYTHON_WITHOUT; i++)
		if (is_eval(proc, pcs, i))
			out->python = PYTHON_MISSED;
	return false;
}

/* --- merging ---------------------------------------------------------------
 */

static void
put(struct proc_stack *out, uint64_t place)
{
	if (place != PYTHON_NO_PLACE && out->n < PROCS_MAX_STACK)
		out->places[out->n++] = (struct place){MODULE_PYTHON, place};
}

bool
python_next_run(const struct process *proc, const uint64_t *pcs, size_t i,
                struct python_runs *runs, struct proc_stack *out)
{
	if (!is_eval(proc, pcs, i) || runs->at == runs->nplaces)
		return false;
	if (runs->skip) {
		runs->skip = false;
		return false;
	}
	do
		put(out, runs->places[runs->at]);
	while (!runs->ends[runs->at++] && runs->at < runs->nplaces);
	return true;
}

void
python_rest(struct python_runs *runs, struct proc_stack *out)
{
	while (runs->at < runs->nplaces)
		put(out, runs->places[runs->at++]);
}
