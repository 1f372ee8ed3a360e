#include "sqlite.h"

#include "base/clock.h"
#include "base/path.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
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
	case SQLITE_INTERRUPT: /* by is_slow() */
		return -EUCLEAN;
	}
	return -EIO;
}

int
sqlite_errno(struct db *db, int code)
{
	sqlite3 *conn = sqlite_of(db)->link.conn;
	int rc = code_errno(code);

	if (rc == -EUCLEAN)
		snprintf(db->why, sizeof(db->why),
		         "reading its schema takes too long: restore a backup");
	else if (rc) /* it may be another connection's */
		snprintf(db->why, sizeof(db->why), "%s",
		         conn && sqlite3_errcode(conn) == code
		                 ? sqlite3_errmsg(conn)
		                 : sqlite3_errstr(code));
	return rc;
}

static int
text(struct db *db, const char *sql)
{
	return sqlite_errno(db, sqlite3_exec(sqlite_of(db)->link.conn, sql,
	                                     NULL, NULL, NULL));
}

/* Prepares a statement that is kept, unless it has been prepared. */
static int
prepare(struct db *db, const char *sql, sqlite3_stmt **kept)
{
	return *kept ? SQLITE_OK
	             : sqlite3_prepare_v3(sqlite_of(db)->link.conn, sql, -1,
	                                  SQLITE_PREPARE_PERSISTENT, kept,
	                                  NULL);
}

/* As text(), for the statements of every transaction: prepares them once. */
static int
run_kept(struct db *db, const char *sql, sqlite3_stmt **kept)
{
	int code = prepare(db, sql, kept);

	if (code == SQLITE_OK) {
		sqlite3_step(*kept);
		code = sqlite3_reset(*kept);
	}
	return sqlite_errno(db, code);
}

/*
 * Wakes processes that watch the file. SQLite writes to the WAL before the
 * commit is visible, and makes the commit visible without a write, so a
 * process that watches only the WAL would read too early.
 */
static void
announce(struct db *db)
{
	(void)!utimensat(AT_FDCWD, db->name, NULL, 0);
}

static int
begin(struct db *db)
{
	return run_kept(db, "BEGIN IMMEDIATE", &sqlite_of(db)->link.begin);
}

static int
commit(struct db *db)
{
	int rc = run_kept(db, "COMMIT", &sqlite_of(db)->link.commit);

	if (!rc)
		announce(db);
	return rc;
}

/* SQLite itself rolls back after a full disk or a failed read. */
static bool
is_lost(struct db *db)
{
	return sqlite3_get_autocommit(sqlite_of(db)->link.conn);
}

static void
abandon(struct db *db)
{
	if (!is_lost(db))
		(void)!text(db, "ROLLBACK");
}

static int64_t
data_version(struct db *db)
{
	struct sqlite_link *link = &sqlite_of(db)->link;
	int64_t version = -1;

	if (prepare(db, "PRAGMA data_version", &link->version) != SQLITE_OK)
		return -1;
	if (sqlite3_step(link->version) == SQLITE_ROW)
		version = sqlite3_column_int64(link->version, 0);
	sqlite3_reset(link->version);
	return version;
}

static int
wake_fd(struct db *db)
{
	struct sqlite *s = sqlite_of(db);
	CLEANUP_FD int fd = -1;

	if (s->wake_fd >= 0)
		return s->wake_fd;
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0 || inotify_add_watch(fd, db->name, IN_ATTRIB) < 0)
		return -1;
	return s->wake_fd = TAKE_FD(fd);
}

static bool
woken(struct db *db)
{
	int fd = sqlite_of(db)->wake_fd;
	char events[4096];
	bool any = false;

	if (fd < 0) /* earlier commits were not watched */
		return wake_fd(db) >= 0;
	while (read(fd, events, sizeof(events)) > 0)
		any = true;
	return any;
}

/* Interval between moves of the WAL: windows are cut six times meanwhile, and
 * write the same pages, which are then moved once. */
#define UPKEEP_NS        INT64_C(60000000000)
#define SHRINK_PAGES     4096 /* per upkeep: they are written to the WAL */
#define SHRINK_MIN_PAGES 1024

static int64_t
wal_bytes(const struct db *db)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s-wal", db->name);
	return stat(path, &st) ? 0 : st.st_size;
}

