#include "store/db/row.h"
#include "store/db/sqlite.h"

#include "lib/store.h"
#include "store/link.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void
path_of(const struct test_store *t, const char *file, char out[static 128])
{
	snprintf(out, 128, "%s/%s", t->dir, file);
}

/* Runs SQL as an administrator with sqlite3(1) would. */
static void
by_hand(const struct test_store *t, const char *sql)
{
	char path[128];
	sqlite3 *c;

	path_of(t, "stoker.db", path);
	ck_assert_int_eq(sqlite3_open(path, &c), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(c, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(c);
}

static int
services(struct store *s)
{
	CLEANUP_SERVICES struct service_list l = {0};

	ck_assert_int_eq(
		service_list(s, TEST_TENANT, (struct page){500, ""}, &l), 0);
	return (int)l.n;
}

TEST(files_are_the_groups_whatever_the_umask)
{
	static const char *const files[] = {"stoker.db", "stoker.db-wal",
	                                    "stoker.db-shm"};
	mode_t old = umask(0077);
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct stat st;
	char path[128];

	umask(old);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		path_of(&t, files[i], path);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_uint_eq(st.st_mode & 0777, 0660);
	}
}
END

TEST(a_migrated_database_is_left_as_it_is)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store again = test_store_again(&t, false);

	ck_assert_int_eq(services(&again), 1);
}
END

/* version in the table, oldest release it allows, what opening says */
static const struct {
	int version, compatible, expected;
} schemas[] = {
	{SQL_VERSION + 1, SQL_VERSION, 0},
	{SQL_VERSION + 1, SQL_VERSION + 1, -EPROTONOSUPPORT},
};

TEST(a_newer_schema_opens_only_if_it_says_so)
{
	for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP_STORE struct store s = {.profiles_fd = -1};
		const struct conf conf = test_conf(t.dir);
		char sql[128];

		snprintf(sql, sizeof(sql),
		         "INSERT INTO migration VALUES (%d, %d, 'later', 0)",
		         schemas[i].version, schemas[i].compatible);
		by_hand(&t, sql);
		ck_assert_int_eq(store_open(&conf, false, &s, &why),
		                 schemas[i].expected);
		ck_assert_int_eq(strstr(buf_str(&why), "newer") != NULL,
		                 schemas[i].expected != 0);
	}
}
END

TEST(a_file_that_is_no_database_is_refused)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char path[128];
	CLEANUP_FD int fd = -1;
	struct db *db = NULL;

	path_of(&t, "other.db", path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(write(fd, "not a database, but long enough", 31), 31);
	ck_assert_int_eq(db_open(&(struct db_options){.url = path}, &db, &why),
	                 -EBADMSG);
	ck_assert_ptr_null(db);
	ck_assert_ptr_nonnull(strstr(buf_str(&why), path));
}
END

TEST(processes_that_open_a_new_store_at_once_agree)
{
	char dir[] = "/tmp/stoker-test.XXXXXX";
	struct test_store t;
	int status;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcpy(t.dir, dir);
	for (int i = 0; i < 8; i++) {
		if (fork())
			continue;
		t.s = test_store_again(&t, i == 0);
		_exit(services(&t.s));
	}
	for (int i = 0; i < 8; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	t.s = test_store_again(&t, true);
	test_store_done(&t);
}
END

TEST(a_replaced_file_is_followed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_TEST_STORE struct test_store other = test_store();
	char from[128], to[128];

	ck_assert_int_eq(service_delete(&other.s, TEST_TENANT, TEST_SERVICE),
	                 0);
	ck_assert_int_eq(db_upkeep(other.s.db), 0);
	ck_assert_int_eq(store_refresh(&t.s), 0);
	ck_assert_int_eq(services(&t.s), 1);
	path_of(&other, "stoker.db", from);
	path_of(&t, "stoker.db", to);
	by_hand(&t, "PRAGMA wal_checkpoint(TRUNCATE)");
	ck_assert_int_eq(rename(from, to), 0);
	ck_assert_int_eq(store_refresh(&t.s), 0);
	ck_assert_int_eq(services(&t.s), 0);
}
END

TEST(a_vanished_file_is_an_error_and_not_an_empty_store)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char path[128];

	path_of(&t, "stoker.db", path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(store_refresh(&t.s), -ENOENT);
}
END

TEST(an_inner_rollback_dooms_the_outer_transaction)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	ck_assert_int_eq(store_begin(&t.s), 0);
	ck_assert_int_eq(service_delete(&t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(store_begin(&t.s), 0);
	store_rollback(&t.s);
	ck_assert_int_eq(store_commit(&t.s), -ECANCELED);
	ck_assert_int_eq(services(&t.s), 1);
	ck_assert_int_eq(store_begin(&t.s), 0); /* and is forgotten */
	ck_assert_int_eq(store_commit(&t.s), 0);
}
END

TEST(a_lock_that_never_comes_is_busy_after_the_ceiling)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store other = test_store_again(&t, false);

	ck_assert_int_eq(store_begin(&t.s), 0);
	ck_assert_int_eq(store_begin(&other), -EBUSY);
	store_rollback(&t.s);
	ck_assert_int_eq(store_begin(&other), 0);
	store_rollback(&other);
}
END

TEST(data_version_shows_the_commits_of_others_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store other = test_store_again(&t, false);
	int64_t before = db_data_version(t.s.db);
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	ck_assert_int_eq(db_data_version(t.s.db), before);
	test_enqueue(&other, 1, id);
	ck_assert_int_ne(db_data_version(t.s.db), before);
}
END

TEST(only_the_worker_moves_the_wal)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct store api = test_store_again(&t, false);
	struct stat st;
	char path[128], id[ID_MAX];

	path_of(&t, "stoker.db", path);
	for (int i = 0; i < 50; i++)
		test_enqueue(&api, i, id);
	store_close(&t.s);
	t.s = test_store_again(&t, true);
	ck_assert_int_eq(db_upkeep(t.s.db), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_size, 50 * 100);
	store_close(&api);
}
END

