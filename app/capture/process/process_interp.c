/*
 * Puts interpreter frames among native ones. Each call of the interpreter's
 * function from C executes a run of functions, which call one another
 * without another C frame: the run replaces that C frame in the stack.
 */
#include "process_interp.h"

#include "base/clock.h"
#include "capture/event.h"
#include "capture/host/memory.h"
#include "capture/interp/walk.h"

#include <errno.h>
#include <string.h>

#define LIST_NS  ((uint64_t)NS_PER_S / 20) /* between two lists of threads */
#define LOOK_NS  ((uint64_t)NS_PER_S)      /* between looks for interpreters */
#define PROLOGUE 256 /* length of code in which a call may have no frame yet */

/* The interpreter that a process runs. */
struct interp_process {
	const struct interp_image *image;
	uint64_t bias;
	struct interp_list list; /* pid 0: not known */
	struct interp_threads threads;
	uint64_t listed_ns; /* 0: never */
	/* The process whose memory holds its code: this one or, for a child
	 * that ended before its code was read, its parent. */
	int32_t code_pid;
	bool forked;
	bool unknown; /* its layout is not known */
	/* A thread may be in several interpreters at once, and leave them:
	 * where its frames are is looked up for each sample. */
	bool several;
	uint64_t looked_ns; /* for interpreters; 0: never */
};

void
process_forget_interp(struct process *proc)
{
	if (proc->interp)
		interp_threads_done(&proc->interp->threads);
	free(proc->interp);
	proc->interp = NULL;
	proc->interp_looked = false;
}

static struct interp_process *
interp_of(struct process *proc)
{
	if (proc->interp_looked)
		return proc->interp;
	proc->interp_looked = true;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		const struct module *m = proc->modules->rows[row->module];

		if (!m->interp)
			continue;
		proc->interp = calloc(1, sizeof(*proc->interp));
		if (proc->interp) {
			proc->interp->image = m->interp;
			proc->interp->bias = row->bias;
			proc->interp->code_pid = (int32_t)proc->pid;
		}
		break;
	}
	return proc->interp;
}

void
process_interp_code(struct process *proc, struct unwind_mapping *out)
{
	const struct interp_process *ip = interp_of(proc);
	const struct map *m =
		ip ? maps_find(&proc->maps, ip->image->eval_start + ip->bias)
		   : NULL;

	if (m) {
		out->caller_start = m->start;
		out->caller_end = m->end;
	}
}

/* --- threads -------------------------------------------------------------- */

static struct interp_space
space_of(const struct interp_process *ip, const struct memory *memory)
{
	return (struct interp_space){.memory = memory,
	                             .image = ip->image,
	                             .bias = ip->bias,
	                             .now_ns = (uint64_t)clock_mono_ns()};
}

static int
list_threads(struct interp_process *ip, const struct memory *memory)
{
	const struct language *language = ip->image->language;
	const struct interp_space space = space_of(ip, memory);

	int rc;

	ip->threads.n = 0;
	ip->threads.language = language->id;
	rc = language->attach(&space, &ip->threads);
	ip->unknown = rc == -EBADMSG;
	ip->several |= ip->threads.several;
	return rc;
}

static bool
announce(const struct interp_process *ip, struct sampler *s,
         struct interp_slot *slot, uint64_t native)
{
	return !ip->several && !ip->image->language->in_thread &&
	       interp_threads_find(&ip->threads, native, slot) &&
	       sampler_interp_thread(s, slot);
}

/* Finds the thread's tid in its pid namespace, which the interpreter knows. */
static int
native_thread(const struct host *host, uint32_t tid, uint32_t *out)
{
	struct host_ask ask = {.op = HOST_INNER, .pid = (int32_t)tid};

	return host_value(host, &ask, out);
}

/*
 * Passes the place of the process's list of threads to the kernel, which finds
 * threads there by their tid in the process's pid namespace. Returns whether
 * that is the worker's own namespace.
 */
static bool
follow_list(struct process *proc, struct interp_process *ip, struct sampler *s)
{
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	const struct interp_space space = space_of(ip, &memory);
	struct host_ask ask = {.op = HOST_PID_SPACE, .pid = (int32_t)proc->pid};
	struct interp_list list;
	uint32_t native, inode = 0;
	int rc;

	if (native_thread(memory.host, proc->pid, &native) ||
	    (native != proc->pid && host_value(memory.host, &ask, &inode)))
		return false;
	rc = ip->image->language->list(&space, &list);
	ip->unknown = rc == -EBADMSG;
	if (rc)
		return false;
	list.pid = proc->pid;
	list.space = inode;
	ip->list = list;
	sampler_interp_list(s, &list, false);
	return !list.space;
}

