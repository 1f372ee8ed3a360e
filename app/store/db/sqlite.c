#include "sqlite.h"

#include "base/clock.h"
#include "db_test.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int
constraint_errno(int code)
{
	switch (code) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return -EEXIST;
	}
	return -EINVAL;
}

/* Source: https://sqlite.org/rescode.html */
static int
code_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CONSTRAINT:
		return constraint_errno(code);
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EACCES;
	}
	return -EIO;
}

int
sqlite_errno(struct db *db, int code)
{
	int rc = code_errno(code);

	if (rc)
		snprintf(db->why, sizeof(db->why), "%s",
		         db->link.conn ? sqlite3_errmsg(db->link.conn)
		                       : sqlite3_errstr(code));
	return rc;
}

/* Runs a statement outside sql/query: BEGIN, PRAGMA, a migration. */
static int
sqlite_do(struct db *db, const char *text)
{
	return sqlite_errno(
		db, sqlite3_exec(db->link.conn, text, NULL, NULL, NULL));
}

/*
 * Wakes processes that watch the file. SQLite's own last write happens before
 * the commit is visible, and the step that makes it visible is no write: who
 * watched only the WAL would look too early.
 */
static void
sqlite_announce(struct db *db)
{
	(void)!utimensat(AT_FDCWD, db->path, NULL, 0);
}

int
db_begin(struct db *db)
{
	int rc = 0;

	if (!db->depth) {
		db->doomed = false;
		rc = sqlite_do(db, "BEGIN IMMEDIATE");
	}
	if (!rc)
		db->depth++;
	return rc;
}

/* True when a transaction can only be rolled back. SQLite itself rolls back
 * after a full disk or a failed read. */
static bool
is_doomed(struct db *db)
{
	return db->doomed || sqlite3_get_autocommit(db->link.conn);
}

static void
abandon(struct db *db)
{
	if (!sqlite3_get_autocommit(db->link.conn))
		(void)sqlite3_exec(db->link.conn, "ROLLBACK", NULL, NULL, NULL);
}

int
db_commit(struct db *db)
{
	int rc;

	assert(db->depth > 0);
	if (--db->depth)
		return is_doomed(db) ? -ECANCELED : 0;
	rc = is_doomed(db) ? -ECANCELED : sqlite_do(db, "COMMIT");
	if (rc)
		abandon(db);
	else
		sqlite_announce(db);
	return rc;
}

void
db_rollback(struct db *db)
{
	assert(db->depth > 0);
	db->doomed = true;
	if (!--db->depth)
		abandon(db);
}

