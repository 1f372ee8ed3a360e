/*
 * Blocks of two tenants and two hosts, whose services have the same name: no
 * tenant or host can read, move or remove blocks of another.
 */
#include "store/block.h"

#include "base/clock.h"
#include "lib/store.h"
#include "store/continuous.h"
#include "store/host_sum.h"
#include "store/quota.h"

#include <errno.h>
#include <string.h>

#define MINUTE    (60 * MS_PER_S)
#define HOUR      (60 * MINUTE)
#define DAY       (24 * HOUR)
#define OTHER     "other"
#define HERE      TEST_HOST
#define ELSEWHERE "elsewhere"

/* Returns the start of the day this many days ago. */
static int64_t
days_ago(int days)
{
	return window_floor(WINDOW_DAY, clock_wall_ms()) - days * DAY;
}

/* Makes a store in which tenant "other" has a service of the same name. */
static struct test_store
two_tenants(void)
{
	struct test_store t = test_store();

	test_tenant(&t.s, OTHER);
	return t;
}

/* Returns the first value that a SELECT returns for this tenant. */
static int64_t
number_of(const struct test_store *t, const char *what, const char *tenant)
{
	char sql[160], text[32];

	snprintf(sql, sizeof(sql), "SELECT %s = '%s'", what, tenant);
	test_sql(t, sql, text, sizeof(text));
	return strtoll(text, NULL, 10);
}

/* --- at the centre -------------------------------------------------------- */

static int64_t
span_of(enum block_tier tier)
{
	return window_span_ms(block_level(tier));
}

/* Lets the centre accept a block with the first window of its time. */
static void
take(struct store *s, const char *tenant, const char *host,
     enum block_tier tier, int64_t start_ms)
{
	struct block_series series = {TEST_SERVICE, "cpu", "{}", 0, 1};
	struct block_window w = {.start_ms = start_ms,
	                         .end_ms = start_ms + span_of(tier),
	                         .windows = 1,
	                         .length = 1};
	const struct block b = {
		.tenant = tenant,
		.tier = tier,
		.start_ms = start_ms,
		.end_ms = start_ms +
	                  (tier == BLOCK_MINUTES ? HOUR : span_of(tier)),
		.series = &series,
		.windows = &w,
		.nseries = 1,
		.nwindows = 1,
	};
	int64_t cursor_ms;

	ck_assert_int_eq(block_accept(s, host, &b, "x", 1, &cursor_ms), 0);
}

static int64_t
cursor_of(struct store *s, const char *tenant, const char *host)
{
	int64_t ms = -1;

	ck_assert_int_eq(block_cursor(s, tenant, host, BLOCK_FRESH, &ms), 0);
	return ms;
}

TEST(the_centre_has_the_time_of_a_block_of_its_host_and_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	int64_t at = days_ago(2);

	take(&t.s, TEST_TENANT, HERE, BLOCK_FRESH, at);
	ck_assert_int_eq(cursor_of(&t.s, TEST_TENANT, HERE), at + MINUTE);
	ck_assert_int_eq(cursor_of(&t.s, TEST_TENANT, ELSEWHERE), 0);
	ck_assert_int_eq(cursor_of(&t.s, OTHER, HERE), 0);
}
END

TEST(minutes_of_an_hour_take_the_place_of_those_of_their_host_and_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	int64_t at = days_ago(2);

	take(&t.s, TEST_TENANT, HERE, BLOCK_FRESH, at);
	take(&t.s, TEST_TENANT, ELSEWHERE, BLOCK_FRESH, at);
	take(&t.s, OTHER, HERE, BLOCK_FRESH, at);
	take(&t.s, TEST_TENANT, HERE, BLOCK_MINUTES, at);
	ck_assert_int_eq(number_of(&t,
	                           "COUNT(*) FROM block WHERE tier = 0 "
	                           "AND host = 'elsewhere' AND tenant",
	                           TEST_TENANT),
	                 1);
	ck_assert_int_eq(
		number_of(&t, "COUNT(*) FROM block WHERE tenant", OTHER), 1);
	ck_assert_int_eq(
		number_of(&t, "COUNT(*) FROM block WHERE tenant", TEST_TENANT),
		2);
	/* and their bytes are subtracted from that tenant's usage */
	ck_assert_int_eq(
		number_of(&t,
	                  "CAST(SUM(bytes) AS BIGINT) FROM block_usage "
	                  "WHERE tier = 0 AND tenant",
	                  OTHER),
		1);
	ck_assert_int_eq(
		number_of(&t,
	                  "CAST(SUM(bytes) AS BIGINT) FROM block_usage "
	                  "WHERE tier = 0 AND tenant",
	                  TEST_TENANT),
		1);
}
END