/*
 * Follows all threads that exist: the kernel looks only at the newest of a
 * long list. Threads in another pid namespace are followed when they are first
 * seen.
 */
void
process_interp_threads(struct process *proc, struct sampler *s)
{
	struct interp_process *ip = interp_of(proc);
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	struct interp_slot slot = {.key = proc->pid};

	if (!ip || ip->list.pid || !sampler_follows_interp(s) ||
	    !follow_list(proc, ip, s) || list_threads(ip, &memory))
		return;
	for (uint32_t i = 0; i < ip->threads.n; i++) {
		uint64_t native = ip->threads.rows[i].native;

		slot.tid = native == INTERP_ANY_THREAD ? proc->pid
		                                       : (uint32_t)native;
		(void)announce(ip, s, &slot, native);
	}
}

void
process_interp_fork(struct process *child, const struct process *parent,
                    struct sampler *s)
{
	struct interp_process *ip;

	if (!parent->interp || !parent->interp->list.pid)
		return;
	ip = calloc(1, sizeof(*ip));
	if (!ip)
		return;
	ip->image = parent->interp->image;
	ip->bias = parent->interp->bias;
	ip->list = parent->interp->list;
	ip->list.pid = child->pid;
	ip->code_pid = (int32_t)child->pid;
	ip->forked = true;
	child->interp = ip;
	child->interp_looked = true;
	sampler_interp_list(s, &ip->list, true);
}

/* True if a process has loaded a library whose name begins with name. */
static bool
has_library(const struct process *proc, const char *name)
{
	for (uint32_t i = 0; name && i < proc->maps.n; i++) {
		const struct map *map = &proc->maps.rows[i];
		const char *path = proc->modules->rows[map->module]->path;
		const char *file = strrchr(path, '/');

		if (file && !strncmp(file + 1, name, strlen(name)))
			return true;
	}
	return false;
}

/* Checks periodically whether the process has several interpreters, or has
 * loaded the language's library; if so, forgets where its threads were. */
static bool
has_several(struct process *proc, struct sampler *s)
{
	struct interp_process *ip = proc->interp;
	const struct language *language = ip->image->language;
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	uint64_t now = (uint64_t)clock_mono_ns();
	bool changed;

	if (!ip->list.pid || now - ip->looked_ns < LOOK_NS)
		return ip->several;
	ip->looked_ns = now;
	changed = !ip->list.own[1] && has_library(proc, language->library) &&
	          (follow_list(proc, ip, s), ip->list.own[1]);
	if (!ip->several && language->several &&
	    language->several(&memory, &ip->list))
		ip->several = changed = true;
	if (changed) {
		ip->listed_ns = 0;
		sampler_interp_forget(s, proc->pid);
	}
	return ip->several;
}

void
process_interp_thread(struct process *proc, struct sampler *s, uint32_t tid)
{
	struct interp_process *ip = interp_of(proc);
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	struct interp_slot slot = {.tid = tid, .key = proc->pid};
	uint64_t now = (uint64_t)clock_mono_ns();
	uint32_t native;

	if (!ip || (ip->list.pid && has_several(proc, s)) ||
	    native_thread(memory.host, tid, &native) ||
	    announce(ip, s, &slot, native) || now - ip->listed_ns < LIST_NS)
		return;
	ip->listed_ns = now;
	if (!ip->list.pid)
		(void)follow_list(proc, ip, s);
	if (!list_threads(ip, &memory))
		(void)announce(ip, s, &slot, native);
}

void
process_interp_keep(struct process *proc, struct sampler *s,
                    const struct interp_stack *found)
{
	const struct interp_list *list = &proc->interp->list;
	const struct interp_slot slot = {.tid = found->tid,
	                                 .language = list->language,
	                                 .layout = list->layout,
	                                 .head = found->head,
	                                 .hop = list->hop,
	                                 .key = proc->pid,
	                                 .own = {list->own[0], list->own[1]}};

	if (list->pid && !has_several(proc, s))
		(void)sampler_interp_thread(s, &slot);
}

