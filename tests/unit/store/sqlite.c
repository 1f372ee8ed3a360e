/*
 * The driver of SQLite: its file, its WAL and its plans.
 * On SQLite alone.
 */
#include "store/db/sqlite.h"

#include "base/file.h"
#include "lib/store.h"
#include "store/idempotency.h"
#include "store/token.h"

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

TEST(a_second_link_of_the_setup_file_is_refused_with_what_to_do)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char path[128], setup[128], other[128];
	struct db *db = NULL;

	path_of(&t, "stoker.db", path);
	path_of(&t, "stoker.db-setup", setup);
	path_of(&t, "other", other);
	ck_assert_int_eq(link(setup, other), 0);
	ck_assert_int_eq(db_open(&(struct db_options){.url = path}, &db, &why),
	                 -EMLINK);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&why), "stoker.db: stoker.db-setup has another hard "
			       "link: copy the store's files"));
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
	test_sql(&t, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, 0);
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

/* Fills the database with 16 MiB, and empties it again. */
TEST(a_database_gives_back_the_space_of_removed_rows)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct stat full, now;
	char path[128];

	path_of(&t, "stoker.db", path);
	test_sql(&t,
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
	         "FROM n WHERE i < 256) INSERT INTO blob_bytes "
	         "SELECT i, 0, zeroblob(65536) FROM n",
	         NULL, 0);
	test_sql(&t, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, 0);
	ck_assert_int_eq(stat(path, &full), 0);
	test_sql(&t, "DELETE FROM blob_bytes", NULL, 0);
	for (int i = 0; i < 3; i++) {
		store_close(&t.s); /* upkeep is due as soon as it opens */
		t.s = test_store_again(&t, true);
		ck_assert_int_eq(db_upkeep(t.s.db), 0);
	}
	ck_assert_int_eq(stat(path, &now), 0);
	ck_assert_int_gt(full.st_size, 16 << 20);
	ck_assert_int_lt(now.st_size, 6 << 20);
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

/* Calls look for each line of a statement's plan. */
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

/* Queries that requests wait for, and those that the worker makes every
 * second. */
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
	/* an index scanned in order ends at the LIMIT */
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

static int64_t
size_of(const struct test_store *t, const char *file)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", t->dir, file);
	return stat(path, &st) ? -1 : st.st_size;
}

static void
fill_wal(struct test_store *t)
{
	CLEANUP_FREE char *body = calloc(1, IDEMPOTENCY_BODY_MAX + 1);
	char name[32];
	struct idempotency_key k = {"t", "a", name};
	struct idempotency v = {"", 200, "", body};

	memset(body, 'a', IDEMPOTENCY_BODY_MAX);
	for (int i = 0; size_of(t, "stoker.db-wal") <= WAL_MAX_BYTES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		(void)!idempotency_claim(&t->s, &k, "");
		ck_assert_int_eq(idempotency_keep(&t->s, &k, &v), 0);
	}
}

TEST(a_long_wal_is_moved_before_its_time)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	ck_assert_int_eq(db_upkeep(t.s.db), 0);
	ck_assert_int_lt(size_of(&t, "stoker.db"), 1 << 20);
	fill_wal(&t);
	ck_assert_int_eq(db_upkeep(t.s.db), 0);
	ck_assert_int_gt(size_of(&t, "stoker.db"), 1 << 20);
}
END

/* The WAL file stays as long as it was. */
TEST(a_wal_that_was_moved_waits_for_its_time_again)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf before = BUF_INIT((size_t)16 << 20);
	CLEANUP_BUF struct buf after = BUF_INIT((size_t)16 << 20);
	char path[128], id[ID_MAX];

	path_of(&t, "stoker.db", path);
	fill_wal(&t);
	ck_assert_int_eq(db_upkeep(t.s.db), 0);
	test_enqueue(&t.s, 0, id);
	ck_assert_int_gt(size_of(&t, "stoker.db-wal"), WAL_MAX_BYTES);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &before), 0);
	ck_assert_int_eq(db_upkeep(t.s.db), 0);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &after), 0);
	ck_assert_mem_eq(before.p, after.p, before.len);
}
END

TEST(the_wal_does_not_grow_once_it_was_moved)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int64_t before;

	fill_wal(&t);
	before = size_of(&t, "stoker.db-wal");
	for (int i = 0; i < 20; i++) {
		char id[ID_MAX];

		ck_assert_int_eq(db_upkeep(t.s.db), 0);
		test_enqueue(&t.s, i, id);
	}
	ck_assert_int_le(size_of(&t, "stoker.db-wal"), before);
}
END

