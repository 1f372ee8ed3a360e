/*
 * Metrics follow the conventions of Prometheus, and the alerts and the
 * dashboard of Stoker use metrics that exist.
 *
 * Source: prometheus.io/docs/practices/naming; promtool check metrics of
 * Prometheus 2.42.
 */
#include "base/clock.h"
#include "base/file.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/windows.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#define NAME_MAX_LEN 96

static struct client_reply
scrape(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.path = path, .scraper = true});
}

static bool
ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

/* Checks the two lines that come before the values of a metric. */
static void
assert_head(const char *help, const char *type)
{
	static const char *const units[] = {"_ms",    "_us", "_ns", "_minutes",
	                                    "_hours", "_kb", "_mb", "_percent"};
	char name[NAME_MAX_LEN], of[NAME_MAX_LEN], kind[16], first[8];

	ck_assert_msg(sscanf(help, "# HELP %95s %7s", name, first) == 2,
	              "no help: %.100s", help);
	ck_assert_msg(sscanf(type, "# TYPE %95s %15s", of, kind) == 2 &&
	                      !strcmp(of, name),
	              "no type: %.100s", type);
	ck_assert_msg(!strncmp(name, "stoker_", 7), "%s", name);
	for (const char *p = name; *p; p++)
		ck_assert_msg(islower((unsigned char)*p) || *p == '_', "%s",
		              name);
	ck_assert_msg(!strcmp(kind, "counter") == ends_in(name, "_total"),
	              "%s is a %s", name, kind);
	ck_assert_msg(!ends_in(name, "_count") && !ends_in(name, "_sum") &&
	                      !ends_in(name, "_bucket"),
	              "%s", name);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		ck_assert_msg(!ends_in(name, units[i]), "%s", name);
}

/* Returns the number of metrics. */
static size_t
assert_metrics(char *text)
{
	char *line, *help = NULL, *rest;
	char name[NAME_MAX_LEN] = "";
	size_t n = 0;

	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "# HELP ", 7)) {
			help = line;
		} else if (!strncmp(line, "# TYPE ", 7)) {
			ck_assert_ptr_nonnull(help);
			assert_head(help, line);
			ck_assert_int_eq(sscanf(line, "# TYPE %95s", name), 1);
			help = NULL;
			n++;
		} else { /* a value follows the two lines of its metric */
			ck_assert_msg(!strncmp(line, name, strlen(name)),
			              "%s stands below %s", line, name);
		}
	}
	return n;
}

TEST(metrics_have_help_a_type_and_a_name_by_the_conventions)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = scrape(&a, "/metrics");
	CLEANUP_REPLY struct client_reply f = scrape(&a, "/metrics/functions");

	ck_assert_int_eq(r.status, 200);
	ck_assert_int_eq(f.status, 200);
	ck_assert_uint_gt(assert_metrics(r.body.p), 20);
	ck_assert_uint_eq(assert_metrics(f.body.p), 3);
}
END

/* --- functions of services ------------------------------------------------ */

static void
name_metrics(struct test_api *a, const char *names)
{
	CLEANUP_REPLY struct client_reply r = {0};
	char body[256];

	snprintf(body, sizeof(body), "{\"metrics\":%s}", names);
	r = api_say(a, KEY_ADMIN, "PUT", "/api/v1/services/" TEST_SERVICE,
	            body);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_msg(strstr(buf_str(&r.body), names), "%s", buf_str(&r.body));
}

/* Stores a window that began some time ago. */
static void
window_of(struct test_api *a, int64_t ago_ms, const char *folded)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	char id[ID_MAX];

	test_window(&a->store.s,
	            &(struct test_window){.start_ms = clock_wall_ms() - ago_ms,
	                                  .span_ms = 10 * MS_PER_S,
	                                  .profile = p},
	            id);
}

#define OF "{tenant=\"" TEST_TENANT "\",service=\"" TEST_SERVICE "\""

static void
assert_has(const struct client_reply *r, const char *line)
{
	ck_assert_int_eq(r->status, 200);
	ck_assert_msg(strstr(buf_str(&r->body), line), "no %s in %s", line,
	              buf_str(&r->body));
}

