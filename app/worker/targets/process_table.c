#include "process_table.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "capture/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 10) /* bytes of stat, status, cgroup */
#define PIDS_MAX (PROC_MAX * sizeof(int32_t))

static void
proc_done(struct proc *p)
{
	free(p->exe);
	free(p->cmdline);
	free(p->argv0);
	free(p->unit);
	containers_leave(p->container);
	context_done(&p->context);
	*p = (struct proc){0};
}

static void
free_all(struct proc *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		proc_done(&items[i]);
	free(items);
}

void
proc_table_done(struct proc_table *t)
{
	free_all(t->items, t->n);
	t->items = NULL;
	t->n = 0;
	containers_done(&t->containers);
}

static int
by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct proc *
find(const struct proc_table *t, int32_t pid)
{
	struct proc key = {.pid = pid};

	if (!t->n)
		return NULL;
	return bsearch(&key, t->items, t->n, sizeof(key), by_pid);
}

const struct proc *
proc_table_find(const struct proc_table *t, int32_t pid)
{
	return find(t, pid);
}

/* Returns another thread of a process whose first thread has ended, to read the
 * process through; pid if there is none. */
static int32_t
other_thread(const struct proc_table *t, int32_t pid)
{
	CLEANUP_FOLDER DIR *d = NULL;
	int32_t tid;

	if (folder_open_tasks(t->proc_fd, pid, &d))
		return pid;
	do
		tid = folder_next_number(d);
	while (tid == pid);
	return tid ? tid : pid;
}

/* Reads the start of a command line, which may be megabytes long. */
static int
read_cmdline(const struct proc_table *t, struct proc *p)
{
	int32_t pid = p->ended ? other_thread(t, p->pid) : p->pid;
	char path[64], text[PROC_CMDLINE_MAX];
	CLEANUP_FD int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/cmdline", pid);
	fd = openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	p->argv0 = strdup(text);
	if (p->argv0)
		proc_join_cmdline(p->argv0, strlen(p->argv0));
	proc_join_cmdline(text, (size_t)n);
	p->cmdline = strdup(text);
	return p->argv0 && p->cmdline ? 0 : -ENOMEM;
}

/* Reads the unit and the container. */
static int
read_groups(struct proc_table *t, struct proc *p, struct buf *text,
            int64_t now_ns)
{
	char unit[PROC_UNIT_MAX] = "";
	int rc = 0;

	if (!proc_read(t->proc_fd, p->pid, "cgroup", text)) {
		proc_parse_unit(buf_str(text), unit);
		rc = containers_find(&t->containers, buf_str(text), now_ns,
		                     &p->container);
	}
	p->unit = strdup(unit);
	return p->unit ? rc : -ENOMEM;
}

static int
read_exe(const struct proc_table *t, struct proc *p)
{
	char link[HOST_MAX_PATH] = "";

	/* a kernel thread has neither command line nor executable */
	if (*p->cmdline && t->exe_link(t->arg, p->pid, link))
		link[0] = '\0';
	p->exe = strdup(link);
	return p->exe ? 0 : -ENOMEM;
}

static int
read_rest(struct proc_table *t, struct proc *p, struct buf *text,
          int64_t now_ns)
{
	int rc = proc_read(t->proc_fd, p->pid, "status", text);

	if (!rc)
		rc = proc_parse_uid(buf_str(text), &p->uid);
	if (!rc)
		rc = read_cmdline(t, p);
	if (!rc)
		rc = read_groups(t, p, text, now_ns);
	if (!rc)
		rc = read_exe(t, p);
	if (rc)
		return rc;
	/* an executable that can't be read now is tried again */
	p->read_ns = *p->cmdline && !*p->exe ? now_ns - PROC_FRESH_NS : now_ns;
	return 0;
}

static bool
is_young(const struct proc *p, int64_t now_ns)
{
	return now_ns - p->seen_ns < PROC_YOUNG_NS;
}

