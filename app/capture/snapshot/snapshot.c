#include "capture/snapshot.h"

#include "base/clock.h"
#include "capture/goroutines/goroutine_rows.h"
#include "capture/looks.h"
#include "capture/naming/location.h"
#include "capture/process/breaks.h"
#include "capture/process/wait_names.h"
#include "capture/threads.h"
#include "snapshot_labels.h"

#include <errno.h>
#include <string.h>

struct snapshot {
	const struct host *host;
	struct modules *modules;
	struct looks looks;
	struct profile *profile;
	struct quality quality;
	struct breaks breaks;
	struct namer *namer;
	struct locations locations;
	struct symbols_cache *symbols;
	enum way_program program; /* whose stacks are wanted */
	struct proc_stack *stack; /* of the current thread */
};

static void
snapshot_free(void *state)
{
	struct snapshot *s = state;

	if (!s)
		return;
	namer_free(s->namer);
	looks_done(&s->looks);
	locations_done(&s->locations);
	breaks_done(&s->breaks);
	free(s->stack);
	modules_free(s->modules);
	profile_free(s->profile);
	free(s);
}

DEFINE_CLEANUP(struct snapshot *, snapshot_free)

/* --- processes ------------------------------------------------------------ */

static int
first_look(void *arg, void *row, int32_t pid, bool joined)
{
	const struct snapshot *s = arg;

	(void)joined;
	return engine_process(s->modules, pid, row);
}

static void
row_done(void *row)
{
	process_free(*(struct process **)row);
}

static const struct looks_verbs verbs = {
	.size = sizeof(struct process *),
	.first = first_look,
	.done = row_done,
};

static struct process *
process_of(const struct snapshot *s, uint32_t i)
{
	return *(struct process **)looks_row(&s->looks, i);
}

/* --- stacks --------------------------------------------------------------- */

static void
walk(struct snapshot *s, struct process *proc, const struct snapshot_batch *b,
     size_t i)
{
	const struct thread_row *row = snapshot_row(b, i);
	uint64_t regs[UNWIND_REGS];
	struct proc_thread t = {
		.tid = (uint32_t)row->tid,
		.pc = b->seen[i].pc,
		.sp = b->seen[i].sp,
		.args = b->seen[i].number == THREAD_NO_CALL ? NULL
	                                                    : b->seen[i].args,
		.stack = snapshot_stack(b, i),
		.len = row->stack_bytes < b->room ? row->stack_bytes : b->room,
	};

	s->stack->n = 0;
	s->stack->end = UNWIND_NO_INFO;
	s->stack->last_module = MODULE_UNKNOWN;
	s->stack->interp = INTERP_WITHOUT;
	s->stack->jit_missed = s->stack->jit_unknown = false;
	s->stack->runtime = 0;
	s->stack->is_32 = false;
	if (row->how == THREAD_KERNEL) {
		wait_put(s->modules->waits, "[kernel thread]", s->stack);
		s->stack->end = UNWIND_ROOT;
		return;
	}
	if (row->how == THREAD_STOPPED) {
		thread_regs(&row->regs, regs);
		t.regs = regs;
	}
	if (t.pc || t.regs)
		process_thread_stack(proc, &t, s->stack);
}

/* --- threads -------------------------------------------------------------- */

static bool
is_unread(const struct thread_row *row)
{
	return row->how == THREAD_UNREAD || row->how == THREAD_TRACED;
}

