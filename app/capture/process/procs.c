#include "process.h"

#include "base/clock.h"
#include "base/hash.h"
#include "process_code.h"
#include "process_context.h"
#include "process_interp.h"
#include "process_jit.h"
#include "process_probes.h"

#include <errno.h>
#include <string.h>

#define BUCKETS      4096u
#define MAX_COMPARED 16 /* children whose memory is compared at a time */

/* --- one process ---------------------------------------------------------- */

void
process_free(struct process *p)
{
	if (!p)
		return;
	process_forget_interp(p);
	process_forget_jit(p);
	process_forget_code(p);
	process_forget_context(p);
	unwinder_free(p->unwinder);
	maps_done(&p->maps);
	free(p->names.rows);
	free(p);
}

/* Learns a mapping. If file is not NULL, the mapping may be code of that file
 * that the program moved to memory. */
static void
learn(struct process *proc, struct modules *modules,
      const struct map_seen *seen, const struct map_seen *file)
{
	const int32_t pids[] = {(int32_t)proc->pid, (int32_t)proc->parent,
	                        (int32_t)proc->origin};
	bool replaces = maps_overlap(&proc->maps, seen->start, seen->end);
	struct map row;

	if (!file || modules_resolve_moved(modules, pids, ARRAY_LEN(pids), file,
	                                   seen, &row)) {
		if (modules_resolve(modules, pids, ARRAY_LEN(pids), seen, &row))
			return;
	}
	if (maps_add(&proc->maps, &row))
		return;
	if (!proc->interp)
		proc->interp_looked = false;
	if (!proc->jit)
		proc->jit_looked = false;
	if (!proc->context)
		proc->context_looked = false;
	proc->runtime_looked = false;
	if (replaces && proc->unwinder)
		unwinder_flush(proc->unwinder);
}

void
process_learn(struct process *proc, struct modules *modules,
              const struct map_seen *seen)
{
	learn(proc, modules, seen, NULL);
}

/* Finds the next row with another file; only rows of memory and of the same
 * file may be between them, without gaps. */
static const struct map_seen *
file_after(const struct map_seen *rows, size_t n, size_t i)
{
	const struct map_seen *from = &rows[i];

	for (; !rows[i].inode || maps_same_file(&rows[i], from); i++)
		if (i + 1 == n || rows[i].end != rows[i + 1].start)
			return NULL;
	return &rows[i];
}

/* Returns a row of the file from which a row's code may have been moved, or
 * NULL: the file that is mapped after it, if not from its start. Memory that is
 * shared or in huge pages has an inode, too, as has a file to which a program
 * copied its code. */
static const struct map_seen *
file_of_moved(const struct map_seen *rows, size_t n, size_t i)
{
	const struct map_seen *after = file_after(rows, n, i);

	return after && after->offset ? after : NULL;
}

int
process_read_maps(struct process *proc, struct modules *modules,
                  uint32_t *threads)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAPS_MAX_TEXT);
	CLEANUP_FREE struct map_seen *rows = NULL;
	size_t n = 0;
	int rc = maps_text(modules->host, (int32_t)proc->pid, &text, threads);

	if (!rc)
		rc = maps_split(text.p, &rows, &n);
	for (size_t i = 0; i < n && !rc; i++)
		if (rows[i].executable)
			learn(proc, modules, &rows[i],
			      file_of_moved(rows, n, i));
	return rc;
}

const struct map *
process_program(const struct process *proc)
{
	const struct modules *modules = proc->modules;
	const struct host *host = modules->host;
	struct host_ask ask = {.op = HOST_EXE_LINK, .pid = (int32_t)proc->pid};
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;

	if (host->ask(host->arg, &ask, &reply, fds, &nfds) || reply.error)
		return NULL;
	(void)maps_cut_unlinked(reply.text);
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *map = &proc->maps.rows[i];
		const struct module *m = modules->rows[map->module];

		if (m->elf && !strcmp(m->path, reply.text))
			return map;
	}
	return NULL;
}

bool
process_has_go_library(const struct process *proc)
{
	const struct map *program = process_program(proc);

	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *map = &proc->maps.rows[i];
		const struct module *m = proc->modules->rows[map->module];

		if (m && m->elf && program && map->module != program->module &&
		    elf_section(m->elf, ".go.buildinfo"))
			return true;
	}
	return false;
}

/* --- all of them ---------------------------------------------------------- */

struct procs {
	struct modules *modules;
	struct sampler *sampler;
	proc_seen *seen;
	void *arg;
	bool kernel; /* threads of the kernel are sampled */
	uint32_t n;
	struct process *buckets[BUCKETS];
};

struct procs *
procs_new(struct modules *modules, struct sampler *sampler, proc_seen *seen,
          void *arg)
{
	struct procs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->modules = modules;
	p->sampler = sampler;
	p->seen = seen;
	p->arg = arg;
	return p;
}