/* Finds a thread that stands still in its process's list, or else by its
 * registers. */
static bool
find_still(struct interp_process *ip, const struct memory *memory,
           const struct walk_self *self, uint32_t native,
           struct interp_slot *out)
{
	const struct language *language = ip->image->language;
	const struct interp_space space = space_of(ip, memory);
	struct interp_list list;

	if (interp_threads_find(&ip->threads, native, out))
		return true;
	if (!self->sp || language->list(&space, &list) || !list.own[0] ||
	    !walk_find(language->find, memory, &list, native, self, out))
		return false;
	out->layout = list.layout;
	out->hop = list.hop;
	memcpy(out->own, list.own, sizeof(out->own));
	return true;
}

enum { BX = 1, DX = 3, R14 = 22 }; /* indexes into regs[], x86-64 */

static struct walk_self
self_of(const struct proc_thread *t)
{
	if (!t->regs)
		return (struct walk_self){.pc = t->pc, .sp = t->sp};
	return (struct walk_self){.pc = t->regs[EVENT_PC],
	                          .sp = t->regs[EVENT_SP],
	                          .dx = t->regs[DX],
	                          .bx = t->regs[BX],
	                          .r14 = t->regs[R14]};
}

bool
process_interp_read(struct process *proc, const struct proc_thread *t,
                    struct interp_stack *out)
{
	struct interp_process *ip = interp_of(proc);
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	const struct walk_self self = self_of(t);
	uint64_t now = (uint64_t)clock_mono_ns();
	struct interp_slot slot;
	uint32_t native;

	if (!ip || native_thread(memory.host, t->tid, &native))
		return false;
	if (now - ip->listed_ns >= LIST_NS)
		(void)list_threads(ip, &memory);
	ip->listed_ns = now;
	out->key = proc->pid;
	if (!find_still(ip, &memory, &self, native, &slot))
		return false;
	out->end = walk_frames(ip->image->language->step, &memory, &slot, &self,
	                       out);
	return out->end != INTERP_FAULT;
}

bool
process_interp_stack(struct process *proc, const struct interp_stack *s,
                     struct unwind_piece *out)
{
	const struct interp_process *ip = interp_of(proc);

	if (!ip || !ip->image->language->copies_stack || !s ||
	    s->key != proc->pid || s->end == INTERP_NONE || !s->n)
		return false;
	*out = (struct unwind_piece){.p = (const uint8_t *)&s->frames[1],
	                             .start = s->frames[0].code};
	out->len = (s->n - 1) * sizeof(*s->frames);
	if (out->len > s->frames[0].instr - out->start)
		out->len = s->frames[0].instr - out->start;
	return true;
}

/* --- runs ----------------------------------------------------------------- */

static void
find_runs(const struct interp_stack *s, struct interp_runs *out)
{
	bool open = false;

	for (uint32_t i = 0; i < s->n; i++) {
		out->ends[i] = s->frames[i].mark & INTERP_ENTRY;
		open = !out->ends[i];
		out->n += out->ends[i];
	}
	out->n += open;
	out->nplaces = s->n;
}

static bool
is_eval(const struct process *proc, const uint64_t *pcs, size_t i)
{
	const struct interp_process *ip = proc->interp;
	uint64_t at = (i ? pcs[i] - 1 : pcs[i]) - (ip ? ip->bias : 0);
	const struct interp_image *image = ip ? ip->image : NULL;

	return image && (!i || at + 1 != image->no_run) &&
	       ((at >= image->eval_start && at < image->eval_end) ||
	        (at >= image->cold_start && at < image->cold_end));
}

/* True if a greenlet runs (gevent uses them). Its stack begins on top of the
 * stack of the code that started it, so the native stack has calls of the
 * interpreter that are not the greenlet's and have no run. */
static bool
is_in_greenlet(const struct process *proc, const uint64_t *pcs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct map *m = maps_find(&proc->maps, pcs[i] - 1);

		if (m &&
		    strstr(proc->modules->rows[m->module]->path, "greenlet"))
			return true;
	}
	return false;
}

/* Returns how many frames are between a call of the interpreter and the outer
 * call whose run it continues; 0 if it has a separate run. */