static void
count(struct quality *q, const struct thread_row *row,
      const struct proc_stack *stack)
{
	enum unwind_end end = stack->end;

	q->kept++;
	q->threads++;
	q->stopped += row->how == THREAD_STOPPED;
	q->stopped_ns += (int64_t)row->stop_ns;
	q->bits_32 += stack->is_32;
	q->interp += stack->interp == INTERP_MERGED;
	q->interp_missed += stack->interp >= INTERP_MISSED;
	q->interp_unknown += stack->interp == INTERP_UNKNOWN;
	q->jit_missed += stack->jit_missed || stack->jit_unknown;
	q->jit_unknown += stack->jit_unknown;
	q->runtime_unread += stack->runtime != 0;
	q->runtimes |= stack->runtime;
	q->traced += row->how == THREAD_TRACED;
	if (is_unread(row))
		q->unread++;
	else if (end == UNWIND_ROOT)
		q->reached_root++;
	else if (end == UNWIND_TRUNCATED || end == UNWIND_MAX)
		q->truncated++;
	else if (end == UNWIND_SWITCHED)
		q->switched++;
	else
		q->unwind_failed++;
}

static int
add_thread(struct snapshot *s, const struct snapshot_batch *b, size_t i)
{
	static const int64_t one = 1;
	size_t n = s->stack->n < PROFILE_MAX_FRAMES ? s->stack->n
	                                            : PROFILE_MAX_FRAMES;
	uint32_t stack[PROFILE_MAX_FRAMES], nlabels;
	struct label labels[SNAPSHOT_LABELS];
	int rc = locations_find(&s->locations, s->stack->places, n, stack);

	if (!rc)
		rc = snapshot_labels(s->profile, b, i, stack, (uint32_t)n,
		                     s->stack->end == UNWIND_ROOT, labels,
		                     &nlabels);
	if (!rc)
		rc = profile_sample(s->profile, stack, (uint32_t)n, labels,
		                    nlabels, &one);
	if (!rc)
		count(&s->quality, snapshot_row(b, i), s->stack);
	if (!is_unread(snapshot_row(b, i)))
		breaks_count(&s->breaks, s->stack);
	return rc;
}

/*
 * True for a thread that may have called other functions of its interpreter
 * before the list of these was read: it was stopped, or it waited, for example
 * for the interpreter's lock, and got it.
 */
static bool
has_moved(const struct proc_stack *stack)
{
	return stack->interp >= INTERP_MISSED &&
	       stack->interp != INTERP_UNKNOWN;
}

/* Threads to read again: those with deeper stacks than were read, and those
 * that have moved. */
struct again {
	struct buf deep, moved;
};
#define AGAIN_INIT                                                  \
	{                                                           \
		BUF_INIT(sizeof(int32_t[HOST_MAX_THREADS])),        \
			BUF_INIT(sizeof(int32_t[HOST_MAX_THREADS])) \
	}
#define TRIES 20 /* to read a thread that moves */

static void
again_done(struct again *a)
{
	buf_done(&a->deep);
	buf_done(&a->moved);
}

/* Adds the threads of a batch, except those to read again. */
static int
add_batch(struct snapshot *s, struct process *proc,
          const struct snapshot_batch *b, struct again *again)
{
	int rc = 0;

	for (size_t i = 0; i < b->n && !rc; i++) {
		const struct thread_row *row = snapshot_row(b, i);

		if (row->how == THREAD_GONE)
			continue;
		walk(s, proc, b, i);
		if (s->stack->end == UNWIND_TRUNCATED &&
		    b->room < THREADS_MAX_STACK)
			buf_add(&again->deep, &row->tid, sizeof(row->tid));
		else if (again && has_moved(s->stack))
			buf_add(&again->moved, &row->tid, sizeof(row->tid));
		else
			rc = add_thread(s, b, i);
	}
	return rc;
}

static int
read_batch(struct snapshot *s, struct process *proc, const int32_t *tids,
           size_t n, uint32_t room, struct again *again)
{
	CLEANUP(snapshot_batch_done) struct snapshot_batch b = {0};
	int64_t start = clock_mono_ns();
	int rc = snapshot_batch_read(s->host, (int32_t)proc->pid, tids, n, room,
	                             &b);

	s->profile->duration_ns += clock_mono_ns() - start;
	if (rc) /* a process that ended has no threads */
		return rc == -ESRCH ? 0 : rc;
	return add_batch(s, proc, &b, again);
}

