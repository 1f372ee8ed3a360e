/*
 * Hosts as operators see them: a tenant sees the hosts of a fleet that are its
 * own, how far they have sent, and what waits there.
 */
#include "base/clock.h"
#include "lib/api_short.h"
#include "lib/gateway.h"
#include "store/continuous.h"
#include "store/worker.h"

#include <stdlib.h>
#include <string.h>

#define BEAT  "\"version\":\"1.2\",\"bootId\":\"b\",\"pid\":7"
#define FOUND "the host found that"
#define CAN                                                             \
	"\"capabilities\":{\"checks\":[{\"part\":\"worker\",\"check\":" \
	"\"events\",\"verdict\":\"broken\",\"found\":\"" FOUND          \
	"\",\"fix\":\"y\"}],"                                           \
	"\"continuous\":{\"watched\":1}}"

/* Polls as TEST_AGENT, the host of the worker's key; TEST_HOST shares the
 * store. */
static void
poll_of_host(struct test_api *a, const char *members)
{
	CLEANUP_BUF struct buf body = BUF_INIT(4096);
	CLEANUP_REPLY struct client_reply r = {0};

	buf_addf(&body, "{" BEAT "," CAN "%s%s}", *members ? "," : "", members);
	r = api_say(a, KEY_WORKER, "POST", "/agent/poll", buf_str(&body));
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
}

static struct client_reply
get_as(struct test_api *a, enum api_key key, const char *path)
{
	struct client_reply r = ask(a, (struct ask){.key = key, .path = path});

	ck_assert_msg(r.status == 200, "%s: %s", path, buf_str(&r.body));
	return r;
}

static const json_t *
host_of(const struct client_reply *r, const char *host)
{
	for (size_t i = 0; i < length_of(r, "items"); i++)
		if (!strcmp(text_of(item_of(r, "items", i), "host"), host))
			return item_of(r, "items", i);
	return NULL;
}

TEST(a_host_of_a_fleet_is_shown_to_its_own_tenants)
{
	static const char *const paths[] = {"/api/v1/workers",
	                                    "/api/v1/checks"};
	CLEANUP_API struct test_api a = test_api(1, "");

	poll_of_host(&a, "");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP_REPLY struct client_reply mine = get_as(&a, KEY_VIEWER,
		                                                paths[i]),
						  others = get_as(&a, KEY_OTHER,
		                                                  paths[i]);

		ck_assert_ptr_nonnull(host_of(&mine, TEST_AGENT));
		ck_assert_msg(!host_of(&others, TEST_AGENT), "%s", paths[i]);
	}
}
END

/* Adds a service of a tenant that is profiled all the time. */
static void
add_service(struct test_api *a, const char *tenant)
{
	const struct continuous on = test_continuous(tenant);

	if (strcmp(tenant, TEST_TENANT) != 0)
		test_tenant(&a->store.s, tenant);
	ck_assert_int_eq(continuous_put(&a->store.s, &on), 0);
}

/* A finding of the host concerns services of its own tenants only. */
TEST(what_a_host_of_a_fleet_found_is_told_to_its_own_tenants)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{"/api/v1/services", "\"reason\":\"" FOUND "\""},
		{API_PROFILES "/continuous", "\"host\":\"" TEST_AGENT "\""},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	add_service(&a, TEST_TENANT);
	add_service(&a, "other");
	poll_of_host(&a, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply mine = get_as(&a, KEY_VIEWER,
		                                                rows[i].path),
						  others = get_as(&a, KEY_OTHER,
		                                                  rows[i].path);

		ck_assert_msg(strstr(buf_str(&mine.body), rows[i].text) != NULL,
		              "%s", buf_str(&mine.body));
		ck_assert_uint_eq(length_of(&others, "items"), 1);
		ck_assert_msg(!strstr(buf_str(&others.body), rows[i].text),
		              "%s", buf_str(&others.body));
	}
}
END

TEST(a_worker_of_this_store_is_shown_to_all)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		get_as(&a, KEY_OTHER, "/api/v1/workers");
	const json_t *w = host_of(&r, TEST_HOST);

	ck_assert_ptr_nonnull(w);
	ck_assert(json_is_false(json_object_get(w, "joined")));
	ck_assert_uint_eq(json_array_size(json_object_get(w, "arrived")), 0);
	ck_assert(json_is_null(json_object_get(w, "waitingWindows")));
}
END