static int64_t
minutes_left(struct test_store *t)
{
	const struct window_keep keep = {.level_ms = {[WINDOW_MINUTE] = 1}};
	int n;

	while ((n = block_expire(&t->s, &keep)) > 0)
		;
	ck_assert_int_eq(n, 0);
	return number_of(t, "COUNT(*) FROM block WHERE tier = 1 AND tenant",
	                 TEST_TENANT);
}

TEST(minutes_stay_while_only_others_have_sent_the_hour)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	int64_t at = days_ago(2);

	take(&t.s, TEST_TENANT, HERE, BLOCK_MINUTES, at);
	take(&t.s, TEST_TENANT, ELSEWHERE, BLOCK_HOURS, at);
	take(&t.s, OTHER, HERE, BLOCK_HOURS, at);
	ck_assert_int_eq(minutes_left(&t), 1);
	take(&t.s, TEST_TENANT, HERE, BLOCK_HOURS, at);
	ck_assert_int_eq(minutes_left(&t), 0);
}
END

static void
keep_for_a_day(struct store *s, const char *tenant)
{
	struct continuous c = test_continuous(tenant);

	c.retention_days = 1;
	ck_assert_int_eq(continuous_put(s, &c), 0);
}

static int64_t
runs_left(struct test_store *t)
{
	ck_assert_int_eq(block_expire(&t->s, &(struct window_keep){0}), 0);
	return number_of(t,
	                 "COUNT(*) FROM run r JOIN series s ON "
	                 "s.id = r.series WHERE s.tenant",
	                 TEST_TENANT);
}

TEST(windows_of_a_service_stay_past_the_days_of_another_tenants)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();

	take(&t.s, TEST_TENANT, HERE, BLOCK_HOURS, days_ago(4));
	keep_for_a_day(&t.s, OTHER);
	ck_assert_int_eq(runs_left(&t), 1);
	keep_for_a_day(&t.s, TEST_TENANT);
	ck_assert_int_eq(runs_left(&t), 0);
}
END

TEST(ids_of_anothers_blocks_take_no_place_among_what_is_found)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_WINDOWS struct window_list l = {0};
	const size_t skip = strlen(BLOB_BLOCK_PREFIX);
	char sql[200], own[ID_MAX], prefix[ID_MAX];

	take(&t.s, TEST_TENANT, HERE, BLOCK_FRESH, days_ago(2));
	test_sql(&t, "SELECT id FROM block", own, sizeof(own));
	for (int i = 0; i < WINDOW_FOUND_MAX; i++)
		take(&t.s, OTHER, HERE, BLOCK_FRESH, days_ago(2) + i * MINUTE);
	/* Gives the other tenant's blocks ids that begin like own, and sort
	 * before it. */
	snprintf(sql, sizeof(sql),
	         "UPDATE block SET id = '%.*s-' || substr(id, %zu) "
	         "WHERE tenant = '" OTHER "'",
	         (int)skip + 1, own, skip + 1);
	test_sql(&t, sql, NULL, 0);
	snprintf(prefix, sizeof(prefix), WINDOW_PREFIX "%c", own[skip]);
	/* The window is found by its row, without reading its bytes. */
	ck_assert_int_eq(window_find_ids(&t.s, TEST_TENANT, prefix, &l), 0);
	ck_assert_uint_eq(l.n, 1);
}
END

/* --- sums over hosts ------------------------------------------------------ */

static size_t
due(struct store *s, struct sum_due_list *out)
{
	sum_due_list_done(out);
	ck_assert_int_eq(host_sum_due(s, clock_wall_ms(), 10, out), 0);
	return out->n;
}

static size_t
spans_of(struct store *s, const char *tenant)
{
	CLEANUP_FREE struct sum_span *spans = NULL;
	size_t n = 0;

	ck_assert_int_eq(host_sum_spans(s, tenant, TEST_SERVICE, days_ago(3),
	                                days_ago(1), &spans, &n),
	                 0);
	return n;
}

