/* The lists of processes that stoker service add and stoker run print. */
#include "cli/cli.h"
#include "cli/survey.h"
#include "lib/http_server.h"
#include "lib/test.h"

#include <string.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

static const char idle[] =
	"{\"items\":[{\"host\":\"vm\",\"answered\":true,\"found\":{"
	"\"matching\":0,\"outOfScope\":0,\"processes\":["
	"{\"pid\":7,\"unit\":\"postgresql@15-main.service\","
	"\"executable\":\"/usr/lib/postgresql/15/bin/postgres\"},"
	"{\"pid\":8,\"unit\":\"postgresql@15-main.service\","
	"\"executable\":\"/usr/lib/postgresql/15/bin/postgres\"},"
	"{\"pid\":9,\"unit\":\"cron.service\","
	"\"executable\":\"/usr/sbin/cron\"},"
	"{\"pid\":10,\"unit\":\"app.service\","
	"\"executable\":\"/usr/bin/python3.11\"}]}}]}";

/* Appends what is printed if the server answers every survey like this. */
static void
survey_of(const char *answer, const char *match, size_t width, struct buf *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf url = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP(http_server_stop) struct http_server server;
	CLEANUP_JSON json_t *j = json_loads(match, 0, NULL);
	struct canned row = {.path = "*"};
	struct cli c = {.screen = {.width = width}};

	buf_addf(&bytes, OK "%s", answer);
	row.bytes = buf_str(&bytes);
	http_server_start(&server, &row, 1);
	buf_addf(&url, "http://127.0.0.1:%u", server.port);
	c.http.server = buf_str(&url);
	survey_show(&c, j, "stoker service set svc", out);
	c.http.server = NULL;
	http_done(&c.http);
}

static void
shows(const char *answer, const char *match, const char *want)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	survey_of(answer, match, 0, &out);
	ck_assert_str_eq(buf_str(&out), want);
}

TEST(processes_that_match_are_listed)
{
	shows("{\"items\":[{\"host\":\"vm\",\"answered\":true,\"found\":{"
	      "\"matching\":1,\"processes\":[{\"pid\":22178,"
	      "\"command\":\"/usr/bin/redis-server *:6379\"}]}}]}",
	      "{\"exe\":\"/usr/bin/redis-server\"}",
	      "1 process matches now:\n"
	      "  22178 /usr/bin/redis-server *:6379\n");
}
END

TEST(processes_of_several_hosts_name_their_host)
{
	shows("{\"items\":[{\"host\":\"a\",\"answered\":true,\"found\":{"
	      "\"matching\":1,\"processes\":[{\"pid\":1,\"command\":\"x\"}]}},"
	      "{\"host\":\"b\",\"answered\":true,\"found\":{\"matching\":8,"
	      "\"processes\":[{\"pid\":2,\"command\":\"y\"}]}}]}",
	      "{\"exe\":\"/x\"}",
	      "9 processes match now:\n"
	      "  1 a x\n"
	      "  2 b y\n"
	      "  and 4 more\n");
}
END

TEST(a_long_command_is_cut_to_the_screen)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	survey_of("{\"items\":[{\"host\":\"a\",\"answered\":true,\"found\":{"
	          "\"matching\":1,\"processes\":[{\"pid\":1,"
	          "\"command\":\"a command of many words\"}]}}]}",
	          "{\"exe\":\"/x\"}", 16, &out);
	ck_assert_str_eq(buf_str(&out), "1 process matches now:\n"
	                                "  1 a command o…\n");
}
END

TEST(a_unit_without_processes_names_those_like_it)
{
	shows(idle, "{\"unit\":\"postgresql.service\"}",
	      "no process matches now; units like it that have processes:\n"
	      "  postgresql@15-main.service\n"
	      "to take it:\n"
	      "  stoker service set svc --unit postgresql@15-main.service\n");
}
END

TEST(a_mistyped_unit_names_the_one_that_was_meant)
{
	shows(idle, "{\"unit\":\"crno.service\"}",
	      "no process matches now; units like it that have processes:\n"
	      "  cron.service\n"
	      "to take it:\n"
	      "  stoker service set svc --unit cron.service\n");
}
END

TEST(a_mistyped_program_names_the_one_that_was_meant)
{
	shows(idle, "{\"exe\":\"/opt/pyhton\"}",
	      "no process matches now; programs like it that have "
	      "processes:\n"
	      "  /usr/bin/python3.11\n"
	      "to take it:\n"
	      "  stoker service set svc --exe /usr/bin/python3.11\n");
}
END

TEST(nothing_near_is_said)
{
	shows(idle, "{\"unit\":\"doesnotexist.service\"}",
	      "no process matches now; stoker ps lists what runs\n");
	shows(idle, "{\"cmdline\":\"cron\"}",
	      "no process matches now; stoker ps lists what runs\n");
}
END

TEST(processes_outside_of_the_scope_are_counted)
{
	shows("{\"items\":[{\"host\":\"a\",\"answered\":true,\"found\":{"
	      "\"matching\":0,\"outOfScope\":3,\"processes\":[]}}]}",
	      "{\"exe\":\"/x\"}",
	      "no process that may be profiled matches now: 3 outside of the "
	      "tenant's scope do\n");
}
END

TEST(a_survey_that_no_worker_answered_says_so)
{
	static const char *const answers[] = {
		"{\"items\":[]}",
		"{\"items\":[{\"host\":\"a\",\"answered\":false,"
		"\"found\":{}}]}",
	};

	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		shows(answers[i], "{\"exe\":\"/x\"}", NO_WORKER "\n");
}
END

TEST(a_survey_that_the_server_refuses_shows_nothing)
{
	static const char *const answers[] = {"{\"message\":\"no\"}", "[1]"};

	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		shows(answers[i], "{\"exe\":\"/x\"}", "");
}
END

SUITE("cli_survey");
