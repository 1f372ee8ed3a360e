#include "lib/store.h"

#include "store/db/driver.h"

#include <fcntl.h>
#include <ftw.h>
#include <postgresql/libpq-fe.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the URL of the PostgreSQL server that tests/unit/engines.sh
 * started. */
static const char *
server(void)
{
	return getenv("STOKER_TEST_DB");
}

/* The stores of a test, and their databases. The tests of a suite run one
 * after another in separate processes, and reuse the schemas: emptying a
 * schema takes a tenth of the time of making one. */
#define STORES_MAX 16
static struct place {
	char dir[64], schema[32], url[400];
} places[STORES_MAX];

static struct place *
place_of(const char *dir)
{
	size_t i = 0;

	while (i < STORES_MAX && *places[i].dir && strcmp(places[i].dir, dir))
		i++;
	ck_assert_uint_lt(i, STORES_MAX);
	if (!*places[i].dir) {
		struct place p;

		snprintf(p.dir, sizeof(p.dir), "%s", dir);
		snprintf(p.schema, sizeof(p.schema), "s%d_%zu", getppid(), i);
		snprintf(p.url, sizeof(p.url),
		         "%s&options=-csearch_path%%3D%s&application_name=%s",
		         server(), p.schema, p.schema);
		places[i] = p;
	}
	return &places[i];
}

const char *
test_database(const char *dir)
{
	return server() ? place_of(dir)->url : "";
}

struct conf
test_conf(const char *dir)
{
	return (struct conf){
		.store_dir = (char *)dir,
		.store_database = (char *)test_database(dir),
		.worker_host = (char *)TEST_HOST,
	};
}

/* Runs SQL as an administrator would with psql. Returns true on success; out,
 * if not NULL, gets the first value. */
static bool
run_sql(const char *url, const char *sql, char *out, size_t size)
{
	PGconn *conn = PQconnectdb(url);
	PGresult *r = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(r);

	if (out && PQntuples(r))
		snprintf(out, size, "%s", PQgetvalue(r, 0, 0));
	PQclear(r);
	PQfinish(conn);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Runs SQL on a file as sqlite3(1) would; out is as in run_sql(). */
static void
run_on_file(const char *dir, const char *sql, char *out, size_t size)
{
	char path[128];
	sqlite3_stmt *s;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/" STORE_DB, dir);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 10000);
	if (out) {
		ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL),
		                 SQLITE_OK);
		if (sqlite3_step(s) == SQLITE_ROW)
			snprintf(out, size, "%s",
			         (const char *)sqlite3_column_text(s, 0));
		sqlite3_finalize(s);
	} else {
		ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) ==
		                      SQLITE_OK,
		              "%s: %s", sql, sqlite3_errmsg(db));
	}
	sqlite3_close(db);
}

bool
test_on_server(void)
{
	return server() != NULL;
}

void
test_sql(const struct test_store *t, const char *sql, char *out, size_t size)
{
	if (!server())
		run_on_file(t->dir, sql, out, size);
	else
		ck_assert_msg(run_sql(place_of(t->dir)->url, sql, out, size),
		              "%s", sql);
}

/*
 * Makes the schema of a store. db_skew_clock() moves its clock, and
 * empty_store() deletes all rows except those of migrations, and only from
 * tables that ever had rows, since a new connection must plan each deletion. A
 * schema that a test has migrated further is replaced.
 */