static unsigned
goes_on(const struct process *proc, const uint64_t *pcs, size_t i, size_t n,
        unsigned most)
{
	const struct map *m;

	if (!most || !is_eval(proc, pcs, i))
		return 0;
	m = maps_find(&proc->maps, pcs[i]);
	for (unsigned k = 1; k <= most && i + k + 1 < n; k++) {
		const struct map *of = maps_find(&proc->maps, pcs[i + k] - 1);

		if (!m || !of || of->module != m->module)
			return 0;
		if (is_eval(proc, pcs, i + k + 1))
			return k;
	}
	return 0;
}

bool
interp_is_core(const struct process *proc, const uint64_t *pcs, size_t i,
               size_t n, const struct interp_runs *runs)
{
	const struct interp_process *ip = proc->interp;

	if (ip && ip->image->calls_core && i + 1 < n &&
	    is_eval(proc, pcs, i + 1))
		return true;
	for (unsigned k = 0; k <= runs->between && k <= i; k++) {
		unsigned g = goes_on(proc, pcs, i - k, n, runs->between);

		if (g && k <= g)
			return true;
	}
	return false;
}

/* Counts calls of the interpreter that have a run. */
static size_t
count_calls(const struct process *proc, const uint64_t *pcs, size_t n,
            unsigned between)
{
	size_t calls = 0;

	for (size_t i = 0; i < n; i++)
		calls += is_eval(proc, pcs, i) &&
		         !goes_on(proc, pcs, i, n, between);
	return calls;
}

/* Returns how many frames may be between two calls that share a run, so that
 * there are as many calls as runs if possible. */
static unsigned
find_between(const struct process *proc, const uint64_t *pcs, size_t n,
             size_t runs)
{
	const unsigned most = proc->interp->image->goes_on;

	for (unsigned between = most; between; between--)
		if (count_calls(proc, pcs, n, between) == runs)
			return between;
	return most;
}

/* True if the innermost frame is a call that may have no run yet. */
static bool
is_beginning(const struct process *proc, const uint64_t *pcs)
{
	const struct interp_process *ip = proc->interp;
	const struct interp_image *image = ip->image;

	return image->entry_end
	               ? pcs[0] - ip->bias - image->entry_start <
	                         image->entry_end - image->entry_start
	               : pcs[0] - ip->bias - image->eval_start < PROLOGUE;
}

/* True when there is a run for each call of the interpreter; the innermost call
 * has none yet when it has just begun. If a thread runs several interpreters,
 * the runs are those of the newest, which has the innermost calls. */
static bool
runs_fit(const struct process *proc, const uint64_t *pcs, size_t n,
         const struct proc_stack *out, struct interp_runs *runs,
         enum interp_end end)
{
	size_t calls;

	runs->between = find_between(proc, pcs, n, runs->n);
	calls = count_calls(proc, pcs, n, runs->between);
	if (calls > runs->n && is_in_greenlet(proc, pcs, n))
		return true;
	if (calls == runs->n + 1 && proc->interp->image->inner_only &&
	    is_beginning(proc, pcs)) {
		runs->skip = true;
		return true;
	}
	if (calls > runs->n &&
	    (proc->interp->several || proc->interp->image->inner_only)) {
		runs->partly = true;
		return runs->n && !is_beginning(proc, pcs);
	}
	if (calls == runs->n + 1 &&
	    (is_eval(proc, pcs, 0) ||
	     (proc->interp->image->uneven && end != INTERP_FULL && runs->n))) {
		runs->skip = true;
		return true;
	}
	if (runs->n == calls + 1 && runs->ends[0] &&
	    proc->interp->image->uneven && out->end == UNWIND_ROOT) {
		runs->at = 1;
		return true;
	}
	if (end == INTERP_FULL ||
	    (proc->interp->image->many_stacks && calls < runs->n))
		return true;
	return out->end == UNWIND_ROOT ? calls == runs->n : calls <= runs->n;
}

/* If a child has ended, reads the code of its parent, which is the same. */
static int
read_places(struct process *proc, const struct interp_stack *s, uint64_t *out)
{
	struct interp_process *ip = proc->interp;
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = ip->code_pid};
	const struct interp_space space = space_of(ip, &memory);
	int rc =
		interp_places(proc->modules->codes, memory.pid, &space, s, out);

	if (rc == -ESRCH && ip->forked && ip->code_pid == (int32_t)proc->pid) {
		ip->code_pid = (int32_t)proc->parent;
		return read_places(proc, s, out);
	}
	return rc;
}

