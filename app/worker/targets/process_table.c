#include "process_table.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
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

/* --- programs ------------------------------------------------------------- */

#define LATE_MAX 3 /* processes that a scan waits for */

/* Processes of a scan whose files are to be read. */
struct due {
	struct proc *items[HOST_MAX_PROGRAMS];
	size_t n;
	unsigned late; /* that did not answer */
};

/* Asks for programs. If one process does not answer, none of the list does: the
 * others are asked for one by one. */
static void
ask_programs(struct proc_table *t, struct due *due, struct buf *out)
{
	int32_t pids[HOST_MAX_PROGRAMS];
	int rc;

	if (!due->n || due->late >= LATE_MAX)
		return;
	for (size_t i = 0; i < due->n; i++)
		pids[i] = due->items[i]->pid;
	rc = t->programs(t->arg, pids, due->n, out);
	if (rc && rc != -ETIMEDOUT)
		log_warn("programs cannot be read: %s", strerror(-rc));
	if (due->n == 1)
		due->late += rc == -ETIMEDOUT;
	for (size_t i = 0; due->n > 1 && i < due->n && rc == -ETIMEDOUT; i++)
		if (due->late < LATE_MAX)
			due->late += t->programs(t->arg, &pids[i], 1, out) ==
			             -ETIMEDOUT;
}

/* Moves *at past the row of a process; returns false if it has none. */
static bool
next_program(const struct buf *rows, int32_t pid, size_t *at,
             struct host_program *row, const char **texts)
{
	const size_t left = rows->len - *at;

	if (left < sizeof(*row))
		return false;
	memcpy(row, rows->p + *at, sizeof(*row));
	if (row->pid != pid || row->link >= HOST_MAX_PATH ||
	    row->command >= PROC_CMDLINE_MAX ||
	    left - sizeof(*row) < row->link + row->command)
		return false;
	*texts = rows->p + *at + sizeof(*row);
	*at += sizeof(*row) + row->link + row->command;
	return true;
}

static int
set_program(struct proc *p, const struct host_program *row, const char *texts)
{
	char command[PROC_CMDLINE_MAX];

	memcpy(command, texts + row->link, row->command);
	command[row->command] = '\0';
	p->argv0 = strdup(command);
	if (p->argv0)
		proc_join_cmdline(p->argv0, strlen(p->argv0));
	proc_join_cmdline(command, row->command);
	p->cmdline = strdup(command);
	p->exe = strndup(texts, row->link);
	return p->exe && p->cmdline && p->argv0 ? 0 : -ENOMEM;
}

/* Reads the user, the unit and the container. */
static int
read_rest(struct proc_table *t, struct proc *p, struct buf *text,
          int64_t now_ns)
{
	int rc = proc_read(t->proc_fd, p->pid, "status", text);

	if (!rc)
		rc = proc_parse_uid(buf_str(text), &p->uid);
	if (!rc)
		rc = read_groups(t, p, text, now_ns);
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

/* Fills p from the last scan or from its stat. Returns 1 if its other files are
 * to be read, too. */
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
	p->looked_ns = now_ns;
	if (!old || !is_same(old, p, now_ns))
		return 1;
	parent = p->parent; /* may have changed, since a parent may end */
	take_over(p, old);
	p->parent = parent;
	p->looked_ns = now_ns;
	read_context(t, p, now_ns);
	return 0;
}

/* Reads what is missing of a process whose program is known. */
static void
complete(struct proc_table *t, struct proc *p, struct buf *text, int64_t now_ns)
{
	struct proc *old = find(t, p->pid);
	int rc = read_rest(t, p, text, now_ns);

	if (rc) {
		proc_done(p);
		return;
	}
	keep_context(p, old);
	read_context(t, p, now_ns);
}

/* Keeps what is known of a process whose program cannot be read now. */
static void
keep_old(struct proc_table *t, struct proc *p)
{
	struct proc *old = find(t, p->pid);
	bool same = old && old->exe && old->start_time == p->start_time;

	t->young = true;
	proc_done(p);
	if (same)
		take_over(p, old);
}

static void
complete_due(struct proc_table *t, struct due *due, struct buf *text,
             int64_t now_ns)
{
	CLEANUP_BUF struct buf rows =
		BUF_INIT(HOST_MAX_PROGRAMS * HOST_PROGRAM_BYTES);
	size_t at = 0;

	ask_programs(t, due, &rows);
	for (size_t i = 0; i < due->n; i++) {
		struct proc *p = due->items[i];
		struct host_program row;
		const char *texts;

		if (next_program(&rows, p->pid, &at, &row, &texts) &&
		    !set_program(p, &row, texts))
			complete(t, p, text, now_ns);
		else
			keep_old(t, p);
	}
	due->n = 0;
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
	static const struct host_program none;
	CLEANUP_BUF struct buf text = BUF_INIT(FILE_MAX);
	struct due due = {.n = 0};
	size_t n = 0, kept = 0;

	t->young = false;
	for (size_t at = 0; at < pids->len; at += sizeof(items->pid)) {
		struct proc *p = &items[n];
		int rc;

		memcpy(&p->pid, pids->p + at, sizeof(p->pid));
		rc = look(t, p, &text, now_ns);
		if (rc < 0) {
			/* it ended meanwhile, or cannot be read yet */
			t->young |= rc == -ETIMEDOUT;
			proc_done(p);
			continue;
		}
		n++;
		if (rc && !proc_is_kernel_thread(buf_str(&text)))
			due.items[due.n++] = p;
		else if (rc && !set_program(p, &none, ""))
			complete(t, p, &text, now_ns);
		if (due.n == ARRAY_LEN(due.items))
			complete_due(t, &due, &text, now_ns);
	}
	complete_due(t, &due, &text, now_ns);
	for (size_t i = 0; i < n; i++) {
		struct proc *p = &items[i];

		if (!p->exe) { /* it has ended, or cannot be read yet */
			proc_done(p);
			continue;
		}
		/* kernel threads never change */
		t->young |= *p->cmdline && is_young(p, now_ns);
		items[kept++] = *p;
	}
	qsort(items, kept, sizeof(*items), by_pid);
	free_all(t->items, t->n);
	t->items = items;
	t->n = kept;
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