/* True when the facts about a process are still valid. */
static bool
is_same(const struct proc *old, const struct proc *now, int64_t now_ns)
{
	int64_t age_ns = now_ns - old->seen_ns;
	int64_t fresh_ns = age_ns < PROC_NEW_NS     ? 0
	                   : age_ns < PROC_YOUNG_NS ? PROC_CALM_NS
	                                            : PROC_FRESH_NS;

	return old->start_time == now->start_time &&
	       !strcmp(old->comm, now->comm) &&
	       now_ns - old->read_ns < fresh_ns;
}

static void
take_over(struct proc *p, struct proc *old)
{
	*p = *old;
	*old = (struct proc){.pid = p->pid};
}

static int
read_stat(const struct proc_table *t, struct proc *p, struct buf *text)
{
	int rc = proc_read_stat(t->proc_fd, p->pid, text);

	if (!rc)
		rc = proc_parse_stat(buf_str(text), p->comm, &p->start_time);
	p->ended = proc_parse_state(buf_str(text)) == 'Z';
	return rc ? rc : proc_parse_parent(buf_str(text), &p->parent);
}

/* --- contexts ------------------------------------------------------------- */

static int64_t
context_interval(const struct proc *p, int64_t now_ns)
{
	int64_t age_ns = now_ns - p->seen_ns;

	if (p->context.at.address)
		return PROC_FRESH_NS;
	return age_ns / 2 < PROC_RARE_NS ? age_ns / 2 : PROC_RARE_NS;
}

/* Reads the context of a process. A new kind of failure is logged. */
static void
read_context(struct proc_table *t, struct proc *p, int64_t now_ns)
{
	const struct memory m = {.host = t->host, .pid = p->pid};
	int rc;

	if (!t->host || !*p->cmdline || now_ns - p->seen_ns < PROC_NEW_NS ||
	    now_ns - p->context_ns < context_interval(p, now_ns) ||
	    (t->hung_ns && now_ns - t->hung_ns < PROC_FRESH_NS))
		return;
	p->context_ns = now_ns;
	rc = context_read(&m, &p->context);
	if (rc == -ETIMEDOUT)
		t->hung_ns = now_ns;
	if (rc && rc != -ENOENT && rc != -ESRCH && rc != p->context_error)
		log_info("process %d: its context could not be read: %s",
		         p->pid, strerror(-rc));
	p->context_error = rc;
}

static void
keep_context(struct proc *p, struct proc *old)
{
	if (!old || old->start_time != p->start_time)
		return;
	p->context = old->context;
	p->context_ns = old->context_ns;
	p->context_error = old->context_error;
	old->context = (struct context){0};
}

/* Fills p from its files or from the last scan. */
static int
look(struct proc_table *t, struct proc *p, struct buf *text, int64_t now_ns)
{
	struct proc *old = find(t, p->pid);
	int32_t parent;
	int rc;

	if (old && !old->exe)
		old = NULL;
	if (old && !is_young(old, now_ns) &&
	    now_ns - old->looked_ns < PROC_CALM_NS) {
		take_over(p, old);
		return 0;
	}
	rc = read_stat(t, p, text);
	if (rc == -ETIMEDOUT && old) {
		take_over(p, old);
		return 0;
	}
	if (rc)
		return rc;
	p->seen_ns = old && old->start_time == p->start_time ? old->seen_ns
	                                                     : now_ns;
	parent = p->parent;
	if (old && is_same(old, p, now_ns)) {
		take_over(p, old);
	} else {
		rc = read_rest(t, p, text, now_ns);
		keep_context(p, old);
	}
	p->parent = parent; /* may have changed, since a parent may end */
	p->looked_ns = now_ns;
	if (!rc)
		read_context(t, p, now_ns);
	return rc;
}

/*
 * Reads the number of threads and the last pid; "" when that fails.
 *   Source   proc(5), /proc/loadavg
 */