/* An attacker in another process of the API could write such a row. */
TEST(a_level_that_is_none_is_not_shown)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, m = {0};

	poll_of_host(&a, "");
	test_sql(&a.store,
	         "INSERT INTO block_cursor (tenant, host, tier, end_ms) "
	         "VALUES ('t', '" TEST_AGENT "', 1000000, 60000)",
	         NULL, 0);
	r = api_get(&a, "/api/v1/workers");
	m = ask(&a, (struct ask){.path = "/metrics", .scraper = true});
	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(json_array_size(json_object_get(
				  host_of(&r, TEST_AGENT), "arrived")),
	                  0);
	ck_assert_int_eq(m.status, 200);
}
END

TEST(metrics_name_a_host_to_its_own_tenants_and_to_scrapers)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply scraped = {0}, mine = {0},
					  others = {0};
	static const char lag[] = "stoker_host_lag_seconds{host=\"" TEST_AGENT
				  "\",tenant=\"t\",level=\"minute\"} ";

	poll_of_host(&a, "\"clockMs\":5,\"waitingBytes\":9");
	test_sql(&a.store,
	         "INSERT INTO block_cursor (tenant, host, tier, end_ms) "
	         "VALUES ('t', '" TEST_AGENT "', 0, 60000)",
	         NULL, 0);
	mine = get_as(&a, KEY_VIEWER, "/metrics");
	others = get_as(&a, KEY_OTHER, "/metrics");
	scraped = ask(&a, (struct ask){.path = "/metrics", .scraper = true});
	ck_assert_ptr_null(strstr(buf_str(&others.body), TEST_AGENT));
	for (int i = 0; i < 2; i++) {
		const char *text = buf_str(i ? &mine.body : &scraped.body);

		ck_assert_msg(strstr(text, lag) != NULL, "%s", text);
		ck_assert_ptr_nonnull(strstr(
			text, "stoker_host_waiting_bytes{host=\"" TEST_AGENT
			      "\"} 9\n"));
		ck_assert_ptr_nonnull(strstr(
			text, "stoker_continuous_watched{host=\"" TEST_AGENT
			      "\"} 1\n"));
	}
}
END

TEST(a_host_tells_what_waits_there)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *w;

	poll_of_host(&a, "\"clockMs\":5000,\"waitingWindows\":3,"
	                 "\"waitingBytes\":4096,\"waitingMs\":7200000,"
	                 "\"waitingResults\":2");
	r = get_as(&a, KEY_VIEWER, "/api/v1/workers");
	w = host_of(&r, TEST_AGENT);
	ck_assert(json_is_true(json_object_get(w, "joined")));
	ck_assert_double_eq(
		json_number_value(json_object_get(w, "waitingWindows")), 3);
	ck_assert_double_eq(
		json_number_value(json_object_get(w, "waitingBytes")), 4096);
	ck_assert_double_eq(
		json_number_value(json_object_get(w, "waitingResults")), 2);
	ck_assert_int_eq(strlen(text_of(w, "waitingSince")), 24);
	/* a clock of 1970 is far behind */
	ck_assert_double_lt(
		json_number_value(json_object_get(w, "clockOffsetSeconds")),
		-1e9);
}
END

/* Earlier releases do not report these members, and earlier reports are then
 * forgotten. */