static bool
read_runs(struct process *proc, const struct interp_stack *s,
          struct interp_runs *out)
{
	if (!s || s->key != proc->pid || s->end == INTERP_FAULT ||
	    read_places(proc, s, out->places))
		return false;
	find_runs(s, out);
	return true;
}

/* True when the interpreter's frames lead to the first function of its
 * program, though the native ones do not: compiled code runs in the frame of
 * the function that interprets, and fibers have no root frame. */
static bool
reaches_start(const struct process *proc, const struct interp_stack *s,
              enum unwind_end end)
{
	return proc->interp->image->many_stacks && s->end == INTERP_ROOT &&
	       (end == UNWIND_NO_INFO || end == UNWIND_BAD);
}

bool
process_interp(struct process *proc, const struct interp_stack *s,
               const uint64_t *pcs, size_t n, struct proc_stack *out,
               struct interp_runs *runs)
{
	struct interp_stack room;

	runs->n = runs->nplaces = runs->at = runs->between = 0;
	runs->skip = runs->partly = false;
	if (!interp_of(proc) || !n)
		return false;
	if (proc->interp->image->language->copies_stack) {
		out->interp = s && s->key == proc->pid && s->end == INTERP_ROOT
		                      ? INTERP_MERGED
		                      : INTERP_WITHOUT;
		return false;
	}
	if (s)
		s = interp_arrange(s, &room);
	if (read_runs(proc, s, runs) &&
	    runs_fit(proc, pcs, n, out, runs, s->end)) {
		out->interp = runs->partly ? INTERP_MISSED
		              : runs->n    ? INTERP_MERGED
		                           : INTERP_WITHOUT;
		if (runs->n && reaches_start(proc, s, out->end))
			out->end = UNWIND_ROOT;
		return runs->n;
	}
	for (size_t i = 0; i < n && out->interp == INTERP_WITHOUT; i++)
		if (is_eval(proc, pcs, i))
			out->interp = proc->interp->unknown ? INTERP_UNKNOWN
			              : s                   ? INTERP_MISSED
			                                    : INTERP_LATE;
	return false;
}

/* --- merging -------------------------------------------------------------- */

static void
put(const struct process *proc, uint64_t place, struct proc_stack *out)
{
	const uint32_t module = MODULE_LANGUAGES +
	                        proc->interp->image->language->id;

	if (place != INTERP_NO_PLACE && out->n < PROCS_MAX_STACK)
		out->places[out->n++] = (struct place){module, place};
}

bool
interp_next_run(const struct process *proc, const uint64_t *pcs, size_t i,
                struct interp_runs *runs, struct proc_stack *out)
{
	if (!is_eval(proc, pcs, i) || runs->at == runs->nplaces)
		return false;
	if (runs->skip) {
		runs->skip = false;
		return false;
	}
	do
		put(proc, runs->places[runs->at], out);
	while (!runs->ends[runs->at++] && runs->at < runs->nplaces);
	return true;
}

void
interp_rest(const struct process *proc, struct interp_runs *runs,
            struct proc_stack *out)
{
	while (runs->at < runs->nplaces)
		put(proc, runs->places[runs->at++], out);
}

/* --- what waits without a thread ------------------------------------------ */

struct waiting {
	struct process *proc;
	struct proc_stack *out;
	process_waiting_seen *seen;
	void *arg;
};

/* Leaves out a stack that had changed by the time its code was read. */
static int
see_waiting(void *arg, const struct interp_stack *s)
{
	const struct waiting *w = arg;
	uint64_t places[INTERP_MAX_FRAMES];

	if (read_places(w->proc, s, places))
		return 0;
	w->out->n = 0;
	for (uint32_t i = 0; i < s->n; i++)
		put(w->proc, places[i], w->out);
	return w->seen(w->arg);
}

int
process_waiting(struct process *proc, struct proc_stack *out,
                process_waiting_seen *seen, void *arg)
{
	struct interp_process *ip = interp_of(proc);
	CLEANUP(memory_spare_done) struct memory_spare spare = {.n = 0};
	CLEANUP_FREE struct memory_pages *pages = NULL;
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid,
	                              .spare = &spare};
	struct waiting w = {proc, out, seen, arg};
	struct interp_space space;

	if (!ip || !ip->image->language->waiting)
		return 0;
	spare.pages = pages = calloc(1, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	space = space_of(ip, &memory);
	return ip->image->language->waiting(&space, see_waiting, &w);
}