static void
read_tasks(const struct proc_table *t, char out[static PROC_TASKS])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int rc = file_read(t->proc_fd, "loadavg", &text);
	const char *slash = rc ? NULL : strchr(buf_str(&text), '/');

	snprintf(out, PROC_TASKS, "%s", slash ? slash + 1 : "");
}

static bool
is_current(const struct proc_table *t, const char *tasks, int64_t now_ns)
{
	return *tasks && !strcmp(tasks, t->tasks) && !t->young &&
	       now_ns - t->scanned_ns < PROC_CALM_NS;
}

/* Lists the pids that exist now. */
static int
read_pids(const struct proc_table *t, struct buf *out)
{
	CLEANUP_FOLDER DIR *d = NULL;
	int32_t pid;
	int rc = folder_open(t->proc_fd, ".", &d);

	if (rc)
		return rc;
	while (out->len < PIDS_MAX && (pid = folder_next_number(d)))
		buf_add(out, &pid, sizeof(pid));
	return buf_err(out);
}

static void
look_at_all(struct proc_table *t, const struct buf *pids, struct proc *items,
            int64_t now_ns)
{
	CLEANUP_BUF struct buf text = BUF_INIT(FILE_MAX);
	size_t n = 0;

	t->young = false;
	for (size_t at = 0; at < pids->len; at += sizeof(items->pid)) {
		struct proc *p = &items[n];
		int rc;

		memcpy(&p->pid, pids->p + at, sizeof(p->pid));
		rc = look(t, p, &text, now_ns);
		if (rc) {
			/* it ended meanwhile, or cannot be read yet */
			t->young |= rc == -ETIMEDOUT;
			proc_done(p);
			continue;
		}
		/* kernel threads never change */
		t->young |= *p->cmdline && is_young(p, now_ns);
		n++;
	}
	qsort(items, n, sizeof(*items), by_pid);
	free_all(t->items, t->n);
	t->items = items;
	t->n = n;
}

int
proc_table_scan(struct proc_table *t, int64_t now_ns)
{
	CLEANUP_BUF struct buf pids = BUF_INIT(PIDS_MAX + 1);
	char tasks[PROC_TASKS];
	struct proc *items;
	int rc;

	read_tasks(t, tasks);
	if (is_current(t, tasks, now_ns))
		return 0;
	rc = read_pids(t, &pids);
	if (rc)
		return rc;
	items = calloc(pids.len / sizeof(int32_t) + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	look_at_all(t, &pids, items, now_ns);
	memcpy(t->tasks, tasks, sizeof(t->tasks));
	t->scanned_ns = now_ns;
	return 1;
}

static const struct container_facts *
facts_of(const struct proc *p)
{
	return p->container ? &p->container->facts : NULL;
}

const char *
proc_fact(const struct proc *p, enum container_fact fact)
{
	return fact == CONTAINER_OTEL_SERVICE
	               ? p->context.texts[CONTEXT_SERVICE] ?: ""
	               : container_fact(facts_of(p), fact);
}

bool
proc_matches(const struct proc *p, const struct container_match *m)
{
	const struct container_facts own = {
		.facts = {[CONTAINER_OTEL_SERVICE] =
	                          p->context.texts[CONTEXT_SERVICE]}};

	return container_matches(m, &own) ||
	       (p->container && container_matches(m, facts_of(p)));
}

const char *
proc_label(const struct proc *p, size_t i, const char **key)
{
	if (i < CONTAINER_PROFILE_LABELS)
		return container_profile_label(facts_of(p), i, key);
	i -= CONTAINER_PROFILE_LABELS;
	*key = context_keys[i];
	return p->context.texts[i];
}

uint64_t
proc_table_ticks(const struct proc_table *t, int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(FILE_MAX);
	uint64_t ticks, pages;

	return proc_read_stat(t->proc_fd, pid, &text) ||
	                       proc_parse_usage(buf_str(&text), &ticks, &pages)
	               ? 0
	               : ticks;
}