TEST(a_host_that_tells_nothing_has_nothing_told_of_it)
{
	static const char *const members[] = {"waitingWindows", "waitingBytes",
	                                      "waitingResults", "waitingSince",
	                                      "clockOffsetSeconds"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *w;

	poll_of_host(&a, "\"clockMs\":5000,\"waitingWindows\":3,"
	                 "\"waitingBytes\":4096,\"waitingMs\":7200000");
	poll_of_host(&a, "");
	r = get_as(&a, KEY_VIEWER, "/api/v1/workers");
	w = host_of(&r, TEST_AGENT);
	ck_assert_ptr_nonnull(w);
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		ck_assert_msg(json_is_null(json_object_get(w, members[i])),
		              "%s", members[i]);
}
END

TEST(a_host_tells_no_more_than_can_be)
{
	static const char *const bodies[] = {
		"{\"clockMs\":-1}",
		"{\"clockMs\":10000000000000}",
		"{\"clockMs\":\"x\"}",
		"{\"waitingWindows\":-1}",
		"{\"waitingWindows\":1000000000001}",
		"{\"waitingBytes\":1000000000000001}",
		"{\"waitingMs\":10000000000000}",
		"{\"waitingResults\":257}",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		CLEANUP_REPLY struct client_reply bad = api_say(
			&a, KEY_WORKER, "POST", "/agent/poll", bodies[i]);

		ck_assert_msg(bad.status == 400, "%s", bodies[i]);
	}
	/* both are the largest that are accepted */
	poll_of_host(&a, "\"clockMs\":9999999999999,\"waitingWindows\":1,"
	                 "\"waitingMs\":9999999999999");
	r = get_as(&a, KEY_VIEWER, "/api/v1/workers");
	ck_assert_str_eq(text_of(host_of(&r, TEST_AGENT), "waitingSince"),
	                 "1970-01-01T00:00:00.001Z");
}
END

TEST(windows_that_arrived_are_told_by_level_and_tenant)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *arrived, *minute;

	poll_of_host(&a, "");
	test_sql(&a.store,
	         "INSERT INTO block_cursor (tenant, host, tier, end_ms) "
	         "VALUES ('t', '" TEST_AGENT "', 0, 180000),"
	         "       ('t', '" TEST_AGENT "', 1, 120000),"
	         "       ('t', '" TEST_AGENT "', 2, 60000),"
	         "       ('t2', '" TEST_AGENT "', 3, 240000),"
	         "       ('t', 'else', 0, 240000)",
	         NULL, 0);
	r = get_as(&a, KEY_VIEWER, "/api/v1/workers");
	arrived = json_object_get(host_of(&r, TEST_AGENT), "arrived");
	ck_assert_uint_eq(json_array_size(arrived), 2);
	minute = json_array_get(arrived, 0);
	ck_assert_str_eq(text_of(minute, "level"), "minute");
	ck_assert_str_eq(text_of(minute, "until"), "1970-01-01T00:03:00.000Z");
	ck_assert_int_gt(number_of(minute, "lagSeconds"), 1000000000);
	ck_assert_str_eq(text_of(json_array_get(arrived, 1), "level"), "hour");
}
END

/* A worker that shares the store on another machine compares the clocks
 * itself. */
TEST(a_clock_that_is_off_is_shown_of_every_worker)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply ready = {0}, list = {0},
					  metrics = {0}, well = {0};

	well = ask(&a, (struct ask){.path = "/readyz"});
	ck_assert_str_eq(reply_text(&well, "clocks"), "ok");
	test_sql(&a.store,
	         "UPDATE worker SET clock_ms = -600000 WHERE host = '" TEST_HOST
	         "'",
	         NULL, 0);
	ready = ask(&a, (struct ask){.path = "/readyz"});
	ck_assert_int_eq(ready.status, 200);
	ck_assert_str_eq(reply_text(&ready, "clocks"),
	                 "1 of 1 hosts are off, by up to 10 min behind");
	list = get_as(&a, KEY_VIEWER, "/api/v1/workers");
	ck_assert_double_eq(
		json_number_value(json_object_get(host_of(&list, TEST_HOST),
	                                          "clockOffsetSeconds")),
		-600);
	metrics = ask(&a, (struct ask){.path = "/metrics", .scraper = true});
	ck_assert_ptr_nonnull(
		strstr(buf_str(&metrics.body),
	               "stoker_host_clock_offset_seconds{host=\"" TEST_HOST
	               "\"} -600.000\n"));
}
END

/* The host measures the difference by the answer's time, without the time that
 * the network took. */
