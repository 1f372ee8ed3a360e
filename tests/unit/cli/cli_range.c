/* stoker series, stoker merge and stoker ps: the tables that they print for an
 * answer of the server. */
#include "cli/cli.h"
#include "lib/http_server.h"
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

/* Ten minutes after midnight. */
static const struct screen person = {
	.width = 80, .times = true, .now_ms = INT64_C(1767226200000)};

/* Appends what the command prints for this answer. */
static void
shown(int (*command)(struct cli *c), struct cli *c, const char *answer,
      struct buf *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf url = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FD int written = memfd_create("written", MFD_CLOEXEC);
	CLEANUP(http_server_stop) struct http_server server;
	const char *const service[] = {"demo"};
	struct canned row = {.path = "*"};
	char text[4096];
	ssize_t n;

	ck_assert_int_eq(setenv("TZ", "UTC", 1), 0);
	tzset();
	buf_addf(&bytes, OK "%s", answer);
	row.bytes = buf_str(&bytes);
	http_server_start(&server, &row, 1);
	buf_addf(&url, "http://127.0.0.1:%u", server.port);
	c->http.server = buf_str(&url);
	c->operands = service;
	c->noperands = 1;
	ck_assert_int_ge(dup2(written, STDOUT_FILENO), 0);
	ck_assert_int_eq(command(c), LEAVE_OK);
	n = pread(written, text, sizeof(text), 0);
	ck_assert_int_ge(n, 0);
	buf_add(out, text, (size_t)n);
	c->http.server = NULL;
	http_done(&c->http);
}

/* Minutes without a profile have neither value nor rate. */
static const char points[] =
	"{\"profileType\": \"cpu\", \"points\": ["
	"{\"t\": \"2026-01-01T00:00:00Z\", \"coveredSeconds\": 0,"
	" \"value\": null, \"rate\": null, \"share\": null},"
	"{\"t\": \"2026-01-01T00:01:00Z\", \"coveredSeconds\": 60,"
	" \"value\": 30000000000, \"rate\": 500000000, \"share\": 0.25},"
	"{\"t\": \"2026-01-01T00:02:00Z\", \"coveredSeconds\": 0,"
	" \"value\": null, \"rate\": null, \"share\": null},"
	"{\"t\": \"2026-01-01T00:03:00Z\", \"coveredSeconds\": 60,"
	" \"value\": 60000000000, \"rate\": 1000000000, \"share\": 0.5},"
	"{\"t\": \"2026-01-01T00:04:00Z\", \"coveredSeconds\": 0,"
	" \"value\": null, \"rate\": null, \"share\": null}]}";

TEST(a_series_shows_what_a_function_cost_its_share_and_bars)
{
	struct cli c = {.opt = {.function = "f"}, .screen = person};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shown(cmd_series, &c, points, &out);
	ck_assert_str_eq(buf_str(&out),
	                 "TIME      COVERED S     COST  PER SECOND  SHARE %\n"
	                 "00:01:00       60.0  30.00 s   500.00 ms     25.0  "
	                 "###########\n"
	                 "00:02:00        0.0\n"
	                 "00:03:00       60.0  60.00 s      1.00 s     50.0  "
	                 "######################\n");
}
END

TEST(all_functions_together_have_no_share)
{
	struct cli c = {.screen = person};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shown(cmd_series, &c, points, &out);
	ck_assert_str_eq(
		buf_str(&out),
		"TIME      COVERED S     COST  PER SECOND\n"
		"00:01:00       60.0  30.00 s   500.00 ms  ###########\n"
		"00:02:00        0.0\n"
		"00:03:00       60.0  60.00 s      1.00 s  "
		"######################\n");
}
END

TEST(a_program_reads_every_column_of_a_series)
{
	struct cli c = {0};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shown(cmd_series, &c, points, &out);
	ck_assert_str_eq(buf_str(&out),
	                 "TIME                  COVERED S     COST  PER SECOND "
	                 " SHARE %\n"
	                 "2026-01-01T00:01:00Z       60.0  30.00 s   500.00 ms "
	                 "    25.0  ###########\n"
	                 "2026-01-01T00:02:00Z        0.0\n"
	                 "2026-01-01T00:03:00Z       60.0  60.00 s      1.00 s "
	                 "    50.0  ######################\n");
}
END

