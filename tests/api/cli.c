/*
 * The command line against the API: what is typed, the status it leaves with,
 * and what is shown. The rows of a test follow one another in one store.
 */
#include "lib/gateway.h"

#include "base/file.h"

#include <fcntl.h>
#include <glob.h>
#include <string.h>

#define GOROUTINE_1                                 \
	"goroutine 1 [chan receive, 12 minutes]:\n" \
	"main.f(0x1)\n\t/src/app.go:12 +0x1d\n"     \
	"main.main()\n\t/src/app.go:40 +0x2c\n\n"
#define GOROUTINE(id)                                                   \
	"goroutine " #id " [select]:\nmain.g(0x1)\n"                    \
	"\t/src/app.go:22 +0x1d\ncreated by main.main in goroutine 1\n" \
	"\t/src/app.go:40 +0x2c\n\n"

static const struct {
	const char *name, *text;
} files[] = {
	{"a.folded", "main;parse;read 40\nmain;parse 20\n"
                     "main;render;draw 30\nmain 10\n"},
	{"b.folded", "main;parse;read 20\nmain;parse 10\n"
                     "main;render;draw 60\nmain 10\n"},
	{"a.txt", GOROUTINE_1 GOROUTINE(7)},
	{"b.txt", GOROUTINE_1 GOROUTINE(7) GOROUTINE(8)},
	{"services.json",
         "[{\"name\":\"x\",\"match\":{\"exe\":\"/opt/app/x\"}},"
         "{\"name\":\"web\",\"match\":{\"exe\":\"/opt/app/y\"}}]"},
};

struct shown {
	const char *args;
	int status;
	const char *pattern;
};

static void
write_files(const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		ck_assert_int_eq(
			fd_write_all(fd, files[i].text, strlen(files[i].text)),
			0);
		close(fd);
	}
}

/* Removes what commands made beside the store. */
static void
remove_beside(const char *dir)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.*", dir);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		test_remove(found.gl_pathv[i]);
	globfree(&found);
}

static void
show_all(const struct shown *rows, size_t n)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_GATEWAY struct gateway g = gateway_start(&a);

	test_looks(&a);
	write_files(a.store.dir);
	for (size_t i = 0; i < n; i++)
		gateway_shows(&g, rows[i].args, rows[i].status,
		              rows[i].pattern);
	remove_beside(a.store.dir);
}

