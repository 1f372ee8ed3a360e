/*
 * Reads pid files, many of which only their owner may read. A person typed the
 * path, and it may lead through folders of any user. So only links of root and
 * of this user are followed, only a regular file is opened, and only the number
 * at its start is handed out.
 */
#include "opener.h"
#include "opener_grants.h"
#include "opener_reopen.h"
#include "opener_walk.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_START 64 /* bytes that are read */
#define DAY_S     86400

/* Parses the number. Other text may follow, as in PostgreSQL's files, but only
 * after white space. */
static int
number_of(const char *text, uint32_t *out)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || pid <= 0 || pid > INT32_MAX ||
	    (*end && !isspace((unsigned char)*end)))
		return -ENODATA;
	*out = (uint32_t)pid;
	return 0;
}

/*
 * True for a file that was last written a day or more before the process
 * started: its number belonged to another process then. The clock may have
 * been set in between, but rarely by a day.
 */
static bool
is_outlived(const struct stat *st, int32_t pid)
{
	const double began_s = (double)proc_start_time(pid) /
	                       (double)sysconf(_SC_CLK_TCK);
	struct timespec boot, wall;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	return began_s > 0 && (double)(wall.tv_sec - st->st_mtime) >
	                              (double)boot.tv_sec - began_s + DAY_S;
}

/* Refuses a number that cannot be right: process 1 is the host's init, but a
 * program in a container often has that number there. */
static int
check_pid(const struct stat *st, uint32_t pid)
{
	return pid == 1 || is_outlived(st, (int32_t)pid) ? -ESRCH : 0;
}

int
read_pid_file(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP_FD int place = -1, fd = -1;
	char text[MAX_START + 1];
	struct stat st;
	ssize_t n;
	int rc;

	/* Bytes of a file that the kernel makes, such as /proc/kmsg, may be
	 * lost to other readers. */
	rc = opener_walk(o, ask->path, &place) ?: opener_reopen(place, &fd);
	if (rc)
		return rc;
	n = pread(fd, text, MAX_START, 0);
	if (n < 0 || fstat(fd, &st))
		return -errno;
	text[n] = '\0';
	return number_of(text, &out->reply.value)
	               ?: check_pid(&st, out->reply.value);
}
