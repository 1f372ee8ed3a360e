#include "opener_walk.h"

#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "capture/host.h"
#include "opener.h"
#include "opener_local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 8

struct walk {
	const struct opener *o;
	int at; /* O_PATH: the folder reached so far */
	unsigned links;
	/*
	 * File systems that answer if this machine works at all: that of the
	 * root, from which this program or, if it is in a container, the host
	 * runs, and the one last found to be local.
	 */
	dev_t root, local;
	char rest[HOST_MAX_PATH]; /* the part of the path still to walk */
};

static void
walk_done(struct walk *w)
{
	close_ptr(&w->at);
}

/* Starts at the host's root. */
static int
go_to_root(struct walk *w)
{
	close_ptr(&w->at);
	w->at = w->o->host ? openat(w->o->host_root, ".",
	                            O_PATH | O_DIRECTORY | O_CLOEXEC)
	                   : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? -errno : 0;
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
	return *to == '/' ? go_to_root(w) : 0;
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

/* Checks that what was reached is on a file system that always answers: even
 * to look for a name in a folder may block on another. */
static int
check_local(struct walk *w)
{
	struct stat st;

	if (w->at < 0 || fstat(w->at, &st))
		return -errno;
	if (st.st_dev != w->root && st.st_dev != w->local &&
	    !opener_is_local(w->at, w->o->host ?: getpid()))
		return -EINVAL;
	w->local = st.st_dev;
	return 0;
}

static int
walk(struct walk *w, const char *path)
{
	char name[NAME_MAX + 1];
	struct stat root;
	int rc = go_to_root(w);

	if (rc)
		return rc;
	memcpy(w->rest, path, strlen(path) + 1);
	if (fstat(w->at, &root))
		return -errno;
	w->root = w->local = root.st_dev;
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
		rc = check_local(w);
	}
	return rc;
}

int
opener_walk(const struct opener *o, const char *path, int *out)
{
	CLEANUP(walk_done) struct walk w = {.o = o, .at = -1};
	int rc = *path == '/' ? walk(&w, path) : -EINVAL;

	if (!rc)
		*out = TAKE_FD(w.at);
	return rc;
}

int
opener_find_host(struct opener *o)
{
	int32_t pid = getppid();
	struct stat own, its;
	int rc = stat("/", &own) ? -errno : 0;

	while (!rc && pid > 0) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_FD int root = -1;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
		root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root < 0 || fstat(root, &its))
			return -errno;
		if (its.st_dev != own.st_dev || its.st_ino != own.st_ino) {
			o->host_root = TAKE_FD(root);
			o->host = pid;
			return 0;
		}
		rc = proc_read(AT_FDCWD, pid, "stat", &text)
		             ?: proc_parse_parent(buf_str(&text), &pid);
	}
	return rc ?: -ESRCH;
}