TEST(functions_that_a_service_names_have_shares_of_the_last_minutes)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, own = {0};

	/* Recursion counts once; so do two functions of one package. */
	window_of(&a, 60 * MS_PER_S, "main;f;g;f 3\nmain;g 1\n");
	window_of(&a, 30 * MS_PER_S, "main;f<int, int>(\"x\") 4\n");
	window_of(&a, 600 * MS_PER_S, "main;old 100\n");
	name_metrics(&a, "[\"f\",\"g\",\"f<int, int>(\\\"x\\\")\",\"old\"]");
	all = scrape(&a, "/metrics/functions");
	assert_has(&all, "stoker_function_cpu_samples" OF "} 8\n");
	assert_has(&all, "stoker_function_cpu_ratio" OF ",name=\"f\"} 0.375\n");
	assert_has(&all,
	           "stoker_function_cpu_self_ratio" OF ",name=\"f\"} 0.375\n");
	assert_has(&all, "stoker_function_cpu_ratio" OF ",name=\"g\"} 0.5\n");
	assert_has(&all,
	           "stoker_function_cpu_self_ratio" OF ",name=\"g\"} 0.125\n");
	assert_has(&all, "stoker_function_cpu_ratio" OF
	                 ",name=\"f<int, int>(\\\"x\\\")\"} 0.5\n");
	assert_has(&all, "stoker_function_cpu_ratio" OF ",name=\"old\"} 0\n");
	own = ask(&a, (struct ask){.key = KEY_VIEWER,
	                           .path = "/metrics/functions"});
	ck_assert_str_eq(buf_str(&own.body), buf_str(&all.body));
}
END

TEST(services_that_name_none_or_have_no_recent_profile_have_no_shares)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply none = {0}, late = {0}, other = {0};

	window_of(&a, 60 * MS_PER_S, "main;f 3\n");
	none = scrape(&a, "/metrics/functions");
	ck_assert_ptr_null(strstr(buf_str(&none.body), "} "));
	name_metrics(&a, "[\"f\"]");
	other = ask(&a, (struct ask){.key = KEY_OTHER,
	                             .path = "/metrics/functions"});
	ck_assert_int_eq(other.status, 200);
	ck_assert_ptr_null(strstr(buf_str(&other.body), "} "));
	test_sql(&a.store, "DELETE FROM profile_window", NULL, 0);
	window_of(&a, 600 * MS_PER_S, "main;f 3\n");
	late = scrape(&a, "/metrics/functions");
	ck_assert_ptr_null(strstr(buf_str(&late.body), "} "));
}
END

TEST(a_service_names_some_functions_in_lines_of_their_own)
{
	static const char *const bad[] = {"[\"a\\nb\"]", "[\"\"]", "[7]",
	                                  "\"f\"", "[\"a\\tb\"]"};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[64];

		snprintf(body, sizeof(body), "{\"metrics\":%s}", bad[i]);
		r = api_say(&a, KEY_ADMIN, "PUT",
		            "/api/v1/services/" TEST_SERVICE, body);
		ck_assert_msg(r.status == 400, "%s: %s", body,
		              buf_str(&r.body));
	}
}
END

/* --- what alerts and dashboards ask for ---------------------------------- */

/* Returns whether a metric is exported; those of a keeper need not be. */
static bool
is_there(const char *metrics, const char *name)
{
	char head[NAME_MAX_LEN + 16];
	size_t n = strlen(name);

	if (!strcmp(name, "stoker_keeper_alive"))
		return true; /* exported if hosts share a database */
	if (ends_in(name, "_bucket"))
		n -= strlen("_bucket");
	snprintf(head, sizeof(head), "# TYPE %.*s ", (int)n, name);
	return strstr(metrics, head);
}

TEST(alerts_and_dashboards_ask_for_metrics_that_there_are)
{
	static const char *const files[] = {
		"conf/prometheus/stoker-rules.yml",
		"conf/prometheus/stoker-dashboard.json"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = scrape(&a, "/metrics");

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP_FD int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		CLEANUP_BUF struct buf text = BUF_INIT(1 << 20);
		const char *at;
		size_t n = 0;

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(fd_read_all(fd, &text), 0);
		for (at = buf_str(&text); (at = strstr(at, "stoker_")); n++) {
			char name[NAME_MAX_LEN];

			ck_assert_int_eq(sscanf(at, "%95[a-z_]", name), 1);
			ck_assert_msg(is_there(buf_str(&r.body), name),
			              "%s: no metric %s", files[i], name);
			at += strlen(name);
		}
		ck_assert_uint_gt(n, 10);
	}
}
END

SUITE("metrics");
