#include "lib/store.h"

#include <ctype.h>
#include <ftw.h>
#include <postgresql/libpq-fe.h>
#include <string.h>

/* The URL of the PostgreSQL server that tests/unit/engines.sh has started. */
static const char *
server(void)
{
	return getenv("STOKER_TEST_DB");
}

/* A schema is named after the directory of its store. */
static void
schema_of(const char *dir, char out[static 64])
{
	const char *base = strrchr(dir, '/');

	snprintf(out, 64, "%s", base ? base + 1 : dir);
	for (char *p = out; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
}

const char *
test_database(const char *dir)
{
	static char urls[8][512];
	static unsigned turn;
	char schema[64], *url = urls[turn++ % ARRAY_LEN(urls)];

	if (!server())
		return "";
	schema_of(dir, schema);
	snprintf(url, sizeof(urls[0]), "%s&options=-csearch_path%%3D%%22%s%%22",
	         server(), schema);
	return url;
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

void
test_sql(const char *url, const char *sql)
{
	PGconn *conn = PQconnectdb(url);
	PGresult *r = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(r);

	ck_assert_msg(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK,
	              "%s", PQerrorMessage(conn));
	PQclear(r);
	PQfinish(conn);
}

/* Makes the schema of a store, whose clock db_skew_clock() moves. */
static void
make_schema(const char *dir)
{
	static const char clock[] =
		"CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT "
		"LANGUAGE SQL STABLE AS $$ SELECT CAST(extract(epoch FROM "
		"statement_timestamp()) * 1000 AS BIGINT) + COALESCE(NULLIF("
		"current_setting('stoker.skew', true), '')::BIGINT, 0) $$";
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf conf = test_conf(dir);
	char schema[64], sql[128];
	int64_t version;
	int rc;

	schema_of(dir, schema);
	snprintf(sql, sizeof(sql),
	         "SET client_min_messages = error;"
	         "CREATE SCHEMA IF NOT EXISTS \"%s\"", schema);
	test_sql(server(), sql);
	rc = store_migrate(&conf, &version, &why);
	ck_assert_msg(!rc, "%s", buf_str(&why));
	test_sql(conf.store_database, clock);
}

static void
open_store(const char *dir, bool worker, struct store *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf conf = test_conf(dir);
	int rc = store_open(&conf, worker, out, &why);

	ck_assert_msg(!rc, "%s", buf_str(&why));
}

void
test_store_in(const char *dir, struct store *out)
{
	struct service v = {TEST_TENANT,
	                    TEST_SERVICE,
	                    "auto",
	                    "",
	                    "exe",
	                    "/bin/true",
	                    "",
	                    "auto",
	                    "{}",
	                    "{}",
	                    "",
	                    0,
	                    0};

	if (server())
		make_schema(dir);
	open_store(dir, true, out);
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
	ck_assert_int_eq(job_claim(s, TEST_HOST, TEST_LEASE_MS, out), 0);
}

void
test_blob(struct store *s, const char *text, struct blob *out)
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;

	ck_assert_int_eq(blob_put(s, BLOB_PPROF, text, strlen(text), &w, out),
	                 0);
}