static void
make_schema(const struct place *p, const struct conf *conf)
{
	static const char functions[] =
		"CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT "
		"LANGUAGE SQL STABLE AS $$ SELECT CAST(extract(epoch FROM "
		"statement_timestamp()) * 1000 AS BIGINT) + COALESCE(NULLIF("
		"current_setting('stoker.skew', true), '')::BIGINT, 0) $$;"
		"CREATE OR REPLACE FUNCTION empty_store() RETURNS VOID "
		"LANGUAGE plpgsql AS $$ DECLARE t TEXT; n BIGINT; BEGIN "
		"SELECT MAX(version) INTO n FROM migration;"
		"IF n <> %d THEN RAISE EXCEPTION 'migrated'; END IF;"
		"SET LOCAL session_replication_role = replica;"
		"FOR t IN SELECT oid::regclass FROM pg_class "
		"  WHERE relnamespace = current_schema()::regnamespace "
		"  AND relkind = 'r' AND relname <> 'migration' "
		"  AND pg_relation_size(oid) > 0 "
		"LOOP EXECUTE 'DELETE FROM ' || t; END LOOP; END $$";
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char sql[sizeof(functions) + 16];
	int64_t version;
	int rc;

	snprintf(sql, sizeof(sql),
	         "SET client_min_messages = error;"
	         "DROP SCHEMA IF EXISTS %s CASCADE; CREATE SCHEMA %s",
	         p->schema, p->schema);
	ck_assert_msg(run_sql(p->url, sql, NULL, 0), "no schema in %s",
	              server());
	rc = store_migrate(conf, &version, &why);
	ck_assert_msg(!rc, "%s", buf_str(&why));
	snprintf(sql, sizeof(sql), functions, SQL_VERSION);
	ck_assert(run_sql(p->url, sql, NULL, 0));
}

/* The file of a new store in SQLite, which all tests of the program share:
 * copying it takes a hundredth of the time of the migrations. -1 until the
 * first test has made a store. */
static int new_store = -1;

__attribute__((constructor)) static void
share_new_store(void)
{
	new_store = memfd_create("stoker.db", MFD_CLOEXEC);
}

static void
copy_file(int from, int to)
{
	struct stat st;
	off_t at = 0;

	ck_assert_int_eq(fstat(from, &st), 0);
	ck_assert_int_eq(sendfile(to, from, &at, (size_t)st.st_size),
	                 st.st_size);
}

static void
open_store(const char *dir, bool worker, struct store *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf conf = test_conf(dir);
	int rc = store_open(&conf, worker, out, &why);

	ck_assert_msg(!rc, "%s", buf_str(&why));
}

/* Opens a store of an earlier test and empties it, over the same connection,
 * since a server takes 50 ms to accept one. Returns false if there is no such
 * store. */
static bool
reuse_store(const char *dir, struct store *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf conf = test_conf(dir);

	if (store_open(&conf, true, out, &why))
		return false;
	if (!out->db->driver->text(out->db, "SELECT empty_store()"))
		return true;
	store_close(out);
	return false;
}

/* Makes the file of a new store in dir, as opening the store does. */
static void
make_file(const char *dir)
{
	char path[128];
	struct stat st;
	struct store s;
	int fd;

	ck_assert_int_eq(fstat(new_store, &st), 0);
	snprintf(path, sizeof(path), "%s/" STORE_DB, dir);
	if (!st.st_size) {
		open_store(dir, true, &s);
		store_close(&s);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert_int_ge(fd, 0);
		copy_file(fd, new_store);
	} else {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660);
		ck_assert_int_ge(fd, 0);
		copy_file(new_store, fd);
	}
	close(fd);
}

void
test_store_in(const char *dir, struct store *out)
{
	struct service v = {
		.tenant = TEST_TENANT,
		.name = TEST_SERVICE,
		.kind = "auto",
		.host = "",
		.match_kind = "exe",
		.match_value = "/bin/true",
		.pprof_url = "",
		.source = "auto",
		.allow = "{}",
		.labels = "{}",
		.description = "",
	};

	const struct conf conf = test_conf(dir);

	if (!server() || !reuse_store(dir, out)) {
		if (server())
			make_schema(place_of(dir), &conf);
		else
			make_file(dir);
		open_store(dir, true, out);
	}
	ck_assert_int_eq(service_add(out, &v), 0);
}

struct test_store
test_store(void)
{
	struct test_store t = {.dir = "/tmp/stoker-test.XXXXXX"};

	ck_assert_ptr_nonnull(mkdtemp(t.dir));
	test_store_in(t.dir, &t.s);
	return t;
}

static int
remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