/* Makes the database of an older release, which had this schema. */
static void
make_old(const char *path, int version, const char *rows)
{
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	for (int i = 0; i < version; i++) {
		char sql[160];

		snprintf(sql, sizeof(sql),
		         "INSERT INTO migration (version, compatible, name, "
		         "applied_ms) VALUES (%d, 1, '%s', 5)",
		         i + 1, sql_migrations[i].name);
		ck_assert_msg(sqlite3_exec(db,
		                           sql_migrations[i].text[SQL_SQLITE],
		                           NULL, NULL, NULL) == SQLITE_OK &&
		                      sqlite3_exec(db, sql, NULL, NULL, NULL) ==
		                              SQLITE_OK,
		              "%s", sqlite3_errmsg(db));
	}
	ck_assert_msg(sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK,
	              "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Applies the last migration to a database of the release before. */
static void
migrate_last(const char *path)
{
	const struct sql_migration *m = &sql_migrations[SQL_VERSION - 1];
	sqlite3 *db;
	char sql[160];

	snprintf(sql, sizeof(sql),
	         "INSERT INTO migration VALUES (%d, %d, '%s', 5); COMMIT",
	         SQL_VERSION, m->compatible, m->name);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	sqlite3_exec(db, m->text[SQL_SQLITE], NULL, NULL, NULL);
	ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static char migrated[128];

/* Called for each connection that is opened: the first one in memory is made
 * for the comparison, after the version was read. */
static int
on_open(sqlite3 *db, char **why, const struct sqlite3_api_routines *api)
{
	(void)why, (void)api;
	if (!*sqlite3_db_filename(db, "main") && *migrated) {
		char path[128];

		strcpy(path, migrated);
		*migrated = 0;
		migrate_last(path);
	}
	return SQLITE_OK;
}

TEST(a_migration_while_the_tables_are_compared_is_no_change_by_a_stranger)
{
	char dir[] = "/tmp/stoker-test.XXXXXX", path[128];
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct db *db = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/stoker.db", dir);
	make_old(path, SQL_VERSION - 1, "");
	strcpy(migrated, path);
	sqlite3_auto_extension((void (*)(void))on_open);
	ck_assert_msg(!db_open(&(struct db_options){.url = path}, &db, &why),
	              "%s", buf_str(&why));
	ck_assert_str_eq(migrated, "");
	sqlite3_reset_auto_extension();
	db_close(db);
	test_remove(dir);
}
END

/* Makes a key in a new store, for a row of an older one. */
static void
make_key(char key[static TOKEN_KEY_MAX], char hash[static 65])
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct token_ask ask = {.name = "k",
	                              .role = "operator",
	                              .tenants = "t t2",
	                              .default_tenant = "t"};
	char id[ID_MAX];

	ck_assert_int_eq(token_create(&t.s, &ask, id, key), 0);
	test_sql(&t, "SELECT hash FROM token", hash, 65);
}

/* Migration 22 makes a new table of keys. */
TEST(keys_of_an_older_store_are_as_valid_as_before)
{
	static const struct {
		int64_t expires_ms, revoked_ms;
		int rc;
	} rows[] = {{0, 0, 0},
	            {INT64_C(4102444800000), 0, 0},
	            {5, 0, -EKEYEXPIRED},
	            {0, 5, -EKEYREVOKED}};
	static const char indexes[] =
		"SELECT group_concat(sql, ';') FROM sqlite_master "
		"WHERE tbl_name = 'token' AND type = 'index'";
	CLEANUP_TEST_STORE struct test_store new = test_store();
	char dir[] = "/tmp/stoker-test.XXXXXX", path[128];
	char keys[ARRAY_LEN(rows)][TOKEN_KEY_MAX];
	char text[512] = "", same[512] = "-";
	CLEANUP_BUF struct buf sql = BUF_INIT(BUF_MAX_SMALL);
	struct test_store t;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char hash[65];

		make_key(keys[i], hash);
		buf_addf(&sql,
		         "INSERT INTO token (id, name, hash, role, tenants, "
		         "default_tenant, created_ms, expires_ms, revoked_ms, "
		         "last_used_ms) VALUES ('tok-%zu', 'k%zu', '%s', "
		         "'operator', 't t2', 't', %zu, %lld, %lld, 7);",
		         i, i, hash, i, (long long)rows[i].expires_ms,
		         (long long)rows[i].revoked_ms);
	}
	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcpy(t.dir, dir);
	path_of(&t, "stoker.db", path);
	make_old(path, 21, buf_str(&sql));
	t.s = test_store_again(&t, true);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_TOKEN struct token k = {0};
		int rc = token_check(&t.s, keys[i], &k);

		ck_assert_msg(rc == rows[i].rc, "%zu: %d", i, rc);
		if (rc)
			continue;
		ck_assert_str_eq(k.role, "operator");
		ck_assert_str_eq(k.tenants, "t t2");
		ck_assert_str_eq(k.default_tenant, "t");
		ck_assert_str_eq(k.host, "");
		ck_assert_int_eq(k.created_ms, (int64_t)i);
		ck_assert_int_eq(k.expires_ms, rows[i].expires_ms);
	}
	test_sql(&t, "SELECT group_concat(name) FROM token", text,
	         sizeof(text));
	ck_assert_str_eq(text, "k0,k1,k2,k3");
	test_sql(&t, indexes, text, sizeof(text));
	test_sql(&new, indexes, same, sizeof(same));
	ck_assert_str_eq(text, same);
	test_store_done(&t);
}
END

SUITE("sqlite");