/* Calls look with each line of a statement's plan. */
static void
explain(sqlite3 *c, const struct sql_query *q,
        void (*look)(const struct sql_query *q, const char *line))
{
	CLEANUP_FREE char *text = NULL;
	sqlite3_stmt *stmt = NULL;
	int code;

	ck_assert_int_gt(
		asprintf(&text, "EXPLAIN QUERY PLAN %s", q->text[SQL_SQLITE]),
		0);
	code = sqlite3_prepare_v2(c, text, -1, &stmt, NULL);
	ck_assert_msg(!code, "%s: %s", q->name, sqlite3_errmsg(c));
	ck_assert_int_eq(sqlite3_bind_parameter_count(stmt), q->nparams);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		look(q, (const char *)sqlite3_column_text(stmt, 3));
	sqlite3_finalize(stmt);
}

static void
no_look(const struct sql_query *q, const char *line)
{
	(void)q, (void)line;
}

TEST(every_statement_prepares_with_its_parameters)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	for (int i = 0; i < SQL_COUNT; i++)
		explain(sqlite_of(t.s.db)->link.conn, &sql_queries[i], no_look);
}
END

/* Queries that requests wait for, and those of the worker in every second. */
static const enum sql frequent[] = {
	SQL_SESSION_GET,     SQL_SESSION_LIST,    SQL_SESSION_HISTORY,
	SQL_SESSION_RUNNING, SQL_SESSION_EXPIRED, SQL_SESSION_OLDEST,
	SQL_JOB_WAITING,     SQL_JOB_CLAIM,       SQL_JOB_PROGRESS,
	SQL_JOB_ORPHANED,    SQL_TOKEN_BY_HASH,   SQL_IDEMPOTENCY_GET,
	SQL_SERVICE_GET,     SQL_SERVICE_LIST,    SQL_AUDIT_LIST,
	SQL_BLOB_OF_SESSION, SQL_BLOB_MARKED,     SQL_SESSION_FIND,
	SQL_WINDOW_FIND,
};

static void
look_for_scans(const struct sql_query *q, const char *line)
{
	/* of an index in its order is what a LIMIT ends */
	bool scans = !strncmp(line, "SCAN", 4) && !strstr(line, "USING");

	ck_assert_msg(!scans && !strstr(line, "ORDER BY"), "%s: %s", q->name,
	              line);
}

TEST(frequent_statements_neither_scan_nor_sort)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	for (size_t i = 0; i < ARRAY_LEN(frequent); i++)
		explain(sqlite_of(t.s.db)->link.conn, &sql_queries[frequent[i]],
		        look_for_scans);
}
END

struct key_row {
	char *id, *secret;
};

TEST(a_statement_with_other_columns_is_refused)
{
	static const struct row_field good[] = {ROW_FIELD(key_row, id),
	                                        ROW_FIELD(key_row, secret)},
				      swapped[] = {ROW_FIELD(key_row, secret),
	                                           ROW_FIELD(key_row, id)};
	static const struct row_type types[] = {
		ROW_TYPE(key_row, good),
		ROW_TYPE(key_row, swapped),
		{sizeof(struct key_row), good, 1},
	};
	static const int expected[] = {0, -EPROTO, -EPROTO};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct key_row row = {0};

	ck_assert_int_eq(link_key_make(&t.s), 0);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		ck_assert_int_eq(row_one(t.s.db, &types[i], &row,
		                         SQL_LINK_KEY_NEWEST, NO_ARGS),
		                 expected[i]);
		row_done(&types[i], &row);
	}
}
END

SUITE("db", files_are_the_groups_whatever_the_umask,
      a_migrated_database_is_left_as_it_is,
      a_newer_schema_opens_only_if_it_says_so,
      a_file_that_is_no_database_is_refused,
      processes_that_open_a_new_store_at_once_agree,
      a_replaced_file_is_followed,
      a_vanished_file_is_an_error_and_not_an_empty_store,
      an_inner_rollback_dooms_the_outer_transaction,
      a_lock_that_never_comes_is_busy_after_the_ceiling,
      data_version_shows_the_commits_of_others_only,
      only_the_worker_moves_the_wal,
      every_statement_prepares_with_its_parameters,
      frequent_statements_neither_scan_nor_sort,
      a_statement_with_other_columns_is_refused)
