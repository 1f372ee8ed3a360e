/*
 * The command line with the API: profiles, comparisons and sums. The rows of a
 * test run in order, in one store.
 */
#include "lib/gateway.h"
#include "store/worker.h"

#define RESTART                                                       \
	"  systemctl restart stoker-worker  # on the worker's host\n" \
	"  stoker hosts                     # when each host last reported\n"

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
	         "stoker: the request body must be a profile "
	         "(cpuprofile, heapprofile, otlp, speedscope, perfdata, "
	         "gperftools, "
	         "callgrind, jfr, godump, heap, gopage, perf, folded, pprof); "
	         "it is in no format that is known; it begins with \"[*\" "
	         "(UnsupportedMediaType)\n"
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
	         "  10.0     30.0       10           parse\n"
	         "   0.0     60.0        0           render\n"},
		{"top svc --callers draw", 0,
	         "svc is sess-*: cpu of svc, *Z\n"
	         " TOTAL  TOTAL %    SELF  FUNCTION\n"
	         "1.20 s     60.0  1.20 s  draw\n"
	         "1.20 s     60.0  1.20 s  render\n"
	         "1.20 s     60.0  1.20 s  main\n"
	         "total: 2.00 s\n"},
		{"top svc --list draw", 1,
	         "svc is sess-*: cpu of svc, *Z\n"
	         "stoker: no source lines of 'draw' are known: a program "
	         "needs debug information for that\n"},
		{"top svc --list nosuch", 1,
	         "svc is sess-*: cpu of svc, *Z\n"
	         "stoker: no function of the profile is called 'nosuch'\n"},
		{"top @last~1 --limit 2", 0,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "SELF %  TOTAL %  SAMPLES  PACKAGE  FUNCTION\n"
	         "  40.0     40.0       40           read\n"
	         "  30.0     30.0       30           draw\n"},
		{"top @last~2", 1,
	         "stoker: @last~2: there are not that many complete profiles\n"
	         "  stoker sessions lists all\n"},
		{"top @last~99", 1,
	         "stoker: @last~99: there are not that many complete profiles\n"
	         "  stoker sessions lists all\n"},
		{"top @last~100", 64,
	         "stoker: '@last~100' is not a profile: @last, @last~N up to "
	         "99, @last:SERVICE or @last~N:SERVICE\n"},
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
	         "stoker: --format takes one of html, svg, json, columns, "
	         "folded, speedscope, firefox, otlp, autofdo, dot, lines, "
	         "listing, pprof, "
	         "not 'frob' "
	         "(InvalidParameter)\n"},
		{"get svc --type memory", 1,
	         "stoker: 'svc' has no complete memory profile\n"
	         "  stoker sessions --service svc lists its profiles\n"},
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
	         "stoker: @last: there are not that many complete profiles\n"
	         "  stoker sessions lists all\n"},
		{"open svc", 1,
	         "stoker: 'svc' has no complete cpu profile\n"
	         "  stoker sessions --service svc lists its profiles\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

TEST(a_profile_for_a_compiler_has_lines)
{
	static const struct shown rows[] = {
		{"upload svc b.folded --rate 100 --seconds 1s", 0,
	         "b.folded: sess-*\n"},
		{"pgo svc", 1,
	         "stoker: svc: no function has its first line, by which "
	         "compilers find code again: build with -g1 (Clang) or "
	         "install debug information\n"},
		{"remove @last", 0, "*"},
		{"upload svc o.json --seconds 1s", 0,
	         "note: *o.json: sess-*\n"},
		{"pgo svc --format autofdo --output -", 0,
	         "# 7 of 7 samples have lines\nwork:7:7\n 2: 7\n"},
		{"pgo svc --format dot", 64,
	         "stoker: --format dot is none of: pprof, autofdo\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
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
	         "verdict: costs more\n"
	         "draw, with what it calls, costs 2.0 times as much, render, "
	         "with what it calls, costs 2.0 times as much; the service as "
	         "a whole may have changed (-32 to +48 %).\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "functions, each with what it calls\n"
	         "BASE TOTAL %  NOW TOTAL %  POINTS         P  PACKAGE  "
	         "FUNCTION\n"
	         "        30.0         60.0    30.0  0.003561           draw\n"
	         "        30.0         60.0    30.0  0.003561           "
	         "render\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&tenant=t&sign"
	         "ature=*\n"},
		{"compare @last @last --limit 1", 0,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "@last is sess-*: cpu of svc, *Z\n"
	         "stoker: warning: a profile is compared with itself\n"
	         "verdict: not enough data\n"
	         "No function changed by more than chance "
	         "explains, but the service as a whole may have changed (-32 "
	         "to +48 %). The base is too short to tell: take "
	         "both profiles again, for longer or at a higher rate.\n"
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
	         "costs more: sess-* against v1 (sess-*)\n"
	         "draw, with what it calls, costs 2.0 times as much, render, "
	         "with what it calls, costs 2.0 times as much; the service as "
	         "a whole may have changed (-32 to +48 %).\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "functions, each with what it calls\n"
	         "BASE TOTAL %  NOW TOTAL %  POINTS         P  PACKAGE  "
	         "FUNCTION\n"
	         "        30.0         60.0    30.0  0.003561           draw\n"
	         "        30.0         60.0    30.0  0.003561           "
	         "render\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&baselineId=bl"
	         "-*&tenant=t&signature=*\n"},
		{"check --baseline v1 --session @last~1", 2,
	         "@last~1 is sess-*: cpu of svc, *Z\n"
	         "stoker: warning: a profile is compared with itself\n"
	         "not enough data: sess-* against v1 (sess-*)\n"
	         "No function changed by more than chance "
	         "explains, but the service as a whole may have changed (-32 "
	         "to +48 %). The base is too short to tell: take "
	         "both profiles again, for longer or at a higher rate.\n"
	         "cost per second: +0.0 % (95 %: -32.4 to +48.0)\n"
	         "tested: share, noise estimated from how all functions "
	         "differ\n"
	         "\n"
	         "differential flame graph:\n"
	         "http://stoker.test/api/v1/observability/profiling/diff?bas"
	         "eProfileId=sess-*&comparisonProfileId=sess-*&baselineId=bl"
	         "-*&tenant=t&signature=*\n"},
		{"check --baseline v1 --session @last --report markdown", 1,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "### Stoker: costs more\n\n"
	         "`` sess-* `` compared with the baseline `` v1 ``:\n\n"
	         "`` draw, with what it calls, costs 2.0 times as much, "
	         "render, with what it calls, costs 2.0 times as much; the "
	         "service as a whole may have changed (-32 to +48 %). ``\n\n"
	         "All cost: +0.0 % (95 %: -32.4 to +48.0).\n\n"
	         "Functions, each with what it calls:\n\n"
	         "| base % | now % | p | since | function |\n"
	         "| ---: | ---: | ---: | --- | --- |\n"
	         "| 30.0 | 60.0 | 0.0036 |  | `` draw `` |\n"
	         "| 30.0 | 60.0 | 0.0036 |  | `` render `` |\n\n"
	         "*Differential flame graph](<http*>)\n"},
		{"check --baseline v1 --session @last --report junit", 1,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
	         "<testsuite name=\"stoker check\" tests=\"1\" "
	         "failures=\"1\" errors=\"0\" skipped=\"0\">\n"
	         "<testcase classname=\"stoker\" "
	         "name=\"costs no more than v1\">\n"
	         "<failure message=\"draw, with what it calls, costs 2.0 *"
	         "</testsuites>\n"},
		{"check --baseline v1 --session @last --report xml", 64,
	         "stoker: --report takes markdown, junit or json, not 'xml'\n"},
		{"check --baseline v9 --session @last", 2,
	         "@last is sess-*: cpu of svc, *Z\n"
	         "stoker: no baseline 'v9' of cpu profiles of svc\n"
	         "  stoker baseline list shows all\n"},
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

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

TEST(goroutines_are_grouped_and_their_growth_is_told)
{
	static const struct shown rows[] = {
		{"upload svc a.txt --type goroutine", 0,
	         "note: fewer than 100 samples: shares are rough\na.txt: "
	         "sess-*\n"},
		{"upload svc b.txt --type goroutine", 0,
	         "note: fewer than 100 samples: shares are rough\nb.txt: "
	         "sess-*\n"},
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
	         "  33.3     33.3        1  main     main.f\n"
	         "   0.0     33.3        0  main     main.main\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
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
		{"merge svc --callees render", 0,
	         "    TOTAL  TOTAL %       SELF  FUNCTION\n"
	         "900.00 ms     45.0          0  render\n"
	         "900.00 ms     45.0  900.00 ms  draw\n"
	         "\n"
	         "range:       *"},
		{"merge svc --json --callees render", 0,
	         "*\"funcName\": \"draw\",*\"depth\": 1*"},
		{"merge svc", 0,
	         "SELF %  TOTAL %  SAMPLES  PACKAGE  FUNCTION\n"
	         "  45.0     45.0       90           draw\n"
	         "  30.0     30.0       60           read\n"
	         "  15.0     45.0       30           parse\n"
	         "  10.0    100.0       20           main\n"
	         "   0.0     45.0        0           render\n"
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
	         "No worker of the service is alive.\n" RESTART},
		{"continuous list", 0,
	         "SERVICE  ENABLED  RATE  DAYS  TYPES\n"
	         "svc      true       29     9  cpu, goroutine\n"},
		{"continuous show svc", 0,
	         "svc is profiled all the time: cpu, goroutine; CPU at 29 "
	         "samples per second; kept for 9 days.\n"
	         "No worker of the service is alive.\n" RESTART},
		{"continuous on svc --retention-days 8", 0,
	         "svc is profiled all the time: cpu, goroutine; CPU at 29 "
	         "samples per second; kept for 8 days.\n"
	         "No worker of the service is alive.\n" RESTART},
		{"continuous on svc --retention-days 9", 0,
	         "svc is profiled all the time: cpu, goroutine; CPU at 29 "
	         "samples per second; kept for 9 days.\n"
	         "No worker of the service is alive.\n" RESTART},
		{"continuous off svc", 0,
	         "svc is not profiled all the time.\n"
	         "When it is turned on: cpu, goroutine; CPU at 29 samples per "
	         "second; kept for 9 days.\n"
	         "No worker of the service is alive.\n" RESTART},
		{"continuous off nothing", 1,
	         "stoker: unknown service 'nothing' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

/* Reports what the worker has made since it started. */
static void
beat(struct test_api *a, const char *capabilities)
{
	const struct worker w = {
		.host = (char *)TEST_HOST,
		.boot_id = (char *)"boot",
		.version = (char *)"1",
		.capabilities = (char *)capabilities,
		.pid = 1,
	};

	ck_assert_int_eq(worker_heartbeat(&a->store.s, &w, 600000), 0);
}

#define SETTINGS                                                    \
	"svc is profiled all the time: cpu; CPU at 19 samples per " \
	"second; kept for 7 days.\n"
#define WORKER "The worker of " TEST_HOST ": "
#define MADE                                                       \
	". Since it started, it has made windows of 10 s, of all " \
	"services: "

TEST(what_keeps_a_service_from_being_profiled_all_the_time_is_told)
{
	static const struct {
		const char *capabilities, *pattern;
	} rows[] = {
		{"{\"continuous\":{\"state\":\"running\",\"windowSeconds\":10,"
	         "\"stored\":7}}",
	         SETTINGS WORKER "running" MADE "7 stored.\n"},
		{"{\"continuous\":{\"state\":\"behind\",\"windowSeconds\":10,"
	         "\"stored\":7,\"dropped\":1,\"widened\":2,\"refused\":3,"
	         "\"gaps\":4,\"leftOut\":5}}",
	         SETTINGS WORKER
	         "the store takes no windows" MADE
	         "7 stored, 1 made but not kept, 2 longer than asked, 3 not "
	         "made because the disk is nearly full, 4 not made for another "
	         "reason. 5 services are left out: there are too many.\n"},
		{"{\"continuous\":{\"state\":\"refused\",\"windowSeconds\":10}"
	         "}",
	         SETTINGS WORKER "no windows are made, because the disk is "
	                         "nearly full" MADE "0 stored.\n"},
	};
	const struct continuous on = test_continuous(TEST_TENANT);
	const struct continuous_problem p = {
		.tenant = (char *)TEST_TENANT,
		.service = (char *)TEST_SERVICE,
		.type = (char *)"cpu",
		.host = (char *)TEST_HOST,
		.code = (char *)"EndpointTimeout",
		.message = (char *)"no answer",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_GATEWAY struct gateway g = gateway_start(&a);

	ck_assert_int_eq(continuous_put(&a.store.s, &on), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		beat(&a, rows[i].capabilities);
		gateway_shows(&g, "continuous show svc", 0, rows[i].pattern);
	}
	beat(&a, rows[0].capabilities);
	ck_assert_int_eq(continuous_problem_put(&a.store.s, &p), 0);
	test_kind(&a, "native", "endpoint");
	gateway_shows(&g, "continuous show svc", 0,
	              SETTINGS WORKER
	              "running" MADE "7 stored.\n"
	              "cpu is not taken: it needs a pprofUrl\n"
	              "  stoker service set svc --pprof-url URL\n"
	              "cpu fails on " TEST_HOST
	              " since *Z: no answer (EndpointTimeout)\n");
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
	         "  try again in * s\n"
	         "  stoker remove sess-* cancels it\n"},
		{"run nothing", 1,
	         "stoker: unknown service 'nothing' (UnknownService)\n"
	         "  stoker service list shows all of them\n"},
		{"run svc --rate 1000000", 64,
	         "stoker: --rate takes a whole number, from 1 to 10000, not "
	         "'1000000' (InvalidParameter)\n"},
		{"run svc --type frob", 64,
	         "stoker: --type takes one of cpu, memory, * (wall "
	         "is not captured, but uploaded or pushed), not 'frob' "
	         "(InvalidParameter)\n"},
		{"run svc --type wall", 64,
	         "stoker: --type takes * not 'wall' (InvalidParameter)\n"},
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
	         "stoker: 'svc' is not a profile: give its id, or @last\n"},
		{"symbolize @last", 1,
	         "stoker: @last: there are not that many complete profiles\n"
	         "  stoker sessions lists all\n"},
		{"analysis @last", 1,
	         "stoker: @last: there are not that many complete profiles\n"
	         "  stoker sessions lists all\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

SUITE("cli_profiles", .seconds = 60);
