/* Reads the programs of processes, and the names that people know them by. */
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "base/title.h"
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the start of a command line, which may be megabytes long, as /proc has
 * it. Returns its bytes, or -errno. */
static ssize_t
read_command(int32_t pid, char out[static PROC_CMDLINE_MAX])
{
	CLEANUP_FD int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, PROC_CMDLINE_MAX - 1);
	return n >= 0 ? n : errno == ENOENT ? -ESRCH : -errno;
}

static int
read_program(int32_t pid, char out[static HOST_MAX_PATH])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, out, HOST_MAX_PATH - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	out[n] = '\0';
	return 0;
}

int
read_title(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_BUF struct buf group = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf title = BUF_INIT(HOST_MAX_PATH - 1);
	char unit[PROC_UNIT_MAX] = "", command[PROC_CMDLINE_MAX],
	     exe[HOST_MAX_PATH];
	int rc = read_program(ask->pid, exe);
	ssize_t n;

	(void)o;
	if (rc)
		return rc;
	n = read_command(ask->pid, command);
	if (n < 0)
		return (int)n;
	proc_join_cmdline(command, (size_t)n);
	if (!proc_read(AT_FDCWD, ask->pid, "cgroup", &group))
		proc_parse_unit(buf_str(&group), unit);
	title_put(&(struct title_facts){unit, exe, command}, &title);
	rc = buf_err(&title);
	if (!rc)
		snprintf(out->reply.text, sizeof(out->reply.text), "%s",
		         buf_str(&title));
	return rc;
}

/* A process that has ended, or whose memory cannot be read, has no row. */
static void
put_program(int32_t pid, struct buf *out)
{
	char command[PROC_CMDLINE_MAX], link[HOST_MAX_PATH] = "";
	struct host_program row = {.pid = pid};
	ssize_t n;

	if (read_program(pid, link) == -ESRCH) {
		pid = opener_thread(pid);
		(void)!read_program(pid, link);
	}
	n = read_command(pid, command);
	if (n < 0)
		return;
	row.link = (uint32_t)strlen(link);
	row.command = (uint32_t)n;
	buf_add(out, &row, sizeof(row));
	buf_add(out, link, row.link);
	buf_add(out, command, row.command);
}

int
read_programs(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_BUF struct buf rows =
		BUF_INIT(HOST_MAX_PROGRAMS * HOST_PROGRAM_BYTES);

	(void)o;
	if (ask->count > HOST_MAX_PROGRAMS)
		return -EINVAL;
	for (uint32_t i = 0; i < ask->count; i++)
		put_program(ask->list[i], &rows);
	return buf_err(&rows) ?: answer_give(rows.p, rows.len, out);
}
