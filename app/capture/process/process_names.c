#include "process_names.h"

#include "base/clock.h"
#include "base/file.h"

#include <stdlib.h>

#define AGAIN_NS ((uint64_t)NS_PER_S) /* between two readings, */
#define AGAIN    50                   /* and a multiple of a reading's time */

static int
by_inner(const void *a, const void *b)
{
	const struct host_thread *x = a, *y = b;

	return (x->inner > y->inner) - (x->inner < y->inner);
}

static const struct host_thread *
find(const struct proc_names *names, uint32_t inner)
{
	const struct host_thread key = {.inner = (int32_t)inner};

	return names->n ? bsearch(&key, names->rows, names->n, sizeof(key),
	                          by_inner)
	                : NULL;
}

static const struct host_thread *
find_tid(const struct proc_names *names, uint32_t tid)
{
	const struct host_thread *found = find(names, tid);

	if (found && found->tid == (int32_t)tid)
		return found; /* the pid namespaces are the same */
	for (size_t i = 0; i < names->n; i++)
		if (names->rows[i].tid == (int32_t)tid)
			return &names->rows[i];
	return NULL;
}

static int
read_rows(const struct process *proc, struct buf *out)
{
	const struct host_ask ask = {
		.op = HOST_NAMES, .pid = (int32_t)proc->pid, .size = 1};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(proc->modules->host, &ask, &fd);

	return rc ? rc : fd_read_all(fd, out);
}

/* Reads all names; if the process is gone, the known names stay. */
static void
read_names(struct process *proc, uint64_t now_ns)
{
	CLEANUP_BUF struct buf text =
		BUF_INIT(sizeof(struct host_thread[HOST_MAX_THREADS]));
	struct proc_names *names = &proc->names;
	int rc = read_rows(proc, &text);
	uint64_t took = (uint64_t)clock_mono_ns() - now_ns;

	names->next_ns = now_ns +
	                 (took * AGAIN > AGAIN_NS ? took * AGAIN : AGAIN_NS);
	if (rc || text.len < sizeof(*names->rows))
		return;
	free(names->rows);
	names->n = text.len / sizeof(*names->rows);
	names->rows = (struct host_thread *)TAKE(text.p);
	qsort(names->rows, names->n, sizeof(*names->rows), by_inner);
	names->old = false;
}

static const char *
name_of(struct process *proc, uint32_t tid,
        const struct host_thread *(*by)(const struct proc_names *, uint32_t))
{
	const struct host_thread *found = by(&proc->names, tid);
	uint64_t now;

	if (!tid || (found && !proc->names.old))
		return found ? found->name : NULL;
	now = (uint64_t)clock_mono_ns();
	if (now < proc->names.next_ns)
		return found ? found->name : NULL;
	read_names(proc, now);
	found = by(&proc->names, tid);
	return found ? found->name : NULL;
}

const char *
process_thread_name(struct process *proc, uint32_t inner)
{
	return name_of(proc, inner, find);
}

const char *
process_thread_name_of(struct process *proc, uint32_t tid)
{
	return name_of(proc, tid, find_tid);
}
