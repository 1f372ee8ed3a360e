/* Collectors of services: which addresses are accepted, and who learns why
 * profiles are not sent. */
#include "lib/api.h"
#include "lib/api_short.h"

#include <string.h>

#define SERVICES "/api/v1/services"
#define ALLOWED  "[collector]\nallow = localhost otel.test:4318\n"

static const struct {
	const char *collector;
	int status;
	const char *code;
} addresses[] = {
	{"", 200, ""},
	{"http://localhost:4318", 200, ""},
	{"https://127.0.0.1/v1development/profiles", 200, ""},
	{"http://otel.test:4318/x?a=b", 200, ""},
	{"http://otel.test:4319/", 403, "CollectorForbidden"},
	{"http://169.254.169.254/", 403, "CollectorForbidden"},
	{"localhost:4318", 400, "InvalidParameter"},
	{"ftp://localhost/", 400, "InvalidParameter"},
	{"http://u:p@localhost/", 400, "InvalidParameter"},
	{"http://localhost/a b", 400, "InvalidParameter"},
};

TEST(a_collector_is_an_address_that_configuration_lets_through)
{
	CLEANUP_API struct test_api a = test_api(1, ALLOWED);

	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[256];

		snprintf(body, sizeof(body), "{\"collector\":\"%s\"}",
		         addresses[i].collector);
		r = api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
		            body);
		ck_assert_msg(r.status == addresses[i].status, "%s: %s", body,
		              buf_str(&r.body));
		if (r.status != 200)
			assert_error(&r, r.status, addresses[i].code);
		else
			ck_assert_str_eq(reply_text(&r, "collector"),
			                 addresses[i].collector);
	}
}
END

TEST(a_tenant_without_a_scope_may_name_no_collector)
{
	CLEANUP_API struct test_api a = test_api(1, ALLOWED);
	CLEANUP_REPLY struct client_reply r =
		api_say(&a, KEY_OTHER, "POST", SERVICES,
	                "{\"name\":\"n\",\"collector\":\"http://localhost\"}");

	assert_error(&r, 403, "CollectorForbidden");
}
END

TEST(viewers_see_the_host_of_a_collector_only)
{
	static const struct {
		const char *collector, *seen;
	} rows[] = {
		{"", ""},
		{"http://localhost:4318", "http://localhost:4318"},
		{"https://127.0.0.1/secret/profiles", "https://127.0.0.1"},
		{"http://otel.test:4318/?key=secret", "http://otel.test:4318"},
	};
	CLEANUP_API struct test_api a = test_api(1, ALLOWED);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply set = {0}, one = {0},
						  all = {0}, own = {0};
		char body[256];

		snprintf(body, sizeof(body), "{\"collector\":\"%s\"}",
		         rows[i].collector);
		set = api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
		              body);
		ck_assert_int_eq(set.status, 200);
		one = api_get(&a, SERVICES "/" TEST_SERVICE);
		all = api_get(&a, SERVICES);
		own = api_say(&a, KEY_OPERATOR, "GET",
		              SERVICES "/" TEST_SERVICE, NULL);
		ck_assert_str_eq(reply_text(&one, "collector"), rows[i].seen);
		ck_assert_ptr_null(strstr(buf_str(&all.body), "secret"));
		ck_assert_str_eq(reply_text(&own, "collector"),
		                 rows[i].collector);
	}
}
END

/* Publishes the facts of a worker, which writes the text of problems
 * itself. */
static void
publish(struct test_api *a, const char *collectors)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"collectors\":%s}", collectors);
	test_worker(a, TEST_HOST, text);
}

#define PROBLEM(tenant, service)                            \
	"{\"tenant\":\"" tenant "\",\"service\":\"" service \
	"\",\"message\":\"the collector answers with "      \
	"503\",\"since\":1700000000000}"

TEST(a_problem_is_shown_with_its_service_to_its_tenant)
{
	static const struct {
		const char *problems;
		size_t n; /* those of svc */
	} rows[] = {
		{"[]", 0},
		{"[" PROBLEM(TEST_TENANT, TEST_SERVICE) "]", 1},
		{"[" PROBLEM("other", TEST_SERVICE) "]", 0},
		{"[" PROBLEM(TEST_TENANT, "other") "]", 0},
		{"[7, {}, " PROBLEM(TEST_TENANT, TEST_SERVICE) "]", 1},
		{"7", 0},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		const json_t *all, *first;
		char text[512];

		snprintf(text, sizeof(text), "{\"problems\":%s}",
		         rows[i].problems);
		publish(&a, text);
		r = api_get(&a, SERVICES "/" TEST_SERVICE);
		ck_assert_int_eq(r.status, 200);
		all = json_object_get(r.json, "collectorProblems");
		ck_assert_msg(json_array_size(all) == rows[i].n, "row %zu", i);
		if (!rows[i].n)
			continue;
		first = json_array_get(all, 0);
		ck_assert_str_eq(
			json_string_value(json_object_get(first, "host")),
			TEST_HOST);
		ck_assert_str_eq(
			json_string_value(json_object_get(first, "message")),
			"the collector answers with 503");
		ck_assert_str_eq(
			json_string_value(json_object_get(first, "since")),
			"2023-11-14T22:13:20.000Z");
	}
}
END

TEST(metrics_have_the_counts_of_each_host)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	publish(&a, "{\"sent\":7,\"dropped\":2,\"waiting\":\"x\"}");
	r = api_say(&a, KEY_ADMIN, "GET", "/metrics", NULL);
	ck_assert_int_eq(r.status, 200);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&r.body),
		"\nstoker_collector_sent_total{host=\"" TEST_HOST "\"} 7\n"));
	ck_assert_ptr_nonnull(
		strstr(buf_str(&r.body),
	               "\nstoker_collector_dropped_total{host=\"" TEST_HOST
	               "\"} 2\n"));
	ck_assert_ptr_nonnull(strstr(
		buf_str(&r.body),
		"\nstoker_collector_waiting{host=\"" TEST_HOST "\"} 0\n"));
}
END

SUITE("collectors");