TEST(bars_of_a_mean_are_of_its_values)
{
	struct cli c = {.screen = person};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shown(cmd_series, &c,
	      "{\"profileType\": \"memory\", \"points\": ["
	      "{\"t\": \"2026-01-01T00:01:00Z\", \"coveredSeconds\": 60,"
	      " \"value\": 1048576, \"rate\": null},"
	      "{\"t\": \"2026-01-01T00:02:00Z\", \"coveredSeconds\": 60,"
	      " \"value\": 2097152, \"rate\": null}]}",
	      &out);
	ck_assert_str_eq(
		buf_str(&out),
		"TIME      COVERED S      COST\n"
		"00:01:00       60.0  1.00 MiB  ###########\n"
		"00:02:00       60.0  2.00 MiB  ######################\n");
}
END

TEST(a_series_of_an_idle_service_has_no_bars)
{
	struct cli c = {.screen = person};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shown(cmd_series, &c,
	      "{\"profileType\": \"cpu\", \"points\": ["
	      "{\"t\": \"2026-01-01T00:01:00Z\", \"coveredSeconds\": 60,"
	      " \"value\": 0, \"rate\": 0}]}",
	      &out);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "\n00:01:00 "));
	ck_assert_ptr_null(strchr(buf_str(&out), '#'));
}
END

static const struct {
	int gaps;
	const char *aggregation, *range, *total;
} merged[] = {
	{0, "sum", "90.5 s covered\n", "\ntotal:       12.00 s\n"},
	{1, "sum", "90.5 s covered, 1 gap\n", "\ntotal:       12.00 s\n"},
	{2, "mean", "90.5 s covered, 2 gaps\n", "\nmean:        12.00 s\n"},
};

TEST(a_merge_says_what_it_is_made_of)
{
	for (size_t i = 0; i < ARRAY_LEN(merged); i++) {
		struct cli c = {.opt = {.limit = -1}, .screen = person};
		CLEANUP_BUF struct buf want = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf answer = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&answer,
		         "{\"profileType\": \"cpu\", \"source\": \"windows\","
		         " \"sampleCount\": 1200, \"total\": 12000000000,"
		         " \"from\": \"2026-01-01T00:00:00Z\","
		         " \"to\": \"2026-01-01T00:02:00Z\","
		         " \"coveredSeconds\": 90.5, \"topFunctions\": [],"
		         " \"flameGraphUrl\": \"http://h/flame\","
		         " \"gapCount\": %d, \"aggregation\": \"%s\"}",
		         merged[i].gaps, merged[i].aggregation);
		shown(cmd_merge, &c, buf_str(&answer), &out);
		buf_addf(&want,
		         "no samples\n\n"
		         "range:       00:00:00 to 00:02:00, %s"
		         "made of:     windows, 1200 samples%s"
		         "flame graph:\nhttp://h/flame\n",
		         merged[i].range, merged[i].total);
		ck_assert_str_eq(buf_str(&out), buf_str(&want));
	}
}
END

/* --- when ----------------------------------------------------------------- */

#define LEVEL(per_second, share)                                              \
	"{\"perSecond\": " per_second ", \"share\": " share ", \"samples\": " \
	"9, \"seconds\": 600}"
#define STEADY                                                               \
	"\"whole\": {\"function\": \"\", \"cost\": \"total\", \"samples\": " \
	"460, \"leastFactor\": 1.42, \"shifts\": []}"