TEST(services_are_added_shown_replaced_and_removed)
{
	static const struct shown rows[] = {
		{"service list", 0,
	         "NAME  KIND  HOST  MATCH          DESCRIPTION\n"
	         "svc   auto        exe=/bin/true\n"},
		{"service add web --exe /opt/app/web --label team=core --kind "
	         "go --host host1 --pprof-url http://127.0.0.1:6060/ "
	         "--description 'the shop'",
	         0, "web: created\n"},
		{"service add web --exe /opt/app/web", 1,
	         "stoker: service 'web' already exists (ServiceExists)\n"},
		{"service add web2 --unit nginx", 64,
	         "stoker: --unit takes a unit's full name, as nginx.service, "
	         "app@1.service, or app@.service for every instance, not "
	         "'nginx' (InvalidParameter)\n"},
		{"service show web", 0,
	         "name:        web\n"
	         "match:       exe=/opt/app/web\n"
	         "kind:        go\n"
	         "host:        host1\n"
	         "source:      auto\n"
	         "pprof pages: http://127.0.0.1:6060/\n"
	         "labels:      team=core\n"
	         "description: the shop\n"
	         "added:       *Z\n"},
		{"service show svc --processes", 0,
	         "name:        svc\n"
	         "match:       exe=/bin/true\n"
	         "kind:        auto\n"
	         "source:      auto\n"
	         "added:       *Z\n"
	         "\n"
	         "ORDINAL  PID  HOST   COMMAND\n"
	         "      0   77  host1  /bin/true --password=x\n"},
		{"service list", 0,
	         "NAME  KIND  HOST   MATCH             DESCRIPTION\n"
	         "svc   auto         exe=/bin/true\n"
	         "web   go    host1  exe=/opt/app/web  the shop\n"},
		{"service list --limit 1", 0,
	         "NAME  KIND  HOST  MATCH          DESCRIPTION\n"
	         "svc   auto        exe=/bin/true\n"},
		{"service apply nofile.json", 1,
	         "stoker: nofile.json: No such file or directory\n"},
		{"service apply services.json", 0,
	         "x: created\n"
	         "web: replaced\n"},
		{"service apply services.json", 0,
	         "x: replaced\n"
	         "web: replaced\n"},
		{"service show x", 0,
	         "name:        x\n"
	         "match:       exe=/opt/app/x\n"
	         "kind:        auto\n"
	         "source:      auto\n"
	         "added:       *Z\n"},
		{"upload x a.folded", 0, "a.folded: sess-*\n"},
		{"service remove x", 0, "x: removed with 1 profile (* B)\n"},
		{"service remove x", 1,
	         "stoker: unknown service 'x' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
		{"--json service list --limit 1", 0,
	         "\\[\n"
	         "  {\n"
	         "    \"name\": \"svc\",\n"
	         "    \"kind\": \"auto\",\n"
	         "    \"host\": \"\",\n"
	         "    \"match\": {\n"
	         "      \"exe\": \"/bin/true\"\n"
	         "    },\n"
	         "    \"pprofUrl\": \"\",\n"
	         "    \"source\": \"auto\",\n"
	         "    \"allow\": {},\n"
	         "    \"labels\": {},\n"
	         "    \"description\": \"\",\n"
	         "    \"createdAt\": \"*Z\",\n"
	         "    \"updatedAt\": \"*Z\"\n"
	         "  }\n"
	         "\\]\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(profiles_are_uploaded_listed_named_and_removed)
{
	static const struct shown rows[] = {
		{"upload svc a.folded --rate 100 --seconds 1s", 0,
	         "a.folded: sess-*\n"},
		{"upload svc b.folded --rate 50 --seconds 2s", 0,
	         "b.folded: sess-*\n"},
		{"upload svc nofile", 1,
	         "stoker: nofile: No such file or directory\n"},
		{"upload svc services.json", 1,
	         "stoker: the request body must be a profile (speedscope, "
	         "godump, perf, folded, pprof) (UnsupportedMediaType)\n"
	         "  contentType: application/octet-stream\n"},
		{"sessions", 0,
	         "ID                         STARTED                   TYPE  "
	         "SERVICE  SAMPLES  RESULT\n"
	         "sess-*  *Z  cpu   svc          100  complete\n"
	         "sess-*  *Z  cpu   svc          100  complete\n"},
		{"sessions --limit 1", 0,
	         "ID                         STARTED                   TYPE  "
	         "SERVICE  SAMPLES  RESULT\n"
	         "sess-*  *Z  cpu   svc          100  complete\n"},
		{"sessions --service other", 1,
	         "stoker: unknown service 'other' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
		{"top svc", 0,
	         "svc is sess-*: cpu of svc, *Z\n"
	         "SELF %  TOTAL %  SAMPLES  PACKAGE  FUNCTION\n"
	         "  60.0     60.0       60           draw\n"
	         "  20.0     20.0       20           read\n"
	         "  10.0    100.0       10           main\n"
	         "  10.0     30.0       10           parse\n"},
		{"top @last~1 --limit 2", 0,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "SELF %  TOTAL %  SAMPLES  PACKAGE  FUNCTION\n"
	         "  40.0     40.0       40           read\n"
	         "  30.0     30.0       30           draw\n"},
		{"top @last~2", 1,
	         "stoker: @last~2: there are not as many complete profiles\n"
	         "  stoker sessions lists those there are\n"},
		{"top sess-aaaaaaaaaaaaaaaaaaaa", 1,
	         "stoker: unknown profile 'sess-*' (UnknownProfile)\n"},
		{"get @last --format folded", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "main 10\n"
	         "main;parse 10\n"
	         "main;parse;read 20\n"
	         "main;render;draw 60\n"},
		{"get svc --format frob", 64,
	         "svc is sess-*: cpu of svc, *Z\n"
	         "stoker: --format takes one of html, svg, json, folded, "
	         "speedscope, firefox, dot, pprof, not 'frob' "
	         "(InvalidParameter)\n"},
		{"get svc --type memory", 1,
	         "stoker: 'svc' has no complete memory profile\n"
	         "  stoker sessions --service svc lists those it has\n"},
		{"pin @last", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "sess-*: pinned\n"},
		{"sessions --service svc --type cpu", 0,
	         "ID                         STARTED                   TYPE  "
	         "SERVICE  SAMPLES  RESULT\n"
	         "sess-*  *Z  cpu   svc          100  pinned\n"
	         "sess-*  *Z  cpu   svc          100  complete\n"},
		{"unpin @last", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "sess-*: unpinned\n"},
		{"remove @last", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "sess-*: removed\n"},
		{"remove @last", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "sess-*: removed\n"},
		{"remove @last", 1,
	         "stoker: @last: there are not as many complete profiles\n"
	         "  stoker sessions lists those there are\n"},
		{"open svc", 1,
	         "stoker: 'svc' has no complete cpu profile\n"
	         "  stoker sessions --service svc lists those it has\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(two_profiles_are_compared_and_checked)
{
	static const struct shown rows[] = {
		{"upload svc a.folded --rate 100 --seconds 1s", 0,
	         "a.folded: sess-*\n"},
		{"upload svc b.folded --rate 100 --seconds 1s", 0,
	         "b.folded: sess-*\n"},
		{"compare @last~1 @last", 0,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "@last is sess-*: cpu of svc, *Z\n"
	         "verdict: regressed\n"
	         "1 function costs more per second than chance explains.\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "regressions\n"
	         "BASE %  NOW %  POINTS         P  PACKAGE  FUNCTION\n"
	         "  30.0   60.0    30.0  0.003561           draw\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&tenant=t&sign"
	         "ature=*\n"},
		{"compare @last @last --limit 1", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "@last is sess-*: cpu of svc, *Z\n"
	         "stoker: warning: a profile is compared with itself\n"
	         "verdict: ok\n"
	         "No function changed by more than chance explains, and the "
	         "total cost per second did not certainly rise by 5 % or "
	         "more. Longer captures would tell whether it rose: up to 48 "
	         "% is not excluded.\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&tenant=t&sign"
	         "ature=*\n"},
		{"diff @last~1 @last", 1,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "@last is sess-*: cpu of svc, *Z\n"
	         "stoker: @last~1 is a profile of type cpu, whose stacks "
	         "differ by chance\n"
	         "  stoker compare @last~1 @last shows what changed\n"},
		{"baseline add v1 @last~1 --tag release --description first", 0,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "v1: bl-*\n"},
		{"baseline list", 0,
	         "ID                       CREATED                   TYPE  "
	         "SERVICE  TAGS     LABEL\n"
	         "bl-*  *Z  cpu   svc      release  v1\n"},
		{"baseline list --service other", 1,
	         "stoker: unknown service 'other' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
		{"check --baseline v1 --session @last", 1,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "regressed: sess-* against v1 (sess-*)\n"
	         "1 function costs more per second than chance explains.\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "functions\n"
	         "BASE %  NOW %  POINTS         P  PACKAGE  FUNCTION\n"
	         "  30.0   60.0    30.0  0.003561           draw\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&baselineId=bl"
	         "-*&tenant=t&signature=*\n"},
		{"check --baseline v1 --session @last~1", 0,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "stoker: warning: a profile is compared with itself\n"
	         "ok: sess-* against v1 (sess-*)\n"
	         "No function changed by more than chance explains, and the "
	         "total cost per second did not certainly rise by 5 % or "
	         "more. Longer captures would tell whether it rose: up to 48 "
	         "% is not excluded.\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&baselineId=bl"
	         "-*&tenant=t&signature=*\n"},
		{"check --baseline v9 --session @last", 2,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "stoker: no baseline 'v9' of cpu profiles of svc\n"
	         "  stoker baseline list shows those there are\n"},
		{"remove @last~1", 1,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "stoker: the baseline 'v1' (bl-*) uses this session "
	         "(SessionInUse)\n"
	         "  profileId: sess-*\n"
	         "  stoker baseline list names the baseline; remove that "
	         "first\n"},
		{"baseline remove v9", 1,
	         "stoker: no baseline is called 'v9'\n"
	         "  did you mean v1?\n"},
		{"baseline remove v1", 0, "v1: removed\n"},
		{"baseline list", 0, "none\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(goroutines_are_grouped_and_their_growth_is_told)
{
	static const struct shown rows[] = {
		{"upload svc a.txt --type goroutine", 0, "a.txt: sess-*\n"},
		{"upload svc b.txt --type goroutine", 0, "b.txt: sess-*\n"},
		{"analysis svc", 0,
	         "svc is sess-*: goroutine of svc, *Z\n"
	         "note: fewer than 100 samples: shares are rough\n"
	         "3 goroutines, 1.50 times those of sess-*\n"
	         "\n"
	         "#1: 2 waiting (select), created by main.main\n"
	         "    main.g  /src/app.go:22\n"
	         "\n"
	         "#2: 1 waiting (channel receive)\n"
	         "    main.f     /src/app.go:12\n"
	         "    main.main  /src/app.go:40\n"},
		{"--json analysis svc --limit 1", 0,
	         "{\n"
	         "  \"sessionId\": \"sess-*\",\n"
	         "  \"goroutineCount\": 3,\n"
	         "  \"topStacks\": \\[\n"
	         "    {\n"
	         "      \"count\": 2,\n"
	         "      \"state\": \"waiting\",\n"
	         "      \"waitReason\": \"select\",\n"
	         "      \"frames\": \\[\n"
	         "        \"main.g\"\n"
	         "      \\],\n"
	         "      \"createdBy\": \"main.main\",\n"
	         "      \"locations\": \\[\n"
	         "        \"/src/app.go:22\"\n"
	         "      \\],\n"
	         "      \"site\": \"main.g\",\n"
	         "      \"waitReasonRaw\": \"select\",\n"
	         "      \"class\": \"blocked-channel\",\n"
	         "      \"waitSeconds\": null\n"
	         "    }\n"
	         "  \\],\n"
	         "  \"blockedGoroutines\": \\[\n"
	         "    {\n"
	         "      \"count\": 2,\n"
	         "      \"state\": \"waiting\",\n"
	         "      \"waitReason\": \"select\",\n"
	         "      \"frames\": \\[\n"
	         "        \"main.g\"\n"
	         "      \\],\n"
	         "      \"createdBy\": \"main.main\",\n"
	         "      \"locations\": \\[\n"
	         "        \"/src/app.go:22\"\n"
	         "      \\],\n"
	         "      \"site\": \"main.g\",\n"
	         "      \"waitReasonRaw\": \"select\",\n"
	         "      \"class\": \"blocked-channel\",\n"
	         "      \"waitSeconds\": null\n"
	         "    }\n"
	         "  \\],\n"
	         "  \"goroutineGrowthRate\": 1.5,\n"
	         "  \"growthBase\": \"sess-*\",\n"
	         "  \"leakSuspects\": \\[\\],\n"
	         "  \"waitTargets\": \\[\\],\n"
	         "  \"analyzedAt\": \"*Z\"\n"
	         "}\n"},
		{"analysis @last:svc --limit 1", 0,
	         "@last:svc is sess-*: goroutine of svc, *Z\n"
	         "note: fewer than 100 samples: shares are rough\n"
	         "3 goroutines, 1.50 times those of sess-*\n"
	         "\n"
	         "#1: 2 waiting (select), created by main.main\n"
	         "    main.g  /src/app.go:22\n"
	         "\n"
	         "1 more do something else: --limit shows more stacks than "
	         "1\n"},
		{"diff @last~1 @last", 0,
	         "@last~1 is sess-*: goroutine of svc, *Z\n"
	         "@last is sess-*: goroutine of svc, *Z\n"
	         "growth: 1 more goroutine\n"
	         "\n"
	         "more\n"
	         "#1: 1 before, 2 now waiting (select), created by main.main\n"
	         "    main.g  /src/app.go:22\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&tenant=t&sign"
	         "ature=*\n"},
		{"top @last", 0,
	         "@last is sess-*: goroutine of svc, *Z\n"
	         "note: fewer than 100 samples: shares are rough\n"
	         "SELF %  TOTAL %  SAMPLES  PACKAGE  FUNCTION\n"
	         "  66.7     66.7        2  main     main.g\n"
	         "  33.3     33.3        1  main     main.f\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(what_a_service_costs_over_time_is_merged_and_listed)
{
	static const struct shown rows[] = {
		{"upload svc a.folded --rate 100 --seconds 1s", 0,
	         "a.folded: sess-*\n"},
		{"upload svc b.folded --rate 100 --seconds 1s", 0,
	         "b.folded: sess-*\n"},
		{"history svc", 0,
	         "ID                         STARTED                   "
	         "SECONDS  TYPE  SAMPLES  RESULT    LABELS\n"
	         "sess-*  *Z        1  cpu       100  complete\n"
	         "sess-*  *Z        1  cpu       100  complete\n"},
		{"history svc --limit 1", 0,
	         "ID                         STARTED                   "
	         "SECONDS  TYPE  SAMPLES  RESULT    LABELS\n"
	         "sess-*  *Z        1  cpu       100  complete\n"},
		{"merge svc", 0,
	         "SELF %  TOTAL %  SAMPLES  PACKAGE  FUNCTION\n"
	         "  45.0     45.0       90           draw\n"
	         "  30.0     30.0       60           read\n"
	         "  15.0     45.0       30           parse\n"
	         "  10.0    100.0       20           main\n"
	         "\n"
	         "range:       *Z to *Z, * s covered, * gap*\n"
	         "made of:     sessions, 200 samples\n"
	         "total:       2.00 s\n"
	         "flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/merge?se"
	         "rvice=svc&profileType=cpu&from=*&to=*&origin=auto&tenant=t"
	         "&signature=*\n"},
		{"merge svc --format folded", 0,
	         "main 20\n"
	         "main;parse 30\n"
	         "main;parse;read 60\n"
	         "main;render;draw 90\n"},
		{"merge svc --type memory", 1,
	         "stoker: there is no memory profile of 'svc' in the range "
	         "(EmptyRange)\n"
	         "  from: *Z\n"
	         "  to: *Z\n"},
		{"continuous on svc --types cpu,goroutine --rate 29 "
	         "--retention-days 9",
	         0,
	         "svc is profiled all the time: cpu, goroutine; CPU at 29 "
	         "samples per second; kept for 9 days.\n"
	         "No worker of the service is alive.\n"},
		{"continuous list", 0,
	         "SERVICE  ENABLED  RATE  DAYS  TYPES\n"
	         "svc      true       29     9  cpu, goroutine\n"},
		{"continuous show svc", 0,
	         "svc is profiled all the time: cpu, goroutine; CPU at 29 "
	         "samples per second; kept for 9 days.\n"
	         "No worker of the service is alive.\n"},
		{"continuous off svc", 0,
	         "svc is not profiled all the time.\n"
	         "When it is turned on: cpu, goroutine; CPU at 29 samples per "
	         "second; kept for 9 days.\n"
	         "No worker of the service is alive.\n"},
		{"continuous off nothing", 1,
	         "stoker: unknown service 'nothing' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(triggers_keys_and_quotas_are_managed)
{
	static const struct shown rows[] = {
		{"trigger add svc busy cpu percent=150 --cooldown 1h", 0,
	         "busy: trg-*\n"},
		{"trigger add svc big rss bytes=1000000 --seconds 5s --rate 49",
	         0, "big: trg-*\n"},
		{"trigger add svc t frob percent=1", 1,
	         "stoker: when: expected exactly one of cpuShare, "
	         "goroutineGrowth, rss, cpu (InvalidParameter)\n"
	         "  got: {\"frob\":{\"percent\":1}}\n"},
		{"trigger add svc t rss bytes=100M", 64,
	         "stoker: bytes takes a number, not '100M'\n"},
		{"trigger list svc", 0,
	         "NAME  WHEN                 VALUE  FIRED  WEBHOOK  PROFILE  "
	         "TYPE  ID\n"
	         "big   rss (bytes=1000000)    0.0                           "
	         "cpu   trg-*\n"
	         "busy  cpu (percent=150)      0.0                           "
	         "cpu   trg-*\n"},
		{"trigger remove svc big", 0, "big: removed\n"},
		{"trigger remove svc big", 1,
	         "stoker: no trigger is called 'big'\n"},
		{"trigger list svc", 0,
	         "NAME  WHEN               VALUE  FIRED  WEBHOOK  PROFILE  "
	         "TYPE  ID\n"
	         "busy  cpu (percent=150)    0.0                           "
	         "cpu   trg-*\n"},
		{"quota", 0,
	         "QUOTA              HELD  LIMIT  COUNTS\n"
	         "services              1         Services, also those that "
	         "are made by pushes to /ingest.\n"
	         "series                0         Series of pushes to "
	         "/ingest: each set of labels and each type of profile is "
	         "one.\n"
	         "tokens                3         API keys that work and "
	         "whose first tenant it is.\n"
	         "triggers              1         Triggers of all its "
	         "services.\n"
	         "profiles              0         Profiles that were captured "
	         "or uploaded, with captures that run or failed; windows of "
	         "continuous profiling do not count.\n"
	         "bytes                 0         Bytes of these profiles on "
	         "disk. A capture may begin below the limit and end above.\n"
	         "pins                  0         Pinned profiles and "
	         "windows.\n"
	         "captures_per_hour     0         Captures of the last hour, "
	         "with those that triggers started or that were deleted "
	         "since.\n"},
		{"token list", 0,
	         "ID                        NAME      ROLE      CREATED       "
	         "            EXPIRES  REVOKED  LAST USED                 "
	         "TENANTS\n"
	         "tok-*  admin     admin     *Z                    *Z  t, t2\n"
	         "tok-*  operator  operator  *Z                               "
	         "               t\n"
	         "tok-*  viewer    viewer    *Z                               "
	         "               t\n"},
		{"token list --limit 1", 0,
	         "ID                        NAME   ROLE   CREATED             "
	         "      EXPIRES  REVOKED  LAST USED                 TENANTS\n"
	         "tok-*  admin  admin  *Z                    *Z  t, t2\n"},
		{"token revoke viewer", 0, "viewer: revoked\n"},
		{"token revoke admin", 1,
	         "stoker: admin is the key that stoker itself uses\n"
	         "  with --yes it is revoked\n"},
		{"token revoke viewer", 1,
	         "stoker: no API key is called 'viewer'\n"},
		{"token create ci --role operator --expires 90d --config "
	         "stoker.conf",
	         0,
	         "tok-*, role operator, tenants: default; the key is shown "
	         "this once\n"
	         "stk_*\n"},
		{"token create ci --tenant 'a,b' --config stoker.conf", 0,
	         "tok-*, role viewer, tenants: a b; the key is shown this "
	         "once\n"
	         "stk_*\n"},
		{"token create ci --role boss --config stoker.conf", 64,
	         "stoker: --role takes viewer, operator or admin\n"},
		{"token create ci --expires yesterday --config stoker.conf", 64,
	         "stoker: --expires takes a time to come, such as 90d or "
	         "2027-01-31, not 'yesterday'\n"},
		{"setup --config stoker.conf", 1,
	         "stoker: this store has an admin's key, tok-*, and "
	         "/tmp/stoker-test.*/.config/stoker/token does not exist\n"
	         "  for one more: stoker token create NAME --role admin "
	         ">/tmp/stoker-test.*/.config/stoker/token\n"},
		{"config api.public_url --config stoker.conf", 0,
	         "http://stoker.test\n"},
		{"config api.frob --config stoker.conf", 64,
	         "stoker: no such key: api.frob\n"},
		{"verify --config stoker.conf", 0,
	         "/tmp/stoker-test.*: 0 files of profiles and 0 windows, * "
	         "KiB; 0 flaws\n"},
		{"version", 0,
	         "stoker  " STOKER_VERSION "\n"
	         "server  " STOKER_VERSION "  on http://127.0.0.1:*\n"
	         "worker  1  on host1\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(captures_are_asked_for_and_cancelled)
{
	static const struct shown rows[] = {
		{"run svc --seconds 5 --rate 50", 0,
	         "stoker: started; stoker top sess-* shows the result\n"
	         "sess-*\n"},
		{"run svc --seconds 5", 1,
	         "stoker: a cpu profile of 'svc' is already being captured "
	         "(ProfileInProgress)\n"
	         "  profileId: sess-*\n"
	         "  try again in 5 s\n"
	         "  stoker remove sess-* cancels it\n"},
		{"run nothing", 1,
	         "stoker: unknown service 'nothing' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
		{"run svc --rate 1000000", 64,
	         "stoker: --rate takes a whole number, from 1 to 10000, not "
	         "'1000000' (InvalidParameter)\n"},
		{"run svc --type frob", 64,
	         "stoker: --type takes one of cpu, memory, alloc, block, "
	         "mutex, io, goroutine, not 'frob' (InvalidParameter)\n"},
		{"sessions", 0,
	         "ID                         STARTED                   TYPE  "
	         "SERVICE  SAMPLES  RESULT\n"
	         "sess-*  *Z  cpu   svc            0  queued, 0 %\n"},
		{"remove @last", 0,
	         "@last is sess-*: cpu of svc, *Z, running\n"
	         "sess-*: cancelled\n"},
		{"sessions", 0,
	         "ID                         STARTED                   TYPE  "
	         "SERVICE  SAMPLES  RESULT\n"
	         "sess-*  *Z  cpu   svc            0  cancelled\n"},
		{"remove svc", 64,
	         "stoker: 'svc' is no profile: give its id, or @last\n"},
		{"symbolize @last", 1,
	         "stoker: @last: there are not as many complete profiles\n"
	         "  stoker sessions lists those there are\n"},
		{"analysis @last", 1,
	         "stoker: @last: there are not as many complete profiles\n"
	         "  stoker sessions lists those there are\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(what_was_typed_wrong_is_told)
{
	static const struct shown rows[] = {
		{"frob", 64,
	         "stoker: no such command: frob\n"
	         "  stoker help\n"},
		{"runn web", 64,
	         "stoker: no such command: runn\n"
	         "  did you mean run?\n"
	         "  stoker help\n"},
		{"service", 64,
	         "stoker: service needs one more word: add, list, show, "
	         "remove, apply\n"
	         "  stoker help service\n"},
		{"top", 64,
	         "stoker: top needs PROFILE\n"
	         "  stoker help top\n"},
		{"top a b", 64,
	         "stoker: top takes PROFILE, and 'b' is one too many\n"
	         "  stoker help top\n"},
		{"sessions frob", 64,
	         "stoker: sessions takes options only, not 'frob'\n"
	         "  stoker help sessions\n"},
		{"--limt 3 sessions", 64,
	         "stoker: no such option: --limt\n"
	         "  did you mean --limit?\n"
	         "  stoker help\n"},
		{"service add web2 --frob", 64,
	         "stoker: no such option: --frob\n"
	         "  did you mean --from?\n"
	         "  stoker help service add\n"},
		{"sessions --limit x", 64,
	         "stoker: --limit takes a whole number, not 'x'\n"
	         "  stoker help sessions\n"},
		{"--server http://127.0.0.1:1 sessions", 3,
	         "stoker: can't reach http://127.0.0.1:1: *\n"
	         "  stoker doctor, on the server's host, tells what is "
	         "missing\n"},
		{"--token wrong sessions", 1,
	         "stoker: a valid token is required: the key is not known "
	         "(Unauthorized)\n"},
		{"--tenant nope sessions", 1,
	         "stoker: the token has no access to tenant 'nope' "
	         "(TenantForbidden)\n"},
		{"help frob", 64,
	         "stoker: no such command: frob\n"
	         "  stoker help\n"},
		{"completion tcsh", 64,
	         "stoker: completion takes bash, zsh or fish\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(words_are_completed)
{
	static const struct shown rows[] = {
		{"completion bash -- s", 0,
	         "setup\n"
	         "sessions\n"
	         "symbolize\n"
	         "series\n"
	         "service\n"},
		{"completion bash -- service show s", 0, "svc\n"},
		{"completion bash -- run web --t", 0,
	         "--token\n"
	         "--token-file\n"
	         "--tenant\n"
	         "--type\n"},
		{"completion bash -- top @", 0, "@last\n"},
		{"completion bash -- run svc --type m", 0,
	         "memory\n"
	         "mutex\n"},
		{"completion zsh -- trigger ''", 0,
	         "add:Have a value of a service start a profile\n"
	         "list:List the triggers of a service, and when they last "
	         "fired\n"
	         "remove:Remove a trigger, by its name or id\n"},
		{"completion fish -- baseline ''", 0,
	         "add	Make a profile a baseline\n"
	         "list	List baselines, newest first\n"
	         "remove	Remove a baseline, by its id or label\n"},
		{"completion bash -- token revoke v", 0, "viewer\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(commands_are_explained)
{
	static const struct shown rows[] = {
		{"help service", 0,
	         "Register services, show and remove them.\n"
	         "\n"
	         "  service add      Register a service, and how its "
	         "processes are recognized.\n"
	         "  service list     List the services of the tenant.\n"
	         "  service show     Show a service; with --processes, also "
	         "its processes that\n"
	         "                   run now.\n"
	         "  service remove   Remove a service with all its profiles.\n"
	         "  service apply    Create or replace the services of JSON "
	         "files.\n"
	         "\n"
	         "Examples:\n"
	         "  stoker service add web --unit nginx.service\n"
	         "  stoker service list\n"
	         "  stoker service show web --processes\n"
	         "  stoker service remove web\n"
	         "  stoker service apply services.json\n"
	         "\n"
	         "One of them: stoker help service COMMAND\n"},
		{"help service show", 0,
	         "usage: stoker service show SERVICE \\[--processes\\]\n"
	         "\n"
	         "Show a service; with --processes, also its processes that "
	         "run now.\n"
	         "\n"
	         "Example:\n"
	         "  stoker service show web --processes\n"
	         "\n"
	         "  --processes\n"
	         "      Show the processes that run now, too.\n"
	         "\n"
	         "Options of every command: stoker help\n"},
		{"upload --help", 0,
	         "usage: stoker upload SERVICE FILE \\[--type TYPE\\] "
	         "\\[--rate HZ\\] \\[--seconds SPAN\\]\n"
	         "\n"
	         "Store a profile that was taken elsewhere. FILE is pprof, "
	         "folded stacks, the\n"
	         "output of perf script, speedscope, or goroutines as Go "
	         "prints them, gzipped or\n"
	         "not; - is standard input.\n"
	         "\n"
	         "Example:\n"
	         "  stoker upload web profile.pb.gz\n"
	         "\n"
	         "  --type TYPE\n"
	         "      Type of profile: cpu (the default), memory, alloc, "
	         "block, mutex, io or\n"
	         "      goroutine.\n"
	         "  --seconds SPAN\n"
	         "      How long the profile took, where the file does not "
	         "say.\n"
	         "  --rate HZ\n"
	         "      Samples per second of a file that counts samples and "
	         "does not say.\n"
	         "\n"
	         "Options of every command: stoker help\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

TEST(a_store_is_backed_up_verified_and_restored)
{
	static const struct shown rows[] = {
		{"backup $HOME/bak --config stoker.conf", 1,
	         "stoker: /tmp/stoker-test.*/bak is inside the store, "
	         "/tmp/stoker-test.*\n"},
		{"backup $HOME.bak --config stoker.conf", 0,
	         "/tmp/stoker-test.*.bak: 0 files of profiles and 0 windows, "
	         "* KiB; copied * bytes, removed 0 files, * s\n"},
		{"backup $HOME.bak --config stoker.conf", 0,
	         "/tmp/stoker-test.*.bak: 0 files of profiles and 0 windows, "
	         "* KiB; copied * bytes, removed 1 file, * s\n"},
		{"verify $HOME.bak --config stoker.conf", 0,
	         "/tmp/stoker-test.*.bak: 0 files of profiles and 0 windows, "
	         "* KiB; 0 flaws\n"},
		{"verify $HOME.none --config stoker.conf", 2,
	         "stoker: /tmp/stoker-test.*.none: No such file or "
	         "directory\n"},
		{"restore $HOME.none --config stoker.conf --state $HOME.new", 1,
	         "stoker: /tmp/stoker-test.*.none: No such file or "
	         "directory\n"},
		{"restore $HOME.bak --config stoker.conf --state $HOME.new", 0,
	         "/tmp/stoker-test.*.new: 0 files of profiles and 0 windows, "
	         "* KiB, as of *Z\n"
	         "API keys that were revoked since are valid again: stoker "
	         "token list.\n"},
		{"restore $HOME.bak --config stoker.conf --state $HOME.new", 1,
	         "stoker: /tmp/stoker-test.*.new has data already; with "
	         "--replace it is moved to "
	         "/tmp/stoker-test.*.new.before-restore-TIME\n"},
		{"restore $HOME.bak --config stoker.conf --state $HOME.new "
	         "--replace",
	         0,
	         "/tmp/stoker-test.*.new: 0 files of profiles and 0 windows, "
	         "* KiB, as of *Z\n"
	         "The data from before is in "
	         "/tmp/stoker-test.*.new.before-restore-*Z.\n"
	         "API keys that were revoked since are valid again: stoker "
	         "token list.\n"},
		{"verify --state $HOME.new --config stoker.conf", 0,
	         "/tmp/stoker-test.*.new: 0 files of profiles and 0 windows, "
	         "* KiB; 0 flaws\n"},
	};

	show_all(rows, ARRAY_LEN(rows));
}
END

SUITE_TIMEOUT("cli", 60, services_are_added_shown_replaced_and_removed,
              profiles_are_uploaded_listed_named_and_removed,
              two_profiles_are_compared_and_checked,
              goroutines_are_grouped_and_their_growth_is_told,
              what_a_service_costs_over_time_is_merged_and_listed,
              triggers_keys_and_quotas_are_managed,
              captures_are_asked_for_and_cancelled,
              what_was_typed_wrong_is_told, words_are_completed,
              commands_are_explained,
              a_store_is_backed_up_verified_and_restored)
