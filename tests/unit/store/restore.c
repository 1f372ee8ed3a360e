/*
 * Backups that replace stores: when they may, with which permissions, and with
 * which contents.
 * On SQLite alone.
 */
#include "store/backup.h"

#include "lib/faults.h"
#include "lib/stock.h"
#include "store/job.h"
#include "store/session.h"
#include "store/window.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void
open_store(const char *dir, struct store *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf conf = test_conf(dir);
	int rc = store_open(&conf, true, out, &why);

	ck_assert_msg(!rc, "%s", buf_str(&why));
}

/* Makes a store without profiles. */
static void
make_store(const char *dir)
{
	CLEANUP_STORE struct store s = {.profiles_fd = -1};

	ck_assert_int_eq(mkdir(dir, 02770), 0);
	open_store(dir, &s);
}

static bool
is_there(const char *dir, const char *name)
{
	return !access(stock_path(dir, name), F_OK);
}

static void
touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

TEST(a_restored_store_has_every_byte)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	CLEANUP_SERIES_LIST struct series_list series = {0};
	CLEANUP_WINDOWS struct window_list windows = {0};
	const struct series_filter all = {TEST_TENANT, "", "", ""};

	stock_backup(&k);
	ck_assert_int_eq(stock_restore(&k, k.restored, false).backup.files,
	                 STOCK_PROFILES);
	stock_whole(k.restored, false);
	open_store(k.restored, &s);
	for (int i = 0; i < STOCK_PROFILES; i++) {
		CLEANUP_BUF struct buf was = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf is = BUF_INIT(BUF_MAX_SMALL);

		stock_read(&k.t.s, k.profile[i], &was);
		stock_read(&s, k.profile[i], &is);
		ck_assert_uint_gt(was.len, 0);
		ck_assert_str_eq(buf_str(&is), buf_str(&was));
	}
	ck_assert_int_eq(series_list(&s, &all, &series), 0);
	ck_assert_int_eq(window_between(&s, series.items[0].id, WINDOW_CAPTURED,
	                                0, INT64_MAX, &windows),
	                 0);
	ck_assert_uint_eq(windows.n, STOCK_WINDOWS);
	for (int i = 0; i < STOCK_WINDOWS; i++) {
		CLEANUP_BUF struct buf is = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(window_read(&s, &windows.items[i], &is), 0);
		ck_assert_uint_eq(is.len, STOCK_WINDOW);
		ck_assert_int_eq(is.p[STOCK_WINDOW - 1], 'a' + i);
	}
}
END

TEST(a_store_shows_the_moment_of_its_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char later[ID_MAX];

	stock_backup(&k);
	stock_profile(&k.t.s, "later", later);
	ck_assert_int_eq(session_delete(&k.t.s, TEST_TENANT, k.profile[0]), 0);
	stock_restore(&k, k.restored, false);
	open_store(k.restored, &s);
	stock_read(&s, later, &text);
	ck_assert_uint_eq(text.len, 0);
	stock_read(&s, k.profile[0], &text);
	ck_assert_str_eq(buf_str(&text), "profile 0");
}
END

TEST(a_store_with_data_is_refused_and_left_alone)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	make_store(k.restored);
	stock_refuse(&k, k.restored, false, -EEXIST, "--replace");
	stock_whole(k.restored, false);
	ck_assert(!is_there(k.root, "restored.restoring"));
}
END

TEST(the_log_of_a_lost_database_is_data)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	ck_assert_int_eq(mkdir(k.restored, 0700), 0);
	touch(stock_path(k.restored, "stoker.db-wal"));
	stock_refuse(&k, k.restored, false, -EEXIST, "has data");
}
END

TEST(profiles_whose_database_is_lost_are_in_nobodys_way)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	stock_restore(&k, k.restored, false);
	ck_assert_int_eq(unlink(stock_path(k.restored, "stoker.db")), 0);
	stock_restore(&k, k.restored, false);
	stock_whole(k.restored, false);
}
END

TEST(what_a_replaced_store_held_is_beside_it)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct stock_restored o;
	char later[ID_MAX];
	const char *when;

	stock_backup(&k);
	stock_restore(&k, k.restored, false);
	open_store(k.restored, &s);
	stock_profile(&s, "since", later);
	store_close(&s);
	o = stock_restore(&k, k.restored, true);
	when = strstr(o.aside, "restored.before-restore-2");
	ck_assert_ptr_nonnull(when);
	when += strlen("restored.before-restore-");
	ck_assert_str_eq(when + strcspn(when, "-:"), ""); /* a plain name */
	open_store(k.restored, &s);
	stock_read(&s, later, &text);
	ck_assert_uint_eq(text.len, 0);
	store_close(&s);
	open_store(o.aside, &s);
	stock_read(&s, later, &text);
	ck_assert_str_eq(buf_str(&text), "since");
	ck_assert(!is_there(k.root, "restored.restoring"));
}
END

static int
refuse_to_move(void *arg, const char *call, const char *path)
{
	const char *of = arg;

	return strncmp(call, "rename", 6) || !strstr(path, of) ? 0 : EACCES;
}