int64_t
db_data_version(struct db *db)
{
	sqlite3_stmt **stmt = &db->link.version;
	int64_t version = -1;

	if (!*stmt && sqlite3_prepare_v3(db->link.conn, "PRAGMA data_version",
	                                 -1, SQLITE_PREPARE_PERSISTENT, stmt,
	                                 NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(*stmt) == SQLITE_ROW)
		version = sqlite3_column_int64(*stmt, 0);
	sqlite3_reset(*stmt);
	return version;
}

int
db_checkpoint(struct db *db)
{
	assert(db->checkpoints && !db->depth);
	/* passive: does not wait; the next writer restarts the WAL when all of
	 * it was moved */
	return sqlite_errno(db, sqlite3_wal_checkpoint_v2(
					db->link.conn, NULL,
					SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
}

const char *
db_why(const struct db *db)
{
	return db->why;
}

void
db_fail_after(struct db *db, int n)
{
	db->fail_after = n;
}

void
db_skew_clock(struct db *db, int64_t ms)
{
	db->skew_ms = ms;
}

#define JITTER_MIN_NS 50000
#define JITTER_NS     250000
#define WAL_KEEP      "67108864" /* bytes of WAL kept after a checkpoint */
#define DB_MODE       0660
#define SHARED_FIRST  0x40000002 /* os.h of SQLite */
#define SHARED_SIZE   510

/*
 * Waits 50 to 300 us at random: with SQLite's fixed delays one of several
 * writers starves for seconds.
 */
static int
wait_for_lock(void *arg, int tries)
{
	struct timespec t = {0};
	struct db *db = arg;
	int64_t now = clock_mono_ns();

	if (!tries)
		db->busy_since_ns = now;
	if (now - db->busy_since_ns > DB_BUSY_MAX_MS * NS_PER_MS)
		return 0;
	db->jitter = db->jitter * 1664525u + 1013904223u; /* Knuth's LCG */
	t.tv_nsec = JITTER_MIN_NS + (db->jitter >> 8) % JITTER_NS;
	nanosleep(&t, NULL);
	return 1;
}

static void
now_ms(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const struct db *db = sqlite3_user_data(c);

	(void)argc, (void)argv;
	sqlite3_result_int64(c, clock_wall_ms() + db->skew_ms);
}

/* Creates the file with the mode that -wal and -shm will copy. */
static int
create_file(const char *path)
{
	CLEANUP_FD int fd =
		open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, DB_MODE);

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	return fchmod(fd, DB_MODE) ? -errno : 0;
}

/* Lets one process at a time turn on WAL and migrate. */
int
sqlite_lock_setup(const char *path, int *out_fd)
{
	char name[PATH_MAX];
	CLEANUP_FD int fd = -1;

	if ((size_t)snprintf(name, sizeof(name), "%s-setup", path) >=
	    sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, DB_MODE);
	if (fd < 0)
		return -errno;
	(void)fchmod(fd, DB_MODE); /* only the owner can; others need not */
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	*out_fd = TAKE_FD(fd);
	return 0;
}

static int
configure(struct db *db, sqlite3 *conn)
{
	static const char reading[] = "PRAGMA foreign_keys = ON;"
				      "PRAGMA mmap_size = 0;"
				      "PRAGMA trusted_schema = OFF;";
	static const char writing[] = "PRAGMA journal_mode = WAL;"
				      "PRAGMA synchronous = FULL;"
				      "PRAGMA journal_size_limit = " WAL_KEEP;
	const int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;

	sqlite3_extended_result_codes(conn, 1);
	sqlite3_busy_handler(conn, wait_for_lock, db);
	sqlite3_wal_autocheckpoint(conn, 0);
	sqlite3_db_config(conn, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(conn, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(conn, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	/* the last close would checkpoint, too */
	sqlite3_db_config(conn, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
	                  !db->checkpoints, NULL);
	return sqlite3_create_function_v2(conn, "now_ms", 0, flags, db, now_ms,
	                                  NULL, NULL, NULL)
	               ?: sqlite3_exec(conn, reading, NULL, NULL, NULL)
	               ?: db->look ? SQLITE_OK
	                           : sqlite3_exec(conn, writing, NULL, NULL,
	                                          NULL);
}

static int
open_conn(struct db *db)
{
	const int flags =
		(db->look ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
		SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
	int code = sqlite3_open_v2(db->path, &db->link.conn, flags, NULL);

	if (code == SQLITE_OK)
		code = configure(db, db->link.conn);
	return sqlite_errno(db, code);
}

/* Fills the empty db->link with a connection that has every setting. */
static int
sqlite_connect(struct db *db)
{
	CLEANUP_FD int setup = -1;
	struct stat st;
	int rc = db->look ? 0
	                  : sqlite_lock_setup(db->path, &setup)
	                            ?: create_file(db->path);

	if (!rc && stat(db->path, &st))
		rc = -errno;
	if (!rc)
		rc = open_conn(db);
	if (rc)
		return rc;
	db->link.dev = st.st_dev;
	db->link.ino = st.st_ino;
	return 0;
}

int
sqlite_in_use(const char *path, pid_t *out)
{
	struct flock l = {.l_type = F_WRLCK,
	                  .l_whence = SEEK_SET,
	                  .l_start = SHARED_FIRST,
	                  .l_len = SHARED_SIZE};
	CLEANUP_FD int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fcntl(fd, F_GETLK, &l))
		return -errno;
	*out = l.l_type == F_UNLCK ? 0 : l.l_pid > 0 ? l.l_pid : -1;
	return 0;
}

static int
statement(struct db *db, enum sql sql, sqlite3_stmt **out)
{
	sqlite3_stmt **slot = &db->link.stmts[sql];

	if (db->fail_after && !--db->fail_after) {
		snprintf(db->why, sizeof(db->why), "failed on purpose");
		return -EIO;
	}
	if (!*slot) {
		int code = sqlite3_prepare_v3(
			db->link.conn, sql_queries[sql].text[SQL_SQLITE], -1,
			SQLITE_PREPARE_PERSISTENT, slot, NULL);

		if (code != SQLITE_OK)
			return sqlite_errno(db, code);
	}
	assert(!sqlite3_stmt_busy(*slot));
	*out = *slot;
	return 0;
}

static int
bind(sqlite3_stmt *stmt, int i, const struct db_value *v)
{
	switch (v->kind) {
	case DB_INT:
		return sqlite3_bind_int64(stmt, i, v->i);
	case DB_REAL:
		return sqlite3_bind_double(stmt, i, v->r);
	case DB_TEXT:
		return sqlite3_bind_text(stmt, i, v->s, -1, SQLITE_TRANSIENT);
	}
	return SQLITE_MISUSE;
}

int
db_query(struct db *db, enum sql sql, const struct db_value *v, size_t n,
         struct db_rows *out)
{
	sqlite3_stmt *stmt = NULL;
	int code = SQLITE_OK, rc = statement(db, sql, &stmt);

	if (rc)
		return rc;
	assert((int)n == sql_queries[sql].nparams);
	for (size_t i = 0; i < n && code == SQLITE_OK; i++)
		code = bind(stmt, (int)i + 1, &v[i]);
	if (code != SQLITE_OK)
		return sqlite_errno(db, code);
	*out = (struct db_rows){.db = db, .stmt = stmt};
	return 0;
}

int
db_next(struct db_rows *rows)
{
	int rc, code = sqlite3_step(rows->stmt);

	if (code == SQLITE_ROW)
		return 1;
	rc = sqlite_errno(rows->db, code);
	db_finish(rows);
	return rc;
}

void
db_finish(struct db_rows *rows)
{
	if (!rows->stmt)
		return;
	sqlite3_reset(rows->stmt); /* or the statement would keep its lock */
	sqlite3_clear_bindings(rows->stmt);
	rows->stmt = NULL;
}

int
db_run(struct db *db, enum sql sql, const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(db, sql, v, n, &rows);

	while (!rc && (rc = db_next(&rows)) > 0)
		rc = 0;
	if (rc)
		return rc;
	rc = sqlite3_changes(db->link.conn);
	if (rc && !db->depth)
		sqlite_announce(db);
	return rc;
}

const char *
db_col_text(const struct db_rows *rows, int column)
{
	const unsigned char *s = sqlite3_column_text(rows->stmt, column);

	return s ? (const char *)s : "";
}

const char *
db_col_name(const struct db_rows *rows, int column)
{
	return sqlite3_column_name(rows->stmt, column);
}

int64_t
db_col_int(const struct db_rows *rows, int column)
{
	return sqlite3_column_int64(rows->stmt, column);
}

double
db_col_real(const struct db_rows *rows, int column)
{
	return sqlite3_column_double(rows->stmt, column);
}

/* Reads the one row of a statement: n whole numbers. */
static int
ask(struct db *db, enum sql sql, int64_t *out, int n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(db, sql, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	for (int i = 0; i < n && rc > 0; i++)
		out[i] = db_col_int(&rows, i);
	return rc < 0 ? rc : 0;
}

/* Returns 0, 0 for a new database. */
int
db_schema(struct db *db, struct db_schema *out)
{
	int64_t exists = 0, v[2] = {0, 0};
	int rc = ask(db, SQL_SCHEMA_EXISTS, &exists, 1);

	if (!rc && exists)
		rc = ask(db, SQL_SCHEMA_VERSION, v, 2);
	if (rc)
		return rc;
	*out = (struct db_schema){v[0], v[1]};
	return 0;
}

static int
apply(struct db *db, int version)
{
	const struct sql_migration *m = &sql_migrations[version];
	int rc = sqlite_do(db, m->text[SQL_SQLITE]);

	if (!rc)
		rc = db_run(db, SQL_SCHEMA_APPLIED,
		            ARGS(V(version + 1), V(m->compatible), V(m->name)));
	return rc < 0 ? rc : 0;
}

/* Reads the schema, and refuses one that a later release has made unusable for
 * this release. */
static int
usable_schema(struct db *db, struct db_schema *out, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = db_schema(db, &schema);

	if (!rc && schema.compatible > SQL_VERSION) {
		buf_addf(why,
		         "%s was changed by a newer release of Stoker: it has "
		         "schema %lld, and Stoker " STOKER_VERSION
		         " knows schema %d; install the newer release again, "
		         "or restore a backup made before the upgrade (stoker "
		         "restore)",
		         db->path, (long long)schema.version, SQL_VERSION);
		rc = -EPROTONOSUPPORT;
	}
	if (!rc)
		*out = schema;
	return rc;
}

static int
upgrade(struct db *db, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = usable_schema(db, &schema, why);

	for (; !rc && schema.version < SQL_VERSION; schema.version++)
		rc = apply(db, (int)schema.version);
	return rc;
}

/* Brings the schema up to date; *why gets one line when it can't be used. */
static int
sqlite_migrate(struct db *db, struct buf *why)
{
	int rc = db_begin(db);

	if (!rc) {
		rc = upgrade(db, why);
		if (rc)
			db_rollback(db);
		else
			rc = db_commit(db);
	}
	if (rc && !why->len)
		buf_addf(why, "%s: %s", db->path, db->why);
	return rc;
}

/* Refuses a schema that this release can't use; changes nothing. */
static int
sqlite_look(struct db *db, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = usable_schema(db, &schema, why);

	if (!rc && !schema.version) {
		buf_addf(why, "%s is not a database of Stoker", db->path);
		rc = -EMEDIUMTYPE;
	}
	if (rc && !why->len)
		buf_addf(why, "%s: %s", db->path, db->why);
	return rc;
}

static void
disconnect(struct sqlite_link *link)
{
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(link->stmts[i]);
	sqlite3_finalize(link->version);
	sqlite3_close(link->conn);
	*link = (struct sqlite_link){0};
}

static int
connect_and_migrate(struct db *db, struct buf *why)
{
	int rc = sqlite_connect(db);

	if (rc)
		buf_addf(why, "%s: %s", db->path,
		         *db->why ? db->why : strerror(-rc));
	if (rc)
		return rc;
	return db->look ? sqlite_look(db, why) : sqlite_migrate(db, why);
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	disconnect(&db->link);
	free(db->path);
	free(db);
}

static void
close_db(struct db **db)
{
	db_close(*db);
}

int
db_open(const struct db_options *o, struct db **out, struct buf *why)
{
	CLEANUP(close_db) struct db *db = calloc(1, sizeof(*db));
	int rc;

	if (!db || !(db->path = strdup(o->path)))
		return -ENOMEM;
	db->checkpoints = o->checkpoints;
	db->look = o->look;
	db->jitter = (uint32_t)getpid();
	rc = connect_and_migrate(db, why);
	if (rc)
		return rc;
	*out = TAKE(db);
	return 0;
}

int
db_refresh(struct db *db)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct sqlite_link old = db->link;
	struct stat st;
	int rc;

	assert(!db->depth);
	if (stat(db->path, &st))
		return -errno;
	if (st.st_ino == old.ino && st.st_dev == old.dev)
		return 0;
	db->link = (struct sqlite_link){0};
	rc = connect_and_migrate(db, &why);
	if (!rc) {
		disconnect(&old);
		return 0;
	}
	disconnect(&db->link);
	db->link = old;
	snprintf(db->why, sizeof(db->why), "%s", buf_str(&why));
	return rc;
}