/* Stores a sum over two hosts for a time without windows. */
static int
make_sum(struct store *s, const struct sum_due *due)
{
	const struct sum_groups two_hosts = {.hosts = 2};
	const struct window_ask none = {0};

	return host_sum_store(s, due, &two_hosts, NULL, &none);
}

TEST(a_sum_is_due_made_and_valid_for_its_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SUM_DUE struct sum_due_list l = {0};

	take(&t.s, TEST_TENANT, HERE, BLOCK_HOURS, days_ago(2));
	ck_assert_uint_eq(due(&t.s, &l), 1);
	ck_assert_str_eq(l.items[0].tenant, TEST_TENANT);
	take(&t.s, OTHER, HERE, BLOCK_HOURS, days_ago(2));
	ck_assert_uint_eq(due(&t.s, &l), 2);
	ck_assert_str_eq(l.items[1].tenant, TEST_TENANT);
	ck_assert_int_eq(make_sum(&t.s, &l.items[1]), 0);
	ck_assert_uint_eq(due(&t.s, &l), 1);
	ck_assert_str_eq(l.items[0].tenant, OTHER);
	ck_assert_uint_eq(spans_of(&t.s, TEST_TENANT), 1);
	ck_assert_uint_eq(spans_of(&t.s, OTHER), 0);
}
END

TEST(a_sum_that_a_block_came_during_is_not_stored)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SUM_DUE struct sum_due_list l = {0};

	take(&t.s, TEST_TENANT, HERE, BLOCK_HOURS, days_ago(2));
	ck_assert_uint_eq(due(&t.s, &l), 1);
	take(&t.s, TEST_TENANT, ELSEWHERE, BLOCK_HOURS, days_ago(2));
	ck_assert_int_eq(make_sum(&t.s, &l.items[0]), -ESTALE);
	ck_assert_uint_eq(spans_of(&t.s, TEST_TENANT), 0);
}
END

TEST(a_sum_is_of_its_tenants_types_and_windows)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SUM_DUE struct sum_due_list l = {0};
	CLEANUP_SUM_GROUPS struct sum_groups g = {0};
	char series[ID_MAX];
	int64_t at = days_ago(2);

	take(&t.s, TEST_TENANT, HERE, BLOCK_HOURS, at);
	ck_assert_uint_eq(due(&t.s, &l), 1);
	take(&t.s, OTHER, ELSEWHERE, BLOCK_HOURS, at);
	ck_assert_int_eq(series_of(&t.s, OTHER, TEST_SERVICE, "alloc", HERE,
	                           "{}", series),
	                 0);
	ck_assert_int_eq(host_sum_parts(&t.s, &l.items[0], &g), 0);
	ck_assert_uint_eq(g.n, 1);
	ck_assert_str_eq(g.items[0].type, "cpu");
	ck_assert_int_eq(g.hosts, 1);
}
END

TEST(the_hosts_of_a_sum_are_those_that_send_for_its_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_HOST_CURSORS struct host_cursors l = {0};

	take(&t.s, TEST_TENANT, HERE, BLOCK_HOURS, days_ago(2));
	take(&t.s, OTHER, ELSEWHERE, BLOCK_HOURS, days_ago(2));
	ck_assert_int_eq(host_cursors(&t.s, TEST_TENANT, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].host, HERE);
}
END

/* --- on a host ------------------------------------------------------------ */

static void
window_at(struct store *s, const char *tenant, const char *host,
          enum window_level level, int64_t at)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	char series[ID_MAX];
	struct window_ask w = {.series = series,
	                       .level = level,
	                       .start_ms = at,
	                       .end_ms = at + window_span_ms(level),
	                       .windows = 1};

	ck_assert_int_eq(
		series_of(s, tenant, TEST_SERVICE, "cpu", host, "{}", series),
		0);
	if (level == WINDOW_CAPTURED)
		w.end_ms = at + 10 * MS_PER_S;
	ck_assert_int_eq(segment_create(s, host, &g), 0);
	ck_assert_int_eq(segment_append(&g, "bytes", 5, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, &w, 1, NULL), 0);
}

TEST(a_host_begins_with_its_own_first_window_of_the_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	int64_t at = days_ago(2), first = at + 5 * HOUR;
	struct block_span next = {0};

	window_at(&t.s, OTHER, HERE, WINDOW_MINUTE, at);
	window_at(&t.s, TEST_TENANT, ELSEWHERE, WINDOW_MINUTE, at);
	window_at(&t.s, TEST_TENANT, HERE, WINDOW_MINUTE, first);
	ck_assert_int_eq(
		block_next(&t.s, TEST_TENANT, first + 10 * MINUTE, 0, &next),
		1);
	ck_assert_int_eq(next.start_ms, first);
}
END

