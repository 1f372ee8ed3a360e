/*
 * Answers about what threads are called and what processes use: the kernel's
 * own text, in which only a name is of the target's choice.
 */
#include "base/file.h"
#include "opener.h"
#include "worker/ipc/proc_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NAMES_MAX ((size_t)1 << 20) /* bytes of one process's */

/* A descriptor of b's bytes, to be read from their start. */
static int
give_rows(const struct buf *b, struct answer *out)
{
	CLEANUP_FD int fd = memfd_create("stoker-rows", MFD_CLOEXEC);
	int rc = buf_err(b);

	if (!rc && fd < 0)
		rc = -errno;
	if (!rc)
		rc = fd_write_all(fd, b->p, b->len);
	if (!rc && lseek(fd, 0, SEEK_SET))
		rc = -errno;
	if (!rc)
		out->fds[out->nfds++] = TAKE_FD(fd);
	return rc;
}

/* --- names -----------------------------------------------------------------
 */

static int
open_tasks(int32_t pid, DIR **out)
{
	char path[64];

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	*out = opendir(path);
	if (*out)
		return 0;
	return errno == ENOENT ? -ESRCH : -errno;
}

static bool
read_name(int tasks, const char *tid, char out[static HOST_COMM_MAX])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "%.16s/comm", tid);
	if (file_read(tasks, path, &text))
		return false;
	n = text.len ? text.len - 1 : 0; /* its newline */
	if (n >= HOST_COMM_MAX)
		n = HOST_COMM_MAX - 1;
	memcpy(out, buf_str(&text), n);
	return true;
}

int
list_names(const struct conf *conf, const struct host_ask *ask,
           struct answer *out)
{
	CLEANUP_BUF struct buf rows = BUF_INIT(NAMES_MAX);
	const struct dirent *entry;
	DIR *dir;
	int rc = open_tasks(ask->pid, &dir);

	(void)conf;
	if (rc)
		return rc;
	while (!buf_err(&rows) && (entry = readdir(dir))) {
		struct host_thread row = {
			.tid = (int32_t)strtol(entry->d_name, NULL, 10)};

		if (row.tid > 0 && /* but . and .. */
		    read_name(dirfd(dir), entry->d_name, row.name))
			buf_add(&rows, &row, sizeof(row));
	}
	closedir(dir);
	return give_rows(&rows, out);
}

/* --- use -------------------------------------------------------------------
 */

static int
read_use(int32_t pid, struct host_usage *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64], comm[PROC_COMM_MAX];
	uint64_t ticks, pages, began, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	rc = file_read(AT_FDCWD, path, &text);
	if (!rc)
		rc = proc_parse_usage(buf_str(&text), &ticks, &pages);
	if (!rc)
		rc = proc_parse_stat(buf_str(&text), comm, &began);
	if (rc)
		return rc;
	*out = (struct host_usage){
		.pid = pid,
		.rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE),
		.cpu_us = ticks * 1000000 / hz,
		.began_ns = began * (1000000000 / hz),
	};
	return 0;
}

int
read_usage(const struct conf *conf, const struct host_ask *ask,
           struct answer *out)
{
	uint32_t n = 0;

	(void)conf;
	if (ask->count > HOST_MAX_USAGE)
		return -EINVAL;
	for (uint32_t i = 0; i < ask->count; i++)
		if (ask->list[i] > 0 &&
		    !read_use(ask->list[i], &out->reply.usage[n]))
			n++;
	out->reply.value = n;
	return 0;
}