/* --- the table ------------------------------------------------------------ */

static struct process **
place_of(struct procs *p, uint32_t pid)
{
	struct process **at = &p->buckets[hash_u64(pid) % BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

static void
forget(struct procs *p, uint32_t pid)
{
	struct process **at = place_of(p, pid);
	struct process *old = *at;

	if (!old)
		return;
	*at = old->next;
	sampler_interp_gone(p->sampler, pid);
	process_free(old);
	p->n--;
}

static int
enter(struct procs *p, uint32_t pid, struct process **out)
{
	struct process **at = place_of(p, pid);

	if (p->n >= PROCS_MAX)
		return -E2BIG;
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return -ENOMEM;
	(*at)->pid = pid;
	(*at)->modules = p->modules;
	p->n++;
	sampler_pass(p->sampler, pid);
	*out = *at;
	return 0;
}

void
procs_free(struct procs *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < BUCKETS; i++)
		while (p->buckets[i])
			forget(p, p->buckets[i]->pid);
	free(p);
}

struct process *
procs_of_sample(struct procs *p, uint32_t pid)
{
	return *place_of(p, pid);
}

void
procs_with_kernel(struct procs *p, bool with)
{
	if (with && !p->kernel)
		sampler_pass_all(p->sampler);
	p->kernel = with;
}

void
procs_deny(struct procs *p, uint32_t pid)
{
	sampler_deny(p->sampler, pid);
}

const struct process *
procs_find(const struct procs *p, uint64_t watcher,
           bool (*is)(const struct process *proc, void *arg), void *arg)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (const struct process *q = p->buckets[i]; q; q = q->next)
			if (q->watchers & watcher && is(q, arg))
				return q;
	return NULL;
}

size_t
procs_list(const struct procs *p, uint64_t watcher, int32_t *out, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < BUCKETS; i++)
		for (const struct process *q = p->buckets[i]; q && n < max;
		     q = q->next)
			if (q->watchers & watcher)
				out[n++] = (int32_t)q->pid;
	return n;
}

void
procs_modules(const struct procs *p, bool in_use[static MODULES_MAX])
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (const struct process *q = p->buckets[i]; q; q = q->next)
			for (uint32_t m = 0; m < q->maps.n; m++)
				in_use[q->maps.rows[m].module] = true;
}

void
procs_forget_gone(struct procs *p, uint64_t before_ns)
{
	for (uint32_t i = 0; i < BUCKETS; i++) {
		struct process *next;

		for (struct process *q = p->buckets[i]; q; q = next) {
			next = q->next;
			if (q->gone_ns && q->gone_ns < before_ns)
				forget(p, q->pid);
		}
	}
}

bool
procs_follows(struct procs *p, uint32_t pid, uint64_t watcher)
{
	const struct process *proc = *place_of(p, pid);

	return proc && proc->watchers & watcher;
}

void
procs_drop(struct procs *p, uint32_t pid, uint64_t watcher)
{
	struct process *proc = *place_of(p, pid);
	struct proc_news news = {.event = PROC_LEFT, .pid = pid, .tid = pid};

	if (!proc || !(proc->watchers & watcher))
		return;
	proc->watchers &= ~watcher;
	if (!proc->gone_ns)
		p->seen(p->arg, watcher, &news);
	if (proc->watchers)
		return;
	sampler_deny(p->sampler, pid);
	forget(p, pid);
}

void
procs_leave(struct procs *p, uint64_t watcher)
{
	for (uint32_t i = 0; i < BUCKETS; i++) {
		struct process *next;

		for (struct process *q = p->buckets[i]; q; q = next) {
			next = q->next;
			q->watchers &= ~watcher;
			if (q->watchers)
				continue;
			sampler_deny(p->sampler, q->pid);
			forget(p, q->pid);
		}
	}
}

/* Reports a process that existed before it was watched. */
static void
report_old(struct procs *p, uint64_t watcher, uint32_t pid, uint32_t threads)
{
	struct proc_news news = {.event = PROC_NEW, .pid = pid, .tid = pid};

	p->seen(p->arg, watcher, &news);
	news.event = PROC_THREAD;
	news.tid = 0;
	while (threads-- > 1)
		p->seen(p->arg, watcher, &news);
}

int
procs_watch(struct procs *p, uint32_t pid, uint64_t watcher)
{
	struct process *proc = *place_of(p, pid);
	uint32_t threads = 1;
	int rc = proc ? 0 : enter(p, pid, &proc);

	if (rc)
		return rc;
	if (proc->watchers & watcher)
		return 0;
	if (!proc->watchers) {
		proc->parent = proc->origin = pid;
		proc->since_ns = (uint64_t)clock_mono_ns();
		rc = process_read_maps(proc, p->modules, &threads);
	}
	if (rc) {
		forget(p, pid);
		return rc;
	}
	if (!proc->watchers) {
		process_interp_threads(proc, p->sampler);
		process_context_follow(proc, p->sampler);
		process_probe(proc, p->sampler, false);
	}
	proc->watchers |= watcher;
	report_old(p, watcher, pid, threads);
	return 0;
}