/* Threads to read at once. If they run, and the CPUs are busy, each may take
 * some milliseconds to stop; all must be read before the opener gives up. */
#define BATCH 200

static int
read_threads(struct snapshot *s, struct process *proc, const struct buf *tids,
             uint32_t room, struct again *again)
{
	const int32_t *tid = (const void *)tids->p;
	size_t left = tids->len / sizeof(*tid), most = THREADS_MAX_BYTES / room;
	int rc = 0;

	if (most > BATCH)
		most = BATCH;
	while (left && !rc) {
		size_t n = left < most ? left : most;

		rc = read_batch(s, proc, tid, n, room, again);
		tid += n;
		left -= n;
	}
	return rc;
}

/* Reads threads that have moved one by one, so that little time passes between
 * the stack and the interpreter's list, until both fit. */
static int
read_moved(struct snapshot *s, struct process *proc, const struct buf *tids)
{
	int rc = 0;

	for (size_t at = 0; at < tids->len && !rc; at += sizeof(int32_t)) {
		const int32_t *tid = (const void *)(tids->p + at);
		CLEANUP(again_done) struct again again = AGAIN_INIT;

		for (int i = 0; i < TRIES && !rc; i++) {
			buf_clear(&again.moved);
			rc = read_batch(s, proc, tid, 1, THREADS_MAX_STACK,
			                i + 1 < TRIES ? &again : NULL);
			if (!again.moved.len)
				break;
		}
	}
	return rc;
}

static int
add_threads(struct snapshot *s, struct process *proc)
{
	CLEANUP_BUF struct buf tids =
		BUF_INIT(sizeof(int32_t[HOST_MAX_THREADS]));
	CLEANUP(again_done) struct again again = AGAIN_INIT;
	int rc = threads_list(s->host, (int32_t)proc->pid, &tids);

	if (rc)
		return rc == -ESRCH ? 0 : rc;
	rc = read_threads(s, proc, &tids, SNAPSHOT_STACK_BYTES, &again);
	if (!rc)
		rc = read_threads(s, proc, &again.deep, THREADS_MAX_STACK,
		                  &again);
	return rc ?: buf_err(&again.deep) ?: buf_err(&again.moved)
	                         ?: read_moved(s, proc, &again.moved);
}

/* --- tasks ---------------------------------------------------------------- */

/* Adds a task that waits, below those that await it. */
static int
add_task(void *arg)
{
	static const int64_t one = 1;
	struct snapshot *s = arg;
	const uint32_t n = (uint32_t)s->stack->n;
	uint32_t stack[PROFILE_MAX_FRAMES], nlabels;
	struct label labels[SNAPSHOT_LABELS];
	int rc;

	if (n > PROFILE_MAX_FRAMES)
		return 0;
	rc = locations_find(&s->locations, s->stack->places, n, stack)
	             ?: snapshot_task_labels(s->profile, labels, &nlabels)
	             ?: profile_sample(s->profile, stack, n, labels, nlabels,
	                               &one);
	s->quality.kept += !rc;
	s->quality.tasks += !rc;
	s->quality.reached_root += !rc;
	return rc;
}

/* Without the list of tasks, the profile still holds the threads. */
static int
add_tasks(struct snapshot *s, struct process *proc)
{
	int rc = process_waiting(proc, s->stack, add_task, s);

	return rc == -ENOMEM || rc == -E2BIG ? rc : 0;
}

/* --- goroutines ----------------------------------------------------------- */

static int
add_goroutines(struct snapshot *s, const struct process *proc)
{
	const struct map *map = process_program(proc);
	struct goroutines_ask ask = {
		.host = s->host,
		.pid = (int32_t)proc->pid,
		.modules = s->modules,
	};
	int rc;

	if (!map)
		return -ENOEXEC;
	ask.module = map->module;
	ask.bias = map->bias;
	rc = goroutines_add(&ask, s->profile, &s->quality);
	return rc == -ESRCH ? 0 : engine_error(rc); /* a process that ended has
	                                 no goroutines */
}

