#include "process_table.h"

#include "base/file.h"
#include "capture/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 10) /* of stat, status, cgroup */

static void
proc_done(struct proc *p)
{
	free(p->exe);
	free(p->cmdline);
	free(p->argv0);
	free(p->unit);
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

static int
read_proc(const struct proc_table *t, int32_t pid, const char *file,
          struct buf *out)
{
	char path[64];

	buf_clear(out);
	snprintf(path, sizeof(path), "%d/%s", pid, file);
	return file_read(t->proc_fd, path, out);
}

/* The start of it: command lines may be megabytes. */
static int
read_cmdline(const struct proc_table *t, struct proc *p)
{
	char path[64], text[PROC_CMDLINE_MAX];
	CLEANUP_FD int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/cmdline", p->pid);
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

static int
read_unit(const struct proc_table *t, struct proc *p, struct buf *text)
{
	char unit[PROC_UNIT_MAX] = "";

	if (!read_proc(t, p->pid, "cgroup", text))
		proc_parse_unit(buf_str(text), unit);
	p->unit = strdup(unit);
	return p->unit ? 0 : -ENOMEM;
}

static int
read_exe(const struct proc_table *t, struct proc *p)
{
	char link[HOST_MAX_PATH] = "";

	/* a kernel thread has neither */
	if (*p->cmdline && t->exe_link(t->arg, p->pid, link))
		link[0] = '\0';
	p->exe = strdup(link);
	return p->exe ? 0 : -ENOMEM;
}

static int
read_rest(const struct proc_table *t, struct proc *p, struct buf *text,
          int64_t now_ns)
{
	int rc = read_proc(t, p->pid, "status", text);

	if (!rc)
		rc = proc_parse_uid(buf_str(text), &p->uid);
	if (!rc)
		rc = read_cmdline(t, p);
	if (!rc)
		rc = read_unit(t, p, text);
	p->read_ns = now_ns;
	return rc ? rc : read_exe(t, p);
}

/* Fills p anew, or from what the last scan knew. */
static int
look(struct proc_table *t, struct proc *p, struct buf *text, int64_t now_ns)
{
	struct proc *old = find(t, p->pid);
	int rc = read_proc(t, p->pid, "stat", text);

	if (!rc)
		rc = proc_parse_stat(buf_str(text), p->comm, &p->start_time);
	if (rc)
		return rc;
	if (old && old->exe && old->start_time == p->start_time &&
	    !strcmp(old->comm, p->comm) &&
	    now_ns - old->read_ns < PROC_FRESH_NS) {
		*p = *old;
		*old = (struct proc){.pid = p->pid};
		return 0;
	}
	return read_rest(t, p, text, now_ns);
}

/* The next process of the directory; 0 at its end. */
static int32_t
next_pid(DIR *d)
{
	const struct dirent *e;

	while ((e = readdir(d))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);

		if (!*end && pid > 0 && pid <= INT32_MAX)
			return (int32_t)pid;
	}
	return 0;
}

static void
close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

int
proc_table_scan(struct proc_table *t, int64_t now_ns)
{
	CLEANUP_BUF struct buf text = BUF_INIT(FILE_MAX);
	struct proc *items = calloc(PROC_MAX, sizeof(*items));
	CLEANUP(close_dir) DIR *d = NULL;
	CLEANUP_FD int fd =
		openat(t->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t n = 0;

	if (!items || fd < 0 || !(d = fdopendir(fd))) {
		free(items);
		return -errno;
	}
	fd = -1; /* the stream's */
	while (n < PROC_MAX && (items[n].pid = next_pid(d))) {
		/* gone between the directory and its files: no process */
		if (look(t, &items[n], &text, now_ns))
			proc_done(&items[n]);
		else
			n++;
	}
	qsort(items, n, sizeof(*items), by_pid);
	proc_table_done(t);
	t->items = items;
	t->n = n;
	return 0;
}
