#include "store/store.h"

#include "base/folder.h"
#include "row.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STORE_INIT                                   \
	{                                            \
		.profiles_fd = -1, .segments_fd = -1 \
	}

static int
open_folders(struct store *s)
{
	CLEANUP_FD int fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return folder_make(fd, "profiles", &s->profiles_fd)
	               ?: folder_make(fd, "segments", &s->segments_fd);
}

/* Opens the database that conf names: on a server, or the file in its dir. */
static int
open_db(const struct conf *conf, struct db_options o, struct db **out,
        struct buf *why)
{
	CLEANUP_FREE char *path = NULL;

	o.url = conf->store_database;
	if (o.url && *o.url && !db_is_remote(o.url)) {
		buf_addf(why, "[store] database must be empty, or begin with "
		              "postgres://");
		return -EINVAL;
	}
	if (!o.url || !*o.url) {
		if (asprintf(&path, "%s/" STORE_DB, conf->store_dir) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		o.url = path;
	}
	return db_open(&o, out, why);
}

int
store_look(const struct conf *conf, struct db **out, struct buf *why)
{
	return open_db(conf, (struct db_options){.look = true}, out, why);
}

int
store_look_in(const char *dir, struct db **out, struct buf *why)
{
	return store_look(&(struct conf){.store_dir = (char *)dir}, out, why);
}

static void
close_db(struct db **db)
{
	db_close(*db);
}

int
store_migrate(const struct conf *conf, int64_t *out_version, struct buf *why)
{
	CLEANUP(close_db) struct db *db = NULL;
	struct db_schema schema = {0};
	int rc = open_db(conf, (struct db_options){.migrate = true}, &db, why)
	                 ?: db_schema(db, &schema);

	if (!rc)
		*out_version = schema.version;
	return rc;
}

int
store_open(const struct conf *conf, bool worker, struct store *out,
           struct buf *why)
{
	CLEANUP_STORE struct store s = STORE_INIT;
	int rc = conf_host(conf, s.host);

	s.sends = conf->agent_url && *conf->agent_url;
	s.dir = strdup(conf->store_dir);
	if (!s.dir)
		return -ENOMEM;
	rc = rc ?: open_folders(&s);
	if (rc) {
		buf_addf(why, "%s: %s", s.dir, strerror(-rc));
		return rc;
	}
	rc = open_db(conf, (struct db_options){.checkpoints = worker}, &s.db,
	             why);
	if (rc)
		return rc;
	*out = s;
	s = (struct store)STORE_INIT;
	return 0;
}

int
store_adopt(struct store *s)
{
	int rc = store_begin(s);

	if (rc)
		return rc;
	rc = db_do(s->db, SQL_BLOB_ADOPT, ARGS(V(s->host)))
	             ?: db_do(s->db, SQL_SEGMENT_ADOPT, ARGS(V(s->host)));
	return store_end(s, rc);
}

void
store_close(struct store *s)
{
	db_close(s->db);
	if (s->dir) {
		close_ptr(&s->profiles_fd);
		close_ptr(&s->segments_fd);
	}
	free(s->dir);
	*s = (struct store)STORE_INIT;
}

int
store_refresh(struct store *s)
{
	return db_refresh(s->db);
}

void
store_until(struct store *s, int64_t until_ns)
{
	s->until_ns = until_ns;
	db_until(s->db, until_ns);
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

const char *
store_why(const struct store *s)
{
	return db_why(s->db);
}

int
store_now(struct store *s, int64_t *out_ms)
{
	return row_int(s->db, out_ms, SQL_NOW, NO_ARGS);
}