static const char when_shifted[] =
	"{\"profileType\": \"cpu\", \"aggregation\": \"sum\", \"tested\": 1,"
	"\"functions\": [{\"function\": \"discount_lookup\", \"cost\": "
	"\"self\", \"samples\": 87, \"leastFactor\": 3, \"shifts\": [{"
	"\"at\": \"2026-01-01T20:16:30Z\", \"earliest\": "
	"\"2026-01-01T20:15:50Z\", \"latest\": \"2026-01-01T20:16:40Z\","
	"\"factor\": 2.6, \"before\": " LEVEL(
		"4000000", "0.05") ", \"after\": " LEVEL("10400000",
                                                         "0.13") "}]}]," STEADY
								 "}";

TEST(when_prints_factor_time_and_interval_within_80_columns)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	/* 1 January, at 22:00 UTC */
	struct cli c = {.screen = {.width = 80,
	                           .times = true,
	                           .now_ms = 1767304800000}};

	shown(cmd_when, &c, when_shifted, &out);
	ck_assert_str_eq(
		buf_str(&out),
		"discount_lookup costs 2.6 times as much since 20:16:30 "
		"(between 20:15:50 and\n"
		"  20:16:40): 10.40 ms per second, 13.0 % of all; before, "
		"4.00 ms per second, 5.0\n"
		"  % of all.\n"
		"The service as a whole is steady: no change found in 460 "
		"samples; one to 1.4\n"
		"  times as much would show.\n");
}
END

TEST(when_says_that_samples_are_too_few)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct cli c = {0};

	shown(cmd_when, &c,
	      "{\"profileType\": \"cpu\", \"aggregation\": \"sum\", "
	      "\"tested\": "
	      "1, \"functions\": [{\"function\": \"f\", \"cost\": \"self\", "
	      "\"samples\": 27, \"leastFactor\": null, \"shifts\": []}]," STEADY
	      "}",
	      &out);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&out),
	               "f: cannot be determined: 27 samples are too few.\n"));
}
END

/* Samples without the label are a group, too. */
TEST(groups_are_rows_with_their_share_and_the_other_keys)
{
	struct cli c = {.screen = person};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shown(cmd_groups, &c,
	      "{\"profileType\": \"cpu\", \"by\": \"sample.http.route\","
	      " \"keys\": [{\"by\": \"host\", \"values\": 2},"
	      " {\"by\": \"sample.http.route\", \"values\": 3}],"
	      " \"groups\": [{\"value\": \"/cart\", \"cost\": 6e10,"
	      " \"perSecond\": 1e9, \"share\": 0.75},"
	      " {\"value\": \"\", \"cost\": 1e10,"
	      " \"perSecond\": null, \"share\": null}],"
	      " \"groupsLeft\": 1}",
	      &out);
	ck_assert_str_eq(buf_str(&out),
	                 "VALUE      COST  PER SECOND  SHARE %\n"
	                 "/cart   60.00 s      1.00 s     75.0\n"
	                 "(none)  10.00 s\n"
	                 "1 more are not shown\n"
	                 "by sample.http.route; other keys: host\n");
}
END

/* Both looks get the same answer. The process has no pid, so the second look
 * does not find it in the first. */
TEST(a_program_that_starts_between_two_looks_may_use_several_cpus)
{
	static const struct {
		const char *age;
		bool counted;
	} rows[] = {{"\"ageSeconds\": 0.5", true},
	            {"\"ageSeconds\": 3600", false},
	            {"\"ageSeconds\": null", false}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cli c = {.screen = person};
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL),
				       answer = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&answer,
		         "{\"items\": [{\"host\": \"a\", \"answered\": true, "
		         "\"found\": "
		         "{\"processes\": [{\"unit\": \"demo.service\", "
		         "\"executable\": \"/usr/bin/demo\", \"command\": "
		         "\"demo\", \"processes\": 1, \"cpuSeconds\": 4, "
		         "%s}]}}]}",
		         rows[i].age);
		shown(cmd_ps, &c, buf_str(&answer), &out);
		ck_assert_msg(!strstr(buf_str(&out), ": 1 process, 0.0 % of") ==
		                      rows[i].counted,
		              "%s: %s", rows[i].age, buf_str(&out));
	}
}
END

SUITE("cli_range");
