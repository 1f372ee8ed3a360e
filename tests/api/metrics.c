/*
 * Metrics follow the conventions of Prometheus, and the alerts and the
 * dashboard of Stoker use metrics that exist.
 *
 * Source: prometheus.io/docs/practices/naming; promtool check metrics of
 * Prometheus 2.42.
 */
#include "base/file.h"
#include "lib/api_short.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#define NAME_MAX_LEN 96

static struct client_reply
scrape(struct test_api *a)
{
	return ask(a, (struct ask){.path = "/metrics", .scraper = true});
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

TEST(metrics_have_help_a_type_and_a_name_by_the_conventions)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = scrape(&a);
	char *text = r.body.p, *line, *help = NULL, *rest;
	char name[NAME_MAX_LEN] = "";
	size_t n = 0;

	ck_assert_int_eq(r.status, 200);
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
		} else { /* a value follows the head of its metric */
			ck_assert_msg(!strncmp(line, name, strlen(name)),
			              "%s stands below %s", line, name);
		}
	}
	ck_assert_uint_gt(n, 20);
}
END

/* Returns whether a metric is exported; a keeper's need not be. */
static bool
is_there(const char *metrics, const char *name)
{
	char head[NAME_MAX_LEN + 16];
	size_t n = strlen(name);

	if (!strcmp(name, "stoker_keeper_alive"))
		return true; /* exists if hosts share a database */
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
	CLEANUP_REPLY struct client_reply r = scrape(&a);

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
