/*
 * Reads pid files, many of which only their owner may read. A person typed the
 * path, and it may lead through folders of any user. So only links of root and
 * of this user are followed, only a regular file is opened, and only the number
 * at its start is handed out.
 */
#include "opener.h"
#include "opener_grants.h"
#include "opener_local.h"
#include "opener_reopen.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINKS 8
#define MAX_START 64 /* bytes that are read */
#define DAY_S     86400

struct walk {
	int at; /* O_PATH: the folder reached so far */
	unsigned links;
	char rest[HOST_MAX_PATH]; /* of the path */
};

static void
walk_done(struct walk *w)
{
	close_ptr(&w->at);
}

/* Follows a link, from root or from the current folder. */
static int
follow(struct walk *w, int link)
{
	char to[HOST_MAX_PATH], all[HOST_MAX_PATH];
	ssize_t n = readlinkat(link, "", to, sizeof(to) - 1);
	struct stat st;

	if (n < 0 || fstat(link, &st))
		return -errno;
	if ((st.st_uid && st.st_uid != geteuid()) || ++w->links > MAX_LINKS)
		return -ELOOP;
	to[n] = '\0';
	if (snprintf(all, sizeof(all), "%s/%s", to, w->rest) >=
	    (int)sizeof(all))
		return -ENAMETOOLONG;
	memcpy(w->rest, all, sizeof(all));
	if (*to != '/')
		return 0;
	close(w->at);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? -errno : 0;
}

/* Takes the next name off the path; false at its end. */
static bool
next_name(struct walk *w, char out[static NAME_MAX + 1])
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	if (!n || n > NAME_MAX)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return true;
}

static int
walk(struct walk *w, const char *path)
{
	char name[NAME_MAX + 1];
	int rc = 0;

	memcpy(w->rest, path, strlen(path) + 1);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (!rc && next_name(w, name)) {
		CLEANUP_FD int next =
			openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (next < 0 || fstat(next, &st))
			return -errno;
		if (S_ISLNK(st.st_mode)) {
			rc = follow(w, next);
			continue;
		}
		close(w->at);
		w->at = TAKE_FD(next);
	}
	return rc;
}

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
 * True for a file that was last written a day or more before the process began:
 * its number belonged to another process then. The clock may have been set in
 * between, but rarely by a day.
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

/* Refuses a number that cannot be meant: process 1 is the host's own, and a
 * program in a container calls itself that. */
static int
check_pid(const struct stat *st, uint32_t pid)
{
	return pid == 1 || is_outlived(st, (int32_t)pid) ? -ESRCH : 0;
}

int
read_pid_file(struct opener *o, const struct host_ask *ask, struct answer *out)
{
	CLEANUP(walk_done) struct walk w = {.at = -1};
	char text[MAX_START + 1];
	CLEANUP_FD int fd = -1;
	struct stat st;
	ssize_t n;
	int rc;

	(void)o;
	rc = *ask->path == '/' ? walk(&w, ask->path) : -EINVAL;
	if (rc)
		return rc;
	/* Bytes of a file that the kernel makes, such as /proc/kmsg, may be lost
	 * to all others that read it. */
	if (fstat(w.at, &st) || !S_ISREG(st.st_mode) ||
	    !opener_is_local(w.at, getpid()))
		return -EINVAL;
	rc = opener_reopen(w.at, &fd);
	if (rc)
		return rc;
	n = pread(fd, text, MAX_START, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return number_of(text, &out->reply.value)
	               ?: check_pid(&st, out->reply.value);
}