/* The two renames by which the stores change places. */
static const char *const steps[] = {"before-restore", "/restored"};

TEST(a_store_that_cannot_be_moved_stays_and_the_next_try_replaces_it)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		CLEANUP_STOCK struct stock k = stock();

		stock_backup(&k);
		make_store(k.restored);
		fault_watch(refuse_to_move, (void *)steps[i]);
		stock_refuse(&k, k.restored, true, -EACCES, "can't be moved");
		fault_rest();
		stock_whole(k.restored, false);
		stock_restore(&k, k.restored, true);
		stock_restore(&k, k.restored, true); /* at once */
		ck_assert(!is_there(k.root, "restored.restoring"));
	}
}
END

TEST(what_is_the_hosts_stays_in_place)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	make_store(k.restored);
	touch(stock_path(k.restored, "worker-here.lock"));
	ck_assert_int_eq(mkdir(stock_path(k.restored, "debuginfod"), 0750), 0);
	touch(stock_path(k.restored, "debuginfod/aabb.debug"));
	stock_restore(&k, k.restored, true);
	ck_assert(is_there(k.restored, "worker-here.lock"));
	ck_assert(is_there(k.restored, "debuginfod/aabb.debug"));
}
END

TEST(a_link_to_a_store_stays_one)
{
	CLEANUP_STOCK struct stock k = stock();
	char link_to[128];
	struct stock_restored o;
	struct stat st;

	stock_backup(&k);
	make_store(k.restored);
	snprintf(link_to, sizeof(link_to), "%s/link", k.root);
	ck_assert_int_eq(symlink(k.restored, link_to), 0);
	o = stock_restore(&k, link_to, true);
	ck_assert_int_eq(strncmp(o.aside, k.restored, strlen(k.restored)), 0);
	ck_assert_int_eq(lstat(link_to, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	stock_whole(k.restored, false);
}
END

/* A process that keeps the store open until it is asked to end. */
struct holder {
	pid_t pid;
	int end;
};

static struct holder
hold(const char *dir)
{
	struct holder h;
	int ready[2], end[2];
	char c;

	ck_assert_int_eq(pipe2(ready, 0), 0);
	ck_assert_int_eq(pipe2(end, 0), 0);
	h.pid = fork();
	if (!h.pid) {
		struct store s;

		close(end[1]);
		open_store(dir, &s);
		ck_assert_int_eq(write(ready[1], "r", 1), 1);
		_exit(read(end[0], &c, 1) ? 1 : 0);
	}
	close(ready[1]);
	close(end[0]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	h.end = end[1];
	return h;
}

static void
let_go(struct holder h)
{
	close(h.end);
	ck_assert_int_eq(waitpid(h.pid, NULL, 0), h.pid);
}

TEST(a_store_that_a_process_has_open_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();
	struct holder h;
	char pid[32];

	stock_backup(&k);
	make_store(k.restored);
	h = hold(k.restored);
	snprintf(pid, sizeof(pid), "process %d", (int)h.pid);
	stock_refuse(&k, k.restored, true, -EBUSY, pid);
	stock_refuse(&k, k.restored, false, -EBUSY, pid);
	let_go(h);
	stock_restore(&k, k.restored, true);
}
END

/* A process that opens the store on request. */
struct newcomer {
	pid_t pid;
	int go;
};

static struct newcomer
newcomer(const struct stock *k)
{
	struct newcomer n;
	int go[2];
	char c;

	ck_assert_int_eq(pipe2(go, 0), 0);
	n.pid = fork();
	if (!n.pid) {
		struct store s;
		struct blob b;

		ck_assert_int_eq(read(go[0], &c, 1), 1);
		open_store(k->restored, &s);
		_exit(blob_of_session(&s, k->profile[0], BLOB_PPROF, &b) != 0);
	}
	close(go[0]);
	n.go = go[1];
	return n;
}

/* Source: proc_locks(5); "->" marks a waiting lock */
static bool
waits_for_a_lock(pid_t pid)
{
	FILE *f = fopen("/proc/locks", "r");
	char line[256], want[32];
	bool waits = false;

	ck_assert_ptr_nonnull(f);
	snprintf(want, sizeof(want), " %d ", (int)pid);
	while (fgets(line, sizeof(line), f))
		waits |= strstr(line, "->") && strstr(line, want);
	fclose(f);
	return waits;
}

static int
start_program(void *arg, const char *call, const char *path)
{
	struct newcomer *n = arg;

	(void)path;
	if (strcmp(call, "sendfile") || n->go < 0)
		return 0;
	ck_assert_int_eq(write(n->go, "g", 1), 1);
	close(n->go);
	n->go = -1;
	while (!waits_for_a_lock(n->pid)) {
		ck_assert_int_eq(waitpid(n->pid, NULL, WNOHANG), 0);
		sched_yield();
	}
	return 0;
}

TEST(a_program_that_starts_meanwhile_gets_the_restored_store)
{
	CLEANUP_STOCK struct stock k = stock();
	struct newcomer n = newcomer(&k);
	int status;

	stock_backup(&k);
	fault_watch(start_program, &n);
	stock_restore(&k, k.restored, false);
	fault_rest();
	ck_assert_int_eq(waitpid(n.pid, &status, 0), n.pid);
	ck_assert_int_eq(status, 0);
}
END

static int
make_database(void *arg, const char *call, const char *path)
{
	const struct stock *k = arg;

	if (!strcmp(call, "renameat2") && !strcmp(path, "stoker.db"))
		touch(stock_path(k->restored, "stoker.db"));
	return 0;
}

TEST(a_database_that_appears_meanwhile_is_not_overwritten)
{
	CLEANUP_STOCK struct stock k = stock();
	struct stat st;

	stock_backup(&k);
	fault_watch(make_database, &k);
	stock_refuse(&k, k.restored, false, -EEXIST, k.restored);
	fault_rest();
	ck_assert_int_eq(stat(stock_path(k.restored, "stoker.db"), &st), 0);
	ck_assert_int_eq(st.st_size, 0);
}
END

TEST(a_directory_without_a_backup_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_refuse(&k, k.restored, false, -ENOENT, k.backup);
	ck_assert_int_eq(mkdir(k.backup, 0700), 0);
	stock_refuse(&k, k.restored, false, -ENOMEDIUM, "no complete backup");
	ck_assert(!is_there(k.root, "restored"));
}
END

TEST(a_damaged_backup_is_refused_before_anything_changes)
{
	CLEANUP_STOCK struct stock k = stock();
	char folder[64], file[128];

	stock_backup(&k);
	make_store(k.restored);
	stock_file(&k, 0, folder, file);
	ck_assert_int_eq(truncate(stock_path(k.backup, file), 3), 0);
	stock_refuse(&k, k.restored, true, -EUCLEAN, file);
	stock_whole(k.restored, false);
	ck_assert(!is_there(k.root, "restored.restoring"));
}
END

/* Puts a pipe in place of a file, on which a reader would wait. */
static void
make_pipe(const char *path)
{
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

TEST(a_backup_of_pipes_is_refused_and_not_waited_for)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	make_pipe(stock_path(k.backup, "backup.lock"));
	make_pipe(stock_database(&k));
	stock_refuse(&k, k.restored, false, -EUCLEAN, "it is not a file");
	make_pipe(stock_path(k.backup, "manifest.json"));
	stock_refuse(&k, k.restored, false, -ENOMEDIUM, "no complete backup");
	ck_assert(!is_there(k.root, "restored"));
}
END

TEST(a_backup_of_a_newer_schema_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();
	char sql[128];

	stock_backup(&k);
	snprintf(sql, sizeof(sql),
	         "INSERT INTO migration VALUES (%d, %d, 'later', 0)",
	         SQL_VERSION + 1, SQL_VERSION + 1);
	stock_sql(stock_database(&k), sql);
	stock_refuse(&k, k.restored, false, -EPROTONOSUPPORT,
	             "install the newer");
	ck_assert(!is_there(k.root, "restored"));
}
END

TEST(a_backup_of_a_schema_that_no_release_has_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	stock_sql(stock_database(&k),
	          "UPDATE migration SET version = -version");
	stock_agree(&k);
	stock_refuse(&k, k.restored, false, -EUCLEAN, "no release");
	ck_assert(!is_there(k.root, "restored"));
}
END

#define OLD_SCHEMA 8

/* Gives the backup a database of an older release. */
static void
make_older(const struct stock *k)
{
	char path[512], sql[128];

	snprintf(path, sizeof(path), "%s", stock_database(k));
	ck_assert_int_eq(unlink(path), 0);
	for (int i = 0; i < OLD_SCHEMA; i++) {
		stock_sql(path, sql_migrations[i].text[SQL_SQLITE]);
		snprintf(sql, sizeof(sql),
		         "INSERT INTO migration VALUES (%d, 1, 'm', 0)", i + 1);
		stock_sql(path, sql);
	}
	stock_agree(k);
}

TEST(a_backup_of_an_older_schema_is_migrated_when_it_is_opened)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	struct db_schema schema;

	stock_backup(&k);
	make_older(&k);
	ck_assert_int_eq(stock_restore(&k, k.restored, false).rc, 0);
	open_store(k.restored, &s);
	ck_assert_int_eq(db_schema(s.db, &schema), 0);
	ck_assert_int_eq(schema.version, SQL_VERSION);
	stock_whole(k.restored, false);
}
END

TEST(a_capture_that_ran_is_taken_over_as_after_a_crash)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	CLEANUP_JOB struct job ran = {0};
	CLEANUP_JOB struct job again = {0};
	char id[ID_MAX];

	test_enqueue(&k.t.s, 0, id);
	test_claim(&k.t.s, &ran);
	stock_backup(&k);
	stock_restore(&k, k.restored, false);
	open_store(k.restored, &s);
	ck_assert_int_eq(job_take_over(&s, TEST_HOST), 1);
	test_claim(&s, &again);
	ck_assert_str_eq(again.session, id);
	ck_assert_int_eq(again.attempt, ran.attempt + 1);
}
END

SUITE("restore");