/* --- records -------------------------------------------------------------- */

static void
report(struct procs *p, uint64_t watchers, enum proc_event e,
       const struct record *r)
{
	struct proc_news news = {.event = e,
	                         .pid = r->pid,
	                         .tid = r->tid,
	                         .time_ns = r->time_ns};

	if (r->kind == RECORD_FORK) {
		news.ppid = r->fork.ppid;
		news.ptid = r->fork.ptid;
	} else if (r->kind == RECORD_COMM) {
		news.name = r->comm.name;
	}
	p->seen(p->arg, watchers, &news);
}

static void
forked_process(struct procs *p, const struct record *r,
               const struct process *parent)
{
	struct process *child;

	forget(p, r->pid); /* the pid is reused */
	if (enter(p, r->pid, &child)) {
		report(p, parent->watchers, PROC_FULL, r);
		return;
	}
	child->parent = parent->pid;
	child->origin = parent->origin;
	child->watchers = parent->watchers;
	child->threads = 1;
	child->forked = true;
	child->title = parent->title;
	child->titled = parent->titled;
	if (maps_copy(&parent->maps, &child->maps))
		maps_clear(&child->maps);
	process_interp_fork(child, parent, p->sampler);
	process_context_fork(child, parent, p->sampler);
	child->begun_ns = r->time_ns;
	process_probe(child, p->sampler, true);
	report(p, child->watchers, PROC_NEW, r);
}

static void
apply_fork(struct procs *p, const struct record *r)
{
	struct process *parent = *place_of(p, r->fork.ppid);

	if (!parent) {
		forget(p, r->pid);
		if (!p->kernel) /* parents of kernel threads are unknown, too */
			sampler_deny(p->sampler, r->pid);
	} else if (r->pid == r->fork.ppid) {
		parent->threads++;
		report(p, parent->watchers, PROC_THREAD, r);
	} else {
		parent->forks = true;
		forked_process(p, r, parent);
	}
}

static void
go_on(struct procs *p, struct process *proc, const struct record *r)
{
	proc->gone_ns = 0;
	report(p, proc->watchers, PROC_BACK, r);
	if (proc->unwatched)
		report(p, proc->watchers, PROC_WATCHED, r);
	proc->unwatched = false;
}

/* A thread may still be sampled while it ends. */
void
procs_ran(struct procs *p, struct process *proc, const struct record *r)
{
	if (proc->gone_ns && r->time_ns > proc->gone_ns &&
	    r->tid != proc->gone_tid)
		go_on(p, proc, r);
}

static void
apply_exit(struct procs *p, const struct record *r)
{
	struct process *proc = *place_of(p, r->pid);

	sampler_interp_ended(p->sampler, r->tid);
	if (!proc) {
		if (r->pid == r->tid) /* a new process with this pid must be
		                         sampled */
			sampler_pass(p->sampler, r->pid);
		return;
	}
	proc->headless |= r->pid == r->tid;
	if (proc->headless && !proc->gone_ns) {
		report(p, proc->watchers, PROC_EXIT, r);
		proc->unwatched =
			process_allocs_missed(proc, p->sampler, r->time_ns);
		if (proc->unwatched)
			report(p, proc->watchers, PROC_UNWATCHED, r);
	} else {
		report(p, proc->watchers, PROC_THREAD_EXIT, r);
	}
	if (proc->headless) {
		proc->gone_ns = r->time_ns;
		proc->gone_tid = r->tid;
	}
	/* An origin's number of threads is not exact, so an origin stays. */
	if (proc->origin != proc->pid && !--proc->threads)
		forget(p, r->pid);
}

static void
apply_comm(struct procs *p, const struct record *r)
{
	struct process *proc = *place_of(p, r->pid);

	if (!proc)
		return;
	report(p, proc->watchers, r->comm.exec ? PROC_EXEC : PROC_NAME, r);
	proc->names.old = true;
	if (!r->comm.exec)
		return;
	/* The thread that executes a program becomes the first one. */
	proc->headless = false;
	proc->forked = proc->forks = false;
	proc->shares = proc->compared = false;
	proc->titled = false;
	proc->loading = true;
	if (proc->gone_ns)
		go_on(p, proc, r);
	maps_clear(&proc->maps);
	sampler_interp_gone(p->sampler, proc->pid);
	process_forget_interp(proc);
	process_forget_jit(proc);
	process_forget_code(proc);
	process_forget_context(proc);
	proc->runtime_looked = false;
	proc->begun_ns = r->time_ns;
	process_unprobe(proc, p->sampler);
	if (proc->unwinder)
		unwinder_flush(proc->unwinder);
}