/* SQLite calls this after each commit, with the pages of all processes. */
static int
count_wal(void *arg, sqlite3 *conn, const char *name, int pages)
{
	struct sqlite *s = arg;

	(void)conn;
	(void)name;
	s->wal_pages = pages;
	return SQLITE_OK;
}

/* True if the WAL is large. Its file keeps its size when the WAL restarts, so
 * the bytes in use are those of the last commit, or the whole file if it has
 * grown since. */
static bool
is_wal_long(struct db *db)
{
	const struct sqlite *s = sqlite_of(db);
	int64_t bytes = wal_bytes(db);

	return bytes > WAL_MAX_BYTES &&
	       (bytes > s->moved_bytes || s->wal_pages > WAL_MAX_PAGES);
}

/* Reads a PRAGMA that is a number; 0 if it can't be read. */
static int64_t
pragma(sqlite3 *conn, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = 0;

	if (sqlite3_prepare_v2(conn, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

/*
 * Returns free pages to the file system, a batch at a time, when they are a
 * quarter of the file; an eighth stays free for new rows. Returns 1 if there
 * were such pages, or -errno. A file that a release without auto_vacuum
 * created does not shrink: VACUUM converts it (stoker.conf(5)).
 */
static int
shrink(struct db *db)
{
	sqlite3 *conn = sqlite_of(db)->link.conn;
	int64_t pages = pragma(conn, "PRAGMA page_count");
	int64_t unused = pragma(conn, "PRAGMA freelist_count");
	char sql[64];

	if (unused < SHRINK_MIN_PAGES || unused < pages / 4)
		return 0;
	unused -= pages / 8;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)",
	         (int)(unused < SHRINK_PAGES ? unused : SHRINK_PAGES));
	return text(db, sql) ?: 1;
}

static int
upkeep(struct db *db)
{
	struct sqlite *s = sqlite_of(db);
	int64_t now_ns = clock_mono_ns();
	int rc, all, moved;

	assert(s->checkpoints);
	if (now_ns < s->upkeep_ns && !is_wal_long(db))
		return 0;
	s->upkeep_ns = now_ns + UPKEEP_NS;
	rc = shrink(db);
	if (rc < 0)
		return rc;
	if (rc)
		s->upkeep_ns = now_ns;
	/* PASSIVE does not wait; the next writer restarts the WAL once all of
	 * it has been moved */
	rc = sqlite_errno(db, sqlite3_wal_checkpoint_v2(
				      s->link.conn, NULL,
				      SQLITE_CHECKPOINT_PASSIVE, &all, &moved));
	if (!rc && moved == all) {
		s->wal_pages = 0;
		s->moved_bytes = wal_bytes(db);
	}
	return rc;
}

static void
skew_clock(struct db *db, int64_t ms)
{
	sqlite_of(db)->skew_ms = ms;
}

#define JITTER_MIN_NS 50000
#define JITTER_NS     250000
#define WAL_KEEP      "67108864" /* bytes of WAL kept after a checkpoint */
#define DB_MODE       0660
#define SHARED_FIRST  0x40000002 /* os.h of SQLite */
#define SHARED_SIZE   510

/*
 * Waits for 50 to 300 us, at random: with SQLite's fixed delays one of several
 * writers can starve for seconds.
 */
static int
wait_for_lock(void *arg, int tries)
{
	struct timespec t = {0};
	struct sqlite *db = arg;
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
	const struct sqlite *db = sqlite3_user_data(c);

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

/* Lets one process at a time turn on WAL and migrate. A user who may write to
 * the store may have linked the name to a file of root's. */
int
sqlite_lock_setup(const char *path, int *out_fd)
{
	char name[PATH_MAX];
	struct stat st;
	CLEANUP_FD int fd = -1;

	if ((size_t)snprintf(name, sizeof(name), "%s-setup", path) >=
	    sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, DB_MODE);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (st.st_nlink > 1)
		return -EMLINK;
	(void)fchmod(fd, DB_MODE); /* only the owner can; others need not */
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	*out_fd = TAKE_FD(fd);
	return 0;
}

static int
configure_writer(sqlite3 *conn)
{
	/* auto_vacuum must be set before the journal mode and the first table.
	 * Setting it writes to the database each time. */
	static const char empty[] = "PRAGMA auto_vacuum = INCREMENTAL;";
	static const char all[] = "PRAGMA journal_mode = WAL;"
				  "PRAGMA synchronous = FULL;"
				  "PRAGMA journal_size_limit = " WAL_KEEP;
	int rc = SQLITE_OK;

	if (!pragma(conn, "PRAGMA page_count"))
		rc = sqlite3_exec(conn, empty, NULL, NULL, NULL);
	return rc ?: sqlite3_exec(conn, all, NULL, NULL, NULL);
}

#define UNSURE_BYTES  (1 << 20)
#define UNSURE_OPS    1000 /* instructions of SQLite's machine between checks */
#define UNSURE_CPU_NS (2 * NS_PER_S)

static int
is_slow(void *arg)
{
	const struct sqlite *db = arg;

	return clock_cpu_ns() - db->unsure_ns > UNSURE_CPU_NS;
}

/*
 * Limits what a file can make SQLite do before its schema has been compared:
 * SQLite reads statistics with the schema, and Stoker reads the version; both
 * tables may have computed columns.
 */
static void
bound(struct sqlite *db, sqlite3 *conn)
{
	db->unsure_ns = clock_cpu_ns();
	sqlite3_limit(conn, SQLITE_LIMIT_LENGTH, UNSURE_BYTES);
	sqlite3_progress_handler(conn, UNSURE_OPS, is_slow, db);
}

static void
unbound(sqlite3 *conn)
{
	sqlite3_limit(conn, SQLITE_LIMIT_LENGTH, INT_MAX);
	sqlite3_progress_handler(conn, 0, NULL, NULL);
}

static int
configure(struct sqlite *db, sqlite3 *conn)
{
	static const char reading[] = "PRAGMA foreign_keys = ON;"
				      "PRAGMA mmap_size = 0;"
				      "PRAGMA trusted_schema = OFF;";
	const int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;

	bound(db, conn);
	sqlite3_extended_result_codes(conn, 1);
	sqlite3_busy_handler(conn, wait_for_lock, db);
	sqlite3_wal_autocheckpoint(conn, 0);
	sqlite3_wal_hook(conn, count_wal, db);
	sqlite3_db_config(conn, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(conn, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(conn, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	/* otherwise the last close makes a checkpoint */
	sqlite3_db_config(conn, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
	                  !db->checkpoints, NULL);
	return sqlite3_create_function_v2(conn, "now_ms", 0, flags, db, now_ms,
	                                  NULL, NULL, NULL)
	               ?: sqlite3_exec(conn, reading, NULL, NULL, NULL)
	               ?: (db->db.look ? SQLITE_OK : configure_writer(conn));
}

static int
open_conn(struct db *db)
{
	const int flags =
		(db->look ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
		SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
	int code = sqlite3_open_v2(db->name, &sqlite_of(db)->link.conn, flags,
	                           NULL);

	if (code == SQLITE_OK)
		code = configure(sqlite_of(db), sqlite_of(db)->link.conn);
	return sqlite_errno(db, code);
}

/* Fills the empty link with a connection that has every setting. */
static int
connect_file(struct db *db)
{
	CLEANUP_FD int setup = -1;
	struct stat st;
	int rc = db->look ? 0
	                  : sqlite_lock_setup(db->name, &setup)
	                            ?: create_file(db->name);

	if (rc == -EMLINK)
		snprintf(db->why, sizeof(db->why),
		         "%.80s-setup has another hard link: copy the store's "
		         "files instead of linking them",
		         path_name(db->name));
	if (!rc && stat(db->name, &st))
		rc = -errno;
	if (!rc)
		rc = open_conn(db);
	if (rc)
		return rc;
	sqlite_of(db)->link.dev = st.st_dev;
	sqlite_of(db)->link.ino = st.st_ino;
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
	sqlite3_stmt **slot = &sqlite_of(db)->link.stmts[sql];
	int code = prepare(db, sql_queries[sql].text[SQL_SQLITE], slot);

	if (code != SQLITE_OK)
		return sqlite_errno(db, code);
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
	case DB_BYTES:
		return sqlite3_bind_blob64(stmt, i, v->s, (uint64_t)v->i,
		                           SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

static int
query(struct db *db, enum sql sql, const struct db_value *v, size_t n,
      struct db_rows *out)
{
	sqlite3_stmt *stmt = NULL;
	int code = SQLITE_OK, rc = statement(db, sql, &stmt);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && code == SQLITE_OK; i++)
		code = bind(stmt, (int)i + 1, &v[i]);
	if (code != SQLITE_OK)
		return sqlite_errno(db, code);
	*out = (struct db_rows){.db = db, .stmt = stmt};
	return 0;
}

static int
next(struct db_rows *rows)
{
	int rc, code = sqlite3_step(rows->stmt);

	if (code == SQLITE_ROW)
		return 1;
	rc = sqlite_errno(rows->db, code);
	db_finish(rows);
	return rc;
}

static void
finish(struct db_rows *rows)
{
	sqlite3_reset(rows->stmt); /* otherwise the statement keeps its lock */
	sqlite3_clear_bindings(rows->stmt);
}

static int
changes(struct db *db)
{
	return sqlite3_changes(sqlite_of(db)->link.conn);
}

static const char *
col_text(const struct db_rows *rows, int column)
{
	const unsigned char *s = sqlite3_column_text(rows->stmt, column);

	return s ? (const char *)s : "";
}

static int
col_bytes(const struct db_rows *rows, int column, struct buf *out)
{
	const void *p = sqlite3_column_blob(rows->stmt, column);

	buf_add(out, p ?: "", (size_t)sqlite3_column_bytes(rows->stmt, column));
	return buf_err(out);
}

static const char *
col_name(const struct db_rows *rows, int column)
{
	return sqlite3_column_name(rows->stmt, column);
}

static int64_t
col_int(const struct db_rows *rows, int column)
{
	return sqlite3_column_int64(rows->stmt, column);
}

static double
col_real(const struct db_rows *rows, int column)
{
	return sqlite3_column_double(rows->stmt, column);
}

int
sqlite_col_kind(const struct db_rows *rows, int column)
{
	int type = sqlite3_column_type(rows->stmt, column);

	return type == SQLITE_INTEGER ? DB_INT
	       : type == SQLITE_FLOAT ? DB_REAL
	                              : DB_TEXT;
}

static void
disconnect(struct sqlite_link *link)
{
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(link->stmts[i]);
	sqlite3_finalize(link->version);
	sqlite3_finalize(link->begin);
	sqlite3_finalize(link->commit);
	sqlite3_close(link->conn);
	*link = (struct sqlite_link){0};
}

static void
close_file(struct db *db)
{
	struct sqlite *s = sqlite_of(db);

	disconnect(&s->link);
	close_ptr(&s->wake_fd);
	free(db->name);
	free(s);
}

static int
open_file(const struct db_options *o, struct db **out)
{
	struct sqlite *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->db.driver = &db_sqlite;
	s->db.look = o->look;
	s->checkpoints = o->checkpoints;
	s->wake_fd = -1;
	s->jitter = (uint32_t)getpid();
	*out = &s->db;
	s->db.name = strdup(o->url);
	return s->db.name ? connect_file(&s->db) : -ENOMEM;
}

static int
reopen(struct db *db)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct sqlite *s = sqlite_of(db);
	struct sqlite_link old = s->link;
	struct stat st;
	int rc;

	if (stat(db->name, &st))
		return -errno;
	if (st.st_ino == old.ino && st.st_dev == old.dev)
		return 0;
	s->link = (struct sqlite_link){0};
	rc = connect_file(db) ?: db_check_schema(db, false, &why);
	if (!rc) {
		disconnect(&old);
		close_ptr(&s->wake_fd); /* it watched the old file */
		return 0;
	}
	disconnect(&s->link);
	s->link = old;
	if (why.len)
		snprintf(db->why, sizeof(db->why), "%s", buf_str(&why));
	return rc;
}

static int
differs(struct db *db, int version, char *what, size_t size)
{
	sqlite3 *conn = sqlite_of(db)->link.conn;
	int rc = sqlite_errno(db, sqlite_differs(conn, version, what, size));

	if (!rc && !*what)
		unbound(conn);
	return rc ?: *what != 0;
}

const struct db_driver db_sqlite = {
	.dialect = SQL_SQLITE,
	.migrates = true,
	.open = open_file,
	.close = close_file,
	.refresh = reopen,
	.differs = differs,
	.text = text,
	.begin = begin,
	.commit = commit,
	.abandon = abandon,
	.is_lost = is_lost,
	.query = query,
	.next = next,
	.finish = finish,
	.changes = changes,
	.announce = announce,
	.col_text = col_text,
	.col_int = col_int,
	.col_real = col_real,
	.col_bytes = col_bytes,
	.col_name = col_name,
	.data_version = data_version,
	.wake_fd = wake_fd,
	.woken = woken,
	.upkeep = upkeep,
	.skew_clock = skew_clock,
};
