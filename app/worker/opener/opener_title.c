/* Reads the name that people know a process by. */
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "base/title.h"
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Reads the start of a command line, which may be megabytes long. */
static int
read_command(int32_t pid, char out[static PROC_CMDLINE_MAX])
{
	CLEANUP_FD int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, PROC_CMDLINE_MAX - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	proc_join_cmdline(out, (size_t)n);
	return 0;
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

	(void)o;
	if (!rc)
		rc = read_command(ask->pid, command);
	if (rc)
		return rc;
	if (!proc_read(AT_FDCWD, ask->pid, "cgroup", &group))
		proc_parse_unit(buf_str(&group), unit);
	title_put(&(struct title_facts){unit, exe, command}, &title);
	rc = buf_err(&title);
	if (!rc)
		snprintf(out->reply.text, sizeof(out->reply.text), "%s",
		         buf_str(&title));
	return rc;
}
