#include "orphans.h"

#include "base/clock.h"
#include "base/folder.h"
#include "base/id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A regular file that nobody has written to for so long. */
static bool
is_old(int dir_fd, const char *name, int64_t age_ms)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode) &&
	       st.st_mtim.tv_sec * MS_PER_S + st.st_mtim.tv_nsec / NS_PER_MS +
	                       age_ms <=
	               clock_wall_ms();
}

/* 1, 0 or -errno. */
static int
is_known(struct db *db, enum sql known, const char *file)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	char id[ID_MAX];
	int rc;

	snprintf(id, sizeof(id), "%.*s", (int)strcspn(file, "."), file);
	rc = db_query(db, known, ARGS(V(id)), &rows);
	return rc ? rc : db_next(&rows);
}

static bool
is_hidden(const char *name)
{
	return name[0] == '.' && name[1];
}

int
orphans_each(struct db *db, int dir_fd, const char *name, enum sql known,
             int64_t orphan_ms, orphans_found *found, void *arg)
{
	CLEANUP_FOLDER DIR *d = NULL;
	const struct dirent *e;
	int rc = is_hidden(name) ? 0 : folder_open(dir_fd, name, &d);

	while (!rc && d && (e = readdir(d))) {
		if (e->d_name[0] == '.' ||
		    !is_old(dirfd(d), e->d_name, orphan_ms))
			continue;
		rc = is_known(db, known, e->d_name);
		rc = rc < 0 ? rc : rc ? 0 : found(arg, dirfd(d), e->d_name);
	}
	return rc == -ENOTDIR ? 0 : rc;
}

static int
sweep_one(void *arg, int dir_fd, const char *file)
{
	int *n = arg;

	*n += !unlinkat(dir_fd, file, 0);
	return 0;
}

int
orphans_sweep(struct db *db, int dir_fd, const char *name, enum sql known,
              int64_t orphan_ms, int *n)
{
	return orphans_each(db, dir_fd, name, known, orphan_ms, sweep_one, n);
}
