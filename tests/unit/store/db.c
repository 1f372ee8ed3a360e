/* Claims about every driver: schemas, transactions, and how commits wake
 * others. */
#include "store/db/db.h"
#include "lib/store.h"
#include "store/baseline.h"
#include "store/db/db_test.h"
#include "store/db/row.h"
#include "store/link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS  100
#define WAIT_MS 5000 /* far more than a commit takes */

static int
services(struct store *s)
{
	CLEANUP_SERVICES struct service_list l = {0};

	ck_assert_int_eq(
		service_list(s, TEST_TENANT, (struct page){500, ""}, &l), 0);
	return (int)l.n;
}

TEST(a_migrated_database_is_left_as_it_is)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store again = test_store_again(&t, false);

	ck_assert_int_eq(services(&again), 1);
}
END

/* version in the table, oldest release it allows, result of opening */
static const struct {
	int64_t version, compatible;
	int expected;
} schemas[] = {
	{SQL_VERSION + 1, SQL_VERSION, 0},
	{SQL_VERSION + 1, SQL_VERSION + 1, -EPROTONOSUPPORT},
	{INT64_MAX, INT64_MAX, -EUCLEAN},
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
		         "INSERT INTO migration VALUES (%" PRId64 ", %" PRId64
		         ", 'later', 0)",
		         schemas[i].version, schemas[i].compatible);
		test_sql(&t, sql, NULL, 0);
		ck_assert_int_eq(store_open(&conf, false, &s, &why),
		                 schemas[i].expected);
		ck_assert_int_eq(strstr(buf_str(&why), "newer") != NULL,
		                 schemas[i].expected == -EPROTONOSUPPORT);
	}
}
END

/* A later release adds to tables and views at their ends. */
static const char later[] =
	"ALTER TABLE profile_window ADD COLUMN later BIGINT NOT NULL DEFAULT 0;"
	"DROP VIEW baseline_row;"
	"CREATE VIEW baseline_row AS SELECT b.id, b.tenant, b.service, b.type, "
	"b.session, b.label, b.description, b.top_functions, b.tags, "
	"b.created_by, b.created_ms, 1 AS is_latest, 2 AS later "
	"FROM baseline b;";

static int
baselines(struct store *s)
{
	CLEANUP_BASELINES struct baseline_list l = {0};
	const struct baseline_filter f = {TEST_TENANT, "", "", "", ""};
	int rc = baseline_list(s, &f, (struct page){500, ""}, &l);

	return rc ? rc : (int)l.n;
}

TEST(a_release_works_on_with_a_schema_of_the_next)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store again = {.profiles_fd = -1};
	char sql[128];

	ck_assert_int_eq(baselines(&t.s), 0);
	snprintf(sql, sizeof(sql),
	         "INSERT INTO migration VALUES (%d, %d, 'later', 0)",
	         SQL_VERSION + 1, SQL_VERSION);
	test_sql(&t, later, NULL, 0);
	test_sql(&t, sql, NULL, 0);
	ck_assert_int_eq(baselines(&t.s), 0); /* with a prepared statement */
	again = test_store_again(&t, false);
	ck_assert_int_eq(baselines(&again), 0);
	ck_assert_int_eq(services(&again), 1);
}
END

TEST(a_release_that_a_migration_leaves_behind_learns_of_it)
{
	char sql[128];

	db_look_ns = 0;
	CLEANUP_TEST_STORE struct test_store t = test_store();
	for (int i = 0; i < 2; i++) {
		snprintf(sql, sizeof(sql),
		         "INSERT INTO migration VALUES (%d, %d, 'later', 0)",
		         SQL_VERSION + 1 + i, SQL_VERSION + i);
		test_sql(&t, sql, NULL, 0);
		ck_assert_int_eq(store_refresh(&t.s), i ? -EPROTONOSUPPORT : 0);
	}
	ck_assert_ptr_nonnull(strstr(db_why(t.s.db), "newer release"));
	ck_assert_int_eq(store_refresh(&t.s), -EPROTONOSUPPORT);
}
END

TEST(a_number_that_is_no_schema_ends_nobody)
{
	db_look_ns = 0;
	CLEANUP_TEST_STORE struct test_store t = test_store();
	test_sql(&t,
	         "INSERT INTO migration "
	         "VALUES (9223372036854775807, 9223372036854775807, 'l', 0)",
	         NULL, 0);
	ck_assert_int_eq(store_refresh(&t.s), 0);
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
	ck_assert_int_eq(store_begin(&t.s), 0); /* the failure is forgotten */
	ck_assert_int_eq(store_commit(&t.s), 0);
}
END

/* Waits for a commit of another process. */
static bool
comes(struct db *db)
{
	struct pollfd p = {.fd = db_wake_fd(db), .events = POLLIN};

	return db_woken(db) || (poll(&p, 1, WAIT_MS) > 0 && db_woken(db));
}

TEST(data_version_shows_the_commits_of_others_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store other = test_store_again(&t, false);
	int64_t before = db_data_version(t.s.db);
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	ck_assert_int_eq(db_data_version(t.s.db), before);
	(void)db_woken(t.s.db);
	test_enqueue(&other, 1, id);
	ck_assert(comes(t.s.db));
	ck_assert_int_ne(db_data_version(t.s.db), before);
}
END

/* Claims every job, waiting for nothing but wakes. */
static void
claim_on_wakes(const struct test_store *t, int say)
{
	struct store s = test_store_again(t, true);

	(void)db_woken(s.db);
	if (write(say, "", 1) != 1)
		_exit(1);
	for (int n = 0; n < ROUNDS;) {
		struct job j;

		if (!comes(s.db))
			_exit(2); /* a wake came too early, or not at all */
		while (!job_claim(&s, TEST_HOST, TEST_LEASE_MS, 8, &j)) {
			job_done(&j);
			if (write(say, "", 1) != 1)
				_exit(1);
			n++;
		}
	}
	_exit(0);
}

TEST(whoever_wakes_sees_what_woke_him)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int status, heard[2];
	char c, id[ID_MAX];
	pid_t child;

	ck_assert_int_eq(pipe2(heard, O_CLOEXEC), 0);
	store_close(&t.s);
	child = fork();
	if (!child)
		claim_on_wakes(&t, heard[1]);
	close(heard[1]);
	t.s = test_store_again(&t, false);
	ck_assert_int_eq(read(heard[0], &c, 1), 1); /* it watches */
	for (int i = 0; i < ROUNDS; i++) {
		test_enqueue(&t.s, i, id);
		ck_assert_int_eq(read(heard[0], &c, 1), 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(heard[0]);
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
	                                           ROW_FIELD(key_row, id)},
				      more[] = {ROW_FIELD(key_row, id),
	                                        ROW_FIELD(key_row, secret),
	                                        ROW_FIELD(key_row, id)};
	static const struct row_type types[] = {
		ROW_TYPE(key_row, good),
		ROW_TYPE(key_row, swapped),
		ROW_TYPE(key_row, more),
	};
	static const int expected[] = {0, -EPROTO, -EPROTO};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct key_row row = {0};

	ck_assert_int_eq(link_key_make(&t.s), 0);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		ck_assert_int_eq(row_one(t.s.db, &types[i], &row,
		                         SQL_LINK_KEY_NEWEST, NO_ARGS),
		                 expected[i]);
		if (!expected[i])
			row_done(&types[i], &row);
	}
}
END

SUITE("db", .seconds = 120);
