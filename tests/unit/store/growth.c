/*
 * Every table has an owner: something that bounds its rows, whatever callers
 * do. A new table fails these claims until it has a row here.
 */
#include "lib/store.h"
#include "store/db/db_test.h"

#include <string.h>

enum owner {
	ROW,   /* they are deleted with a row of another table */
	QUOTA, /* a quota of the tenant counts it, and a statement removes rows */
	AGE,   /* upkeep removes rows that are too old or marked */
	FIXED, /* fixed by something else, which is named */
};

static const struct {
	const char *table;
	enum owner owner;
	enum quota quota; /* the quota that counts it */
	enum sql drop;    /* the statement that removes rows */
	const char *why;
} owners[] = {
	{"token", QUOTA, QUOTA_tokens, SQL_TOKEN_PRUNE, ""},
	{"service", QUOTA, QUOTA_services, SQL_SERVICE_DELETE, ""},
	{"session", QUOTA, QUOTA_profiles, SQL_SESSION_DELETE, ""},
	{"baseline", QUOTA, QUOTA_baselines, SQL_BASELINE_DELETE, ""},
	{"trigger_rule", QUOTA, QUOTA_triggers, SQL_TRIGGER_DELETE, ""},
	{"idempotency", QUOTA, QUOTA_kept_replies, SQL_IDEMPOTENCY_PRUNE, ""},
	{"capture_start", QUOTA, QUOTA_captures_per_hour,
         SQL_CAPTURE_START_PRUNE, ""},
	{"block_usage", QUOTA, QUOTA_host_bytes, SQL_BLOCK_USAGE_PRUNE, ""},
	{"worker", AGE, 0, SQL_WORKER_PRUNE, ""},
	{"audit", AGE, 0, SQL_AUDIT_PRUNE, ""},
	{"blob", AGE, 0, SQL_BLOB_FORGET, ""},
	{"blob_bytes", AGE, 0, SQL_BYTES_DB_DROP, ""},
	{"block", AGE, 0, SQL_BLOCK_DELETE, ""},
	{"segment", AGE, 0, SQL_SEGMENT_FORGET, ""},
	{"segment_hole", AGE, 0, SQL_SEGMENT_FORGET_HOLES, ""},
	{"survey", AGE, 0, SQL_SURVEY_FORGET, ""},
	{"browser_session", AGE, 0, SQL_BROWSER_SESSION_CROWD, ""},
	{"discovered", AGE, 0, SQL_DISCOVERED_FORGET, ""},
	{"delivery", AGE, 0, SQL_DELIVERY_PRUNE, ""},
	{"agent_job", AGE, 0, SQL_AGENT_FORGET, ""},
	{"unnamed_module", AGE, 0, SQL_NAMES_PRUNE, ""},
	{"unnamed_frame", ROW, 0, 0, ""},
	{"debug_file", QUOTA, QUOTA_debug_files, SQL_DEBUG_FILE_DELETE, ""},
	{"session_build", ROW, 0, 0, ""},
	{"process", ROW, 0, 0, ""},
	{"process_tree", ROW, 0, 0, ""},
	{"job", ROW, 0, 0, ""},
	{"symbolize", ROW, 0, 0, ""},
	{"continuous", ROW, 0, 0, ""},
	{"continuous_problem", ROW, 0, 0, ""},
	{"series", ROW, 0, 0, ""},
	{"profile_window", ROW, 0, 0, ""},
	{"run", ROW, 0, 0, ""},
	{"block_pin", ROW, 0, 0, ""},
	{"trigger_firing", ROW, 0, 0, ""},
	{"agent_service", ROW, 0, 0, ""},
	{"host_sum", ROW, 0, 0, ""},
	{"block_cursor", FIXED, 0, 0, "a row for each host, tenant and tier"},
	{"lease", FIXED, 0, 0, "a row for each kind of work"},
	{"link_key", FIXED, 0, 0, "no caller makes one"},
	{"migration", FIXED, 0, 0, "a row for each migration"},
	{"quota_turn", FIXED, 0, 0, "a row for each tenant"},
	{"retention_clock", FIXED, 0, 0, "one row"},
};

TEST(every_table_has_one_owner)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char n[32], sql[256];

	if (test_on_server())
		return; /* its partitions are tables of the list */
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		snprintf(sql, sizeof(sql),
		         "SELECT COUNT(*) FROM sqlite_master "
		         "WHERE type = 'table' AND name = '%s'",
		         owners[i].table);
		test_sql(&t, sql, n, sizeof(n));
		ck_assert_msg(!strcmp(n, "1"), "no table %s", owners[i].table);
	}
	test_sql(&t,
	         "SELECT COUNT(*) FROM sqlite_master "
	         "WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
	         n, sizeof(n));
	ck_assert_msg((size_t)atoi(n) == ARRAY_LEN(owners),
	              "%s tables, and %zu owners", n, ARRAY_LEN(owners));
}
END

/* Returns whether a statement removes rows of a table, or counts them. */
static bool
names(enum sql sql, const char *before, const char *table)
{
	char want[64];
	const char *at;

	snprintf(want, sizeof(want), "%s%s", before, table);
	at = strstr(sql_queries[sql].text[SQL_SQLITE], want);
	return at && strchr(" \n", at[strlen(want)]);
}

TEST(what_owns_a_table_removes_its_rows)
{
	static const enum sql counts[QUOTAS] = {
#define QUOTA(name, sql, type, def, counts, frees) SQL_QUOTA_##sql,
#include "quotas.def"
#undef QUOTA
	};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char n[32], sql[256];

	if (test_on_server())
		return;
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		const char *table = owners[i].table;

		snprintf(sql, sizeof(sql),
		         "SELECT COUNT(*) > 0 FROM pragma_foreign_key_list"
		         "('%s') WHERE on_delete = 'CASCADE'",
		         table);
		test_sql(&t, sql, n, sizeof(n));
		if (owners[i].owner == ROW)
			ck_assert_msg(!strcmp(n, "1"), "%s", table);
		else if (owners[i].owner == FIXED)
			ck_assert_msg(*owners[i].why != '\0', "%s", table);
		else
			ck_assert_msg(
				names(owners[i].drop, "DELETE FROM ", table),
				"%s", table);
		if (owners[i].owner == QUOTA)
			ck_assert_msg(
				names(counts[owners[i].quota], "FROM ", table),
				"%s", table);
	}
}
END

SUITE("growth");