TEST(a_host_waits_for_no_windows_of_others_to_be_added_up)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	int64_t at = days_ago(2);
	struct block_span next = {0};

	window_at(&t.s, TEST_TENANT, HERE, WINDOW_MINUTE, at);
	window_at(&t.s, TEST_TENANT, ELSEWHERE, WINDOW_CAPTURED,
	          at + 6 * MINUTE);
	window_at(&t.s, OTHER, HERE, WINDOW_CAPTURED, at + 7 * MINUTE);
	ck_assert_int_eq(
		block_next(&t.s, TEST_TENANT, at + 10 * MINUTE, 0, &next), 1);
	ck_assert_int_eq(next.end_ms, at + 9 * MINUTE);
	window_at(&t.s, TEST_TENANT, HERE, WINDOW_CAPTURED, at + 8 * MINUTE);
	ck_assert_int_eq(
		block_next(&t.s, TEST_TENANT, at + 10 * MINUTE, 0, &next), 1);
	ck_assert_int_eq(next.end_ms, at + 8 * MINUTE);
}
END

TEST(what_waits_are_the_minutes_of_this_host_and_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct block_waiting w = {0};
	int64_t at = days_ago(2);

	window_at(&t.s, OTHER, HERE, WINDOW_MINUTE, at);
	window_at(&t.s, TEST_TENANT, ELSEWHERE, WINDOW_MINUTE, at);
	window_at(&t.s, TEST_TENANT, HERE, WINDOW_MINUTE, at + HOUR);
	ck_assert_int_eq(block_waiting(&t.s, TEST_TENANT, &w), 0);
	ck_assert_int_eq(w.windows, 1);
	ck_assert_int_eq(w.first_ms, at + HOUR);
}
END

/* --- quotas --------------------------------------------------------------- */

static int64_t
held(struct store *s, const char *tenant, enum quota q)
{
	int64_t n = -1;

	ck_assert_int_eq(quota_held(s, tenant, q, &n), 0);
	return n;
}

/* Returns the windows of the only block. */
static void
windows_of_block(struct test_store *t, const char *tenant,
                 struct window_list *out)
{
	char block[ID_MAX], prefix[ID_MAX];

	test_sql(t, "SELECT id FROM block", block, sizeof(block));
	snprintf(prefix, sizeof(prefix), WINDOW_PREFIX "%s",
	         block + strlen(BLOB_BLOCK_PREFIX));
	ck_assert_int_eq(window_find_ids(&t->s, tenant, prefix, out), 0);
	ck_assert_uint_eq(out->n, 1);
}

TEST(series_and_bytes_of_hosts_are_held_by_their_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	int64_t at = days_ago(2);

	/* One series of each tenant was sent from here. The other one of this
	 * tenant was captured by the store's own worker, which has the name of
	 * a host of another tenant. */
	take(&t.s, TEST_TENANT, HERE, BLOCK_FRESH, at);
	take(&t.s, OTHER, HERE, BLOCK_FRESH, at);
	take(&t.s, OTHER, ELSEWHERE, BLOCK_FRESH, at);
	window_at(&t.s, TEST_TENANT, ELSEWHERE, WINDOW_MINUTE, at);
	ck_assert_int_eq(held(&t.s, TEST_TENANT, QUOTA_host_series), 1);
	ck_assert_int_eq(held(&t.s, OTHER, QUOTA_host_series), 2);
	ck_assert_int_eq(held(&t.s, TEST_TENANT, QUOTA_host_bytes), 1);
	ck_assert_int_eq(held(&t.s, OTHER, QUOTA_host_bytes), 2);
}
END

TEST(a_pinned_window_of_a_block_is_held_by_its_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_WINDOWS struct window_list l = {0};

	take(&t.s, OTHER, HERE, BLOCK_FRESH, days_ago(2));
	windows_of_block(&t, OTHER, &l);
	ck_assert_int_eq(window_pin(&t.s, OTHER, l.items[0].id, true), 0);
	ck_assert_int_eq(held(&t.s, OTHER, QUOTA_pins), 1);
	ck_assert_int_eq(held(&t.s, TEST_TENANT, QUOTA_pins), 0);
}
END

SUITE("block_owners");
