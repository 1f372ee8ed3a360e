/*
 * Opens the files in which container runtimes keep what they know about a
 * container: those of container_file.def, each only if it is a regular file of
 * the user whose container it is. The scheduler parses them.
 */
#include "base/folder.h"
#include "opener.h"
#include "opener_reopen.h"
#include "opener_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAMES 50000 /* most names that are read in a folder */

static const char *const files[] = {
#define CONTAINER_FILE(runtime, form, path) path,
#include "worker/ipc/container_file.def"
#undef CONTAINER_FILE
};

/* Makes a pattern of a row: $ID and $SPACE stand for one name each. */
static void
pattern_of(const char *row, char out[static HOST_MAX_PATH])
{
	char *to = out;

	for (const char *p = row + (*row == '~'); *p; p++) {
		if (*p == '$') {
			*to++ = '*';
			p += strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

static size_t
pieces_of(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* True if a path is one that the row stands for. Below a home, only its end is
 * compared. */
static bool
is_of_row(const char *path, const char *row, uid_t owner)
{
	char pattern[HOST_MAX_PATH];
	size_t all = pieces_of(path), mine = pieces_of(row);

	pattern_of(row, pattern);
	if ((*row == '~') != (owner != 0) || strstr(path, "/../"))
		return false;
	for (; *row == '~' && all > mine; all--)
		path = strchr(path + 1, '/');
	return !fnmatch(pattern, path, FNM_PATHNAME);
}

/* Finds the first name in a folder that ends with end. */
static int
search(int folder, const char *end, char out[static HOST_MAX_PATH])
{
	CLEANUP_FD int fd =
		openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FOLDER DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t n = strlen(end);

	if (!d)
		return -errno;
	fd = -1; /* the stream owns it now */
	for (int i = 0; i < MAX_NAMES && (e = readdir(d)); i++) {
		size_t k = strlen(e->d_name);

		if (k <= n || strcmp(e->d_name + k - n, end) != 0)
			continue;
		snprintf(out, HOST_MAX_PATH, "%s", e->d_name);
		return 0;
	}
	return -ENOENT;
}

static int
search_path(const struct opener *o, const char *path, const char *star,
            uid_t owner, struct answer *out)
{
	char folder[HOST_MAX_PATH];
	CLEANUP_FD int place = -1;
	struct stat st;
	int rc;

	snprintf(folder, sizeof(folder), "%.*s", (int)(star - path), path);
	rc = opener_walk(o, folder, &place);
	if (rc)
		return rc;
	if (fstat(place, &st) || st.st_uid != owner)
		return -EPERM;
	return search(place, star + 1, out->reply.text);
}

int
open_container_file(struct opener *o, const struct host_ask *ask,
                    struct answer *out)
{
	const char *last = strrchr(ask->path, '/');
	CLEANUP_FD int place = -1, fd = -1;
	struct stat st;
	int rc;

	if (ask->count >= ARRAY_LEN(files) || *ask->path != '/' ||
	    !is_of_row(ask->path, files[ask->count], ask->size))
		return -EINVAL;
	/* a name is handed out, never the file that has it */
	if (strchr(files[ask->count], '*'))
		return last[1] == '*' ? search_path(o, ask->path, last + 1,
		                                    ask->size, out)
		                      : -EINVAL;
	rc = opener_walk(o, ask->path, &place);
	if (!rc && (fstat(place, &st) || st.st_uid != ask->size))
		rc = -EPERM;
	rc = rc ?: opener_reopen(place, &fd);
	if (!rc)
		out->fds[out->nfds++] = TAKE_FD(fd);
	return rc;
}