TEST(a_host_learns_the_time_of_its_centre)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	int64_t before = clock_wall_ms(), now;

	r = ask(&a, (struct ask){.key = KEY_WORKER,
	                         .method = "POST",
	                         .path = "/agent/poll",
	                         .body = "{" BEAT "}"});
	ck_assert_int_eq(r.status, 200);
	now = json_integer_value(json_object_get(r.json, "nowMs"));
	/* PostgreSQL rounds to the nearest millisecond. */
	ck_assert_int_ge(now, before);
	ck_assert_int_le(now, clock_wall_ms() + 1);
}
END

/* --- the command line ----------------------------------------------------- */

/* Makes a host that reports everything, and whose name is too long for a
 * line. */
#define LONG "agent-of-a-name-that-takes-more-than-half-a-line.example.com"

static void
fill(struct test_api *a)
{
	CLEANUP_BUF struct buf sql = BUF_INIT(4096);
	long long now = clock_wall_ms();

	poll_of_host(a, "\"clockMs\":5000,\"waitingWindows\":3,"
	                "\"waitingBytes\":1289748,\"waitingMs\":7300000,"
	                "\"waitingResults\":2");
	buf_addf(&sql,
	         "INSERT INTO block_cursor (tenant, host, tier, end_ms) VALUES "
	         "('t', '" LONG "', 1, %lld), ('t', '" LONG "', 2, %lld), "
	         "('t', '" LONG "', 3, %lld); "
	         "UPDATE worker SET host = '" LONG "', clock_ms = -3600, "
	         "heartbeat_ms = %lld, alive_until_ms = 0 "
	         "WHERE host = '" TEST_AGENT "'",
	         now - 300500, now - 10800500, now - 259200500, now - 630000);
	test_sql(&a->store, buf_str(&sql), NULL, 0);
}

TEST(hosts_are_listed_within_eighty_columns)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_GATEWAY struct gateway g = gateway_start(&a);

	fill(&a);
	setenv("STOKER_COLUMNS", "80", 1);
	gateway_shows(
		&g, "hosts", 0,
		"HOST                      VERSION  HEARD  MINUTES  HOURS  "
		"DAYS  OLDEST     WAITS\n"
		"agent-of-a-n…example.com  1.2        10m       5m     3h    "
		"3d      2h  1.23 MiB\n"
		"    its worker is silent; 2 results of captures wait; its "
		"clock is 3.6 s behind\n"
		"host1                     1          *s\n");
	unsetenv("STOKER_COLUMNS");
	gateway_shows(&g, "hosts --json", 0, "*\"waitingBytes\": 1289748*");
}
END

/* Runs doctor about the hosts; writes its rows as JSON. */
static void
doctor(struct test_api *a, struct buf *out)
{
	CLEANUP_GATEWAY struct gateway g = gateway_start(a);

	(void)gateway_stoker(&g, KEY_ADMIN, "doctor --json", out);
}

TEST(doctor_warns_of_hosts_that_are_silent_or_lag)
{
	static const struct {
		const char *told, *sql, *found, *fix;
	} rows[] = {
		{"", "", "1 joined, 0 in need of care", ""},
		{"",
	         "UPDATE worker SET alive_until_ms = 0, heartbeat_ms = "
	         "heartbeat_ms - 7300000 WHERE host = '" TEST_AGENT "'",
	         TEST_AGENT ": silent for 2 h",
	         "there: systemctl restart stoker-worker"},
		{",\"waitingWindows\":12,\"waitingMs\":700000", "",
	         TEST_AGENT ": 12 windows wait there, the oldest for 12 min",
	         "there: journalctl -u stoker-worker -n 20"},
		{",\"waitingWindows\":12,\"waitingMs\":500000", "",
	         "1 joined, 0 in need of care", ""},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf told = BUF_INIT(1024);
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&told, "\"clockMs\":%lld%s",
		         (long long)clock_wall_ms(), rows[i].told);
		poll_of_host(&a, buf_str(&told));
		if (*rows[i].sql)
			test_sql(&a.store, rows[i].sql, NULL, 0);
		doctor(&a, &out);
		ck_assert_msg(strstr(buf_str(&out), rows[i].found) != NULL,
		              "%zu: %s", i, buf_str(&out));
		ck_assert_msg(strstr(buf_str(&out), rows[i].fix) != NULL,
		              "%zu: %s", i, buf_str(&out));
	}
}
END

SUITE("workers");