static int
add_stacks(struct snapshot *s, struct process *proc)
{
	int rc = s->program & PROGRAM_go ? add_goroutines(s, proc) : -ENOEXEC;

	if (rc != -ENOEXEC || !(s->program & PROGRAM_native))
		return rc;
	rc = add_threads(s, proc) ?: add_tasks(s, proc);
	if (process_has_go_library(proc))
		s->quality.notes |= QUALITY_NOTE_OF(GO_LIBRARY);
	return rc;
}

/* --- the whole snapshot --------------------------------------------------- */

static int
add_header(struct profile *p)
{
	const struct type *type = &profile_types[TYPE_goroutine];
	int rc = type_values(type, p);

	p->period = 1;
	p->time_ns = clock_wall_ms() * NS_PER_MS;
	return rc ? rc : type_period(type, p);
}

/* Adds the main program's mapping first, where readers expect it. */
static int
add_program(struct snapshot *s, const struct process *proc)
{
	const struct map *map = process_program(proc);
	struct place at = {.vaddr = 0};
	uint32_t mapping;

	if (!map)
		return 0;
	at = (struct place){map->module, map->start - map->bias};
	return finish_mapping(s->modules, s->profile, at, &mapping);
}

/* Adds the stacks of all processes. A process that can't be read, such as a
 * shell where goroutines are wanted, is ignored if another one has stacks. */
static int
add_all(struct snapshot *s)
{
	int last = -ESRCH;

	for (uint32_t i = 0; i < s->looks.n; i++) {
		int rc = add_stacks(s, process_of(s, i));

		if (rc && rc != -ENOEXEC && rc != -EPROTO)
			return rc;
		s->quality.processes_unread += rc != 0;
		s->quality.processes -= rc != 0;
		last = rc ? rc : last;
	}
	return s->quality.kept ? 0 : last;
}

static int
snapshot_open(const struct engine_ask *ask, void **out)
{
	CLEANUP(snapshot_free_ptr) struct snapshot *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->host = ask->host;
	s->symbols = ask->symbols;
	s->program = ask->program;
	s->profile = profile_new();
	s->stack = calloc(1, sizeof(*s->stack));
	rc = s->profile && s->stack ? modules_new(ask->host, &s->modules)
	                            : -ENOMEM;
	if (!rc)
		rc = looks_open(&s->looks, &verbs, s, ask);
	s->quality.processes = s->looks.n;
	s->quality.processes_unread = s->looks.unread;
	if (!rc)
		*out = TAKE(s);
	return rc;
}

/* A snapshot is of one moment, so no process joins it. */
static int
snapshot_join(void *state, const int32_t *pids, size_t n)
{
	(void)state;
	(void)pids;
	(void)n;
	return 0;
}

static int
fill(struct snapshot *s)
{
	int rc = add_header(s->profile);

	if (!rc)
		rc = add_program(s, process_of(s, 0));
	if (rc)
		return rc;
	s->namer = namer_new(s->modules, s->host, s->symbols, &s->quality,
	                     false, 0);
	if (!s->namer)
		return -ENOMEM;
	s->locations = locations_of(s->namer, s->profile);
	return add_all(s);
}

static int
snapshot_finish(void *state, struct profile **out, struct quality *quality)
{
	struct snapshot *s = state;
	struct quality *q = &s->quality;
	int rc = fill(s);

	if (rc)
		return rc;
	q->duration_ms = s->profile->duration_ns / NS_PER_MS;
	if (q->unread > q->kept / 2)
		q->notes |= QUALITY_NOTE_OF(NO_STACKS);
	breaks_report(&s->breaks, s->modules, q);
	quality_conclude_stacks(q);
	*quality = *q;
	*out = TAKE(s->profile);
	return 0;
}

const struct engine snapshot_engine = {
	.open = snapshot_open,
	.join = snapshot_join,
	.finish = snapshot_finish,
	.free = snapshot_free,
};
