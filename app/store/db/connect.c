#include "sqlite.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define JITTER_MIN_NS 50000
#define JITTER_NS     250000
#define WAL_KEEP      "67108864" /* bytes of WAL kept after a checkpoint */
#define DB_MODE       0660
#define SHARED_FIRST  0x40000002 /* os.h of SQLite */
#define SHARED_SIZE   510

/*
 * Waits 50 to 300 us, at random: with SQLite's own fixed delays one of
 * several writers starves for seconds.
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

/* Turning WAL on and migrating are one process's work at a time. */
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
	(void)fchmod(fd, DB_MODE); /* fails for all but its owner: fine */
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
	/* closing last would checkpoint, too */
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

int
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