static bool
has_mapping(const struct process *proc, const struct map_seen *want)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAPS_MAX_TEXT);
	CLEANUP_FREE struct map_seen *rows = NULL;
	uint32_t threads;
	size_t n = 0;

	if (maps_text(proc->modules->host, (int32_t)proc->pid, &text,
	              &threads) ||
	    maps_split(text.p, &rows, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (rows[i].executable && rows[i].start == want->start &&
		    rows[i].end == want->end &&
		    !strncmp(rows[i].path, want->path, strlen(want->path)))
			return true;
	return false;
}

/* True if each of two processes has mapped the same file at this address. */
static bool
both_mapped(const struct process *a, const struct process *b, uint64_t start)
{
	const struct map *x = maps_find(&a->maps, start);
	const struct map *y = maps_find(&b->maps, start);

	return x && y && x->module == y->module && x->start == y->start;
}

/* True if a process was created with the memory of its parent (CLONE_VM); no
 * record says so. If the process has ended, its mapping decides: the parent has
 * the same one, but has not mapped it itself. */
static bool
do_share(struct process *child, struct process *parent,
         const struct map_seen *by_child)
{
	const struct host_ask ask = {
		.op = HOST_SHARED,
		.count = 2,
		.list = {(int32_t)parent->pid, (int32_t)child->pid},
	};
	uint32_t shared;
	int rc;

	if (!child->forked || parent->begun_ns > child->begun_ns)
		return false;
	if (child->compared)
		return child->shares;
	rc = host_value(parent->modules->host, &ask, &shared);
	child->compared = !rc || by_child;
	if (!rc)
		child->shares = shared;
	else if (rc == -ESRCH && by_child)
		child->shares = !both_mapped(child, parent, by_child->start) &&
		                has_mapping(parent, by_child);
	return child->shares;
}

static void
teach_parents(struct procs *p, struct process *proc,
              const struct map_seen *seen)
{
	struct process *parent = *place_of(p, proc->parent);

	if (!parent || parent == proc || !do_share(proc, parent, seen))
		return;
	process_learn(parent, p->modules, seen);
	teach_parents(p, parent, seen);
}

static void
teach_children(struct procs *p, struct process *proc,
               const struct map_seen *seen)
{
	unsigned compared = 0;

	for (uint32_t i = 0; proc->forks && i < BUCKETS; i++)
		for (struct process *q = p->buckets[i]; q; q = q->next)
			if (q->parent == proc->pid && q != proc && q->forked &&
			    (q->compared || compared++ < MAX_COMPARED) &&
			    do_share(q, proc, NULL))
				process_learn(q, p->modules, seen);
}

/* True for memory that replaces code of a file. */
static bool
covers_file(const struct process *proc, const struct map_seen *seen)
{
	const struct map *m = maps_find(&proc->maps, seen->start);

	return !seen->build_id && m && proc->modules->rows[m->module]->elf;
}

static void
apply_mmap(struct procs *p, const struct record *r)
{
	struct process *proc = *place_of(p, r->pid);
	struct map_seen seen = {
		.start = r->mmap.start,
		.end = r->mmap.start + r->mmap.len,
		.offset = r->mmap.offset,
		.inode = r->mmap.inode,
		.major = r->mmap.major,
		.minor = r->mmap.minor,
		.build_id = r->mmap.build_id_size ? r->mmap.build_id : NULL,
		.build_id_size = r->mmap.build_id_size,
		.path = r->mmap.path,
		.executable = true,
	};
	uint32_t threads;

	if (!proc || !r->mmap.executable)
		return;
	/* Memory in place of a file's code may be that code, moved. */
	if (!covers_file(proc, &seen) ||
	    process_read_maps(proc, p->modules, &threads))
		process_learn(proc, p->modules, &seen);
	teach_parents(p, proc, &seen);
	teach_children(p, proc, &seen);
	process_interp_threads(proc, p->sampler);
	process_probe(proc, p->sampler, true);
}

/* True when a record is outdated: records wait in rings, so a fork or exec may
 * be reported after the process was found in its current state. */
static bool
is_known(struct procs *p, const struct record *r)
{
	const struct process *proc = *place_of(p, r->pid);

	return proc && r->time_ns < proc->since_ns;
}

void
procs_apply(struct procs *p, const struct record *r)
{
	if (is_known(p, r))
		return;
	switch (r->kind) {
	case RECORD_FORK:
		apply_fork(p, r);
		break;
	case RECORD_EXIT:
		apply_exit(p, r);
		break;
	case RECORD_COMM:
		apply_comm(p, r);
		break;
	case RECORD_MMAP:
		apply_mmap(p, r);
		break;
	default:
		break;
	}
}