void
test_remove(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void
test_store_done(struct test_store *t)
{
	store_close(&t->s);
	test_remove(t->dir);
}

struct store
test_store_again(const struct test_store *t, bool worker)
{
	struct store s;

	open_store(t->dir, worker, &s);
	return s;
}

int
test_service(struct store *s, const char *tenant, const char *name)
{
	struct service v = {0};
	CLEANUP_SERVICE struct service svc = {0};

	ck_assert_int_eq(service_get(s, TEST_TENANT, TEST_SERVICE, &svc), 0);
	v = svc;
	v.tenant = (char *)tenant;
	v.name = (char *)name;
	return service_add(s, &v);
}

struct service
test_no_match(const char *tenant, const char *name)
{
	return (struct service){
		.tenant = (char *)tenant,
		.name = (char *)name,
		.kind = (char *)"native",
		.host = (char *)"",
		.match_kind = (char *)"",
		.match_value = (char *)"",
		.pprof_url = (char *)"",
		.source = (char *)"auto",
		.allow = (char *)"{}",
		.labels = (char *)"{}",
		.description = (char *)"",
	};
}

void
test_tenant(struct store *s, const char *tenant)
{
	ck_assert_int_eq(test_service(s, tenant, TEST_SERVICE), 0);
}

void
test_heartbeat(struct store *s, const char *host, int64_t pid)
{
	const struct worker w = {.host = (char *)host,
	                         .boot_id = (char *)"boot",
	                         .version = (char *)"1",
	                         .capabilities = (char *)"{}",
	                         .pid = pid};

	ck_assert_int_eq(worker_heartbeat(s, &w, TEST_LEASE_MS), 0);
}

struct worker_process
test_process(const char *host, const char *tenant, int64_t pid)
{
	return (struct worker_process){
		.host = (char *)host,
		.tenant = (char *)tenant,
		.service = (char *)TEST_SERVICE,
		.boot_id = (char *)"boot",
		.argv0 = (char *)"a",
		.cmdline = (char *)"a",
		.pid = pid,
	};
}

struct session_ask
test_ask(void)
{
	return (struct session_ask){
		.tenant = TEST_TENANT,
		.service = TEST_SERVICE,
		.type = "cpu",
		.origin = SESSION_CAPTURE,
		.ordinal = SESSION_ALL_ORDINALS,
		.seconds = 5,
		.rate = 100,
		.labels = "{}",
		.created_by = "tok-test",
	};
}

struct trigger
test_trigger(const char *tenant, const char *name)
{
	return (struct trigger){
		.tenant = (char *)tenant,
		.service = (char *)TEST_SERVICE,
		.name = (char *)name,
		.kind = (char *)"rss",
		.function = (char *)"",
		.threshold = 100,
		.type = (char *)"cpu",
		.seconds = 1,
		.rate = 100,
		.webhook = (char *)"",
		.cooldown_ms = 1000,
		.enabled = 1,
		.created_by = (char *)"",
	};
}

int
test_baseline(struct store *s, const char *tenant, const char *session,
              const char *tags, char id[static ID_MAX])
{
	return baseline_add(s,
	                    &(struct baseline_ask){tenant, session, "v1", "",
	                                           "[]", tags, "tok-test"},
	                    id);
}

struct continuous
test_continuous(const char *tenant)
{
	return (struct continuous){
		.tenant = (char *)tenant,
		.service = (char *)TEST_SERVICE,
		.types = (char *)"[\"cpu\"]",
		.created_by = (char *)"tok-test",
		.sample_rate = 19,
		.retention_days = 7,
		.enabled = 1,
	};
}

struct session_result
test_result(void)
{
	return (struct session_result){
		.duration_ms = 5001,
		.sample_count = 500,
		.rate = 99.5,
		.top_functions = "[{\"funcName\":\"f\"}]",
		.quality = "{\"lost\":0}",
	};
}

void
test_enqueue(struct store *s, int i, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	char type[24];

	snprintf(type, sizeof(type), "type%d", i);
	ask.type = type;
	ck_assert_int_eq(job_enqueue(s, &ask, TEST_HOST, id), 0);
}

void
test_claim(struct store *s, struct job *out)
{
	ck_assert_int_eq(job_claim(s, TEST_HOST, TEST_LEASE_MS, 8, out), 0);
}

void
test_finish(struct store *s, const struct job *j,
            const struct session_result *r, const struct blob *blob)
{
	const struct job_end end = {"done", "", "", r, blob, NULL, NULL};
	const struct job_ref ref = job_ref(j);

	ck_assert_int_eq(job_finish(s, &ref, &end), 0);
}

void
test_blob(struct store *s, const char *text, struct blob *out)
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;

	ck_assert_int_eq(blob_put(s, BLOB_PPROF, text, strlen(text), &w, out),
	                 0);
}
