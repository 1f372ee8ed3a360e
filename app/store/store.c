#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROFILES_MODE 02770 /* what the API uploads, the worker unlinks */

static int
open_profiles(const char *dir, int *out)
{
	CLEANUP_FD int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (dir_fd < 0)
		return -errno;
	if (!mkdirat(dir_fd, "profiles", 0770))
		(void)fchmodat(dir_fd, "profiles", PROFILES_MODE, 0);
	else if (errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, "profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*out = fd;
	return 0;
}

int
store_open(const char *dir, bool worker, struct store *out, struct buf *why)
{
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	CLEANUP_FREE char *path = NULL;
	struct db_options o = {.checkpoints = worker};
	int rc;

	s.dir = strdup(dir);
	if (!s.dir || asprintf(&path, "%s/stoker.db", dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	rc = open_profiles(dir, &s.profiles_fd);
	if (rc) {
		buf_addf(why, "%s: %s", dir, strerror(-rc));
		return rc;
	}
	o.path = path;
	rc = db_open(&o, &s.db, why);
	if (rc)
		return rc;
	*out = s;
	s = (struct store){.profiles_fd = -1};
	return 0;
}

void
store_close(struct store *s)
{
	db_close(s->db);
	free(s->dir);
	if (s->profiles_fd >= 0 && s->dir)
		close(s->profiles_fd);
	*s = (struct store){.profiles_fd = -1};
}

int
store_refresh(struct store *s)
{
	return db_refresh(s->db);
}

int
store_begin(struct store *s)
{
	return db_begin(s->db);
}

int
store_commit(struct store *s)
{
	return db_commit(s->db);
}

void
store_rollback(struct store *s)
{
	db_rollback(s->db);
}

int
store_end(struct store *s, int rc)
{
	if (!rc)
		return db_commit(s->db);
	db_rollback(s->db);
	return rc;
}

int
store_now(struct store *s, int64_t *out_ms)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_NOW, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc < 0)
		return rc;
	*out_ms = db_col_int(&rows, 0);
	return 0;
}
