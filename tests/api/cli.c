/*
 * The command line with the API: arguments, exit status and output. The rows of
 * a test run in order, in one store.
 * On SQLite alone: it is backed up.
 */
#include "base/file.h"
#include "base/proc_text.h"
#include "lib/gateway.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

TEST(services_are_added_shown_replaced_and_removed)
{
	static const struct shown rows[] = {
		{"service list", 0,
	         "NAME  KIND  HOST  MATCH          DESCRIPTION\n"
	         "svc   auto        exe=/bin/true\n"},
		{"service add web --exe /opt/app/web --label team=core --kind "
	         "go --host host1 --pprof-url http://127.0.0.1:6060/ "
	         "--source endpoint --description 'the shop'",
	         0,
	         "web: created\n"
	         "no worker answers\n"
	         "  systemctl restart stoker-worker  # on the worker's host\n"
	         "  stoker hosts                     # when each host last "
	         "reported\n"},
		{"service add web --exe /opt/app/web", 1,
	         "stoker: service 'web' already exists (ServiceExists)\n"},
		{"service add web2 --unit n/x.service", 64,
	         "stoker: --unit takes a unit's full name, such as "
	         "nginx.service, "
	         "app@1.service, or app@.service for every instance, not "
	         "'n/x.service' (InvalidParameter)\n"},
		{"service show web", 0,
	         "name:        web\n"
	         "match:       exe=/opt/app/web\n"
	         "kind:        go\n"
	         "host:        host1\n"
	         "source:      endpoint\n"
	         "pprof pages: http://127.0.0.1:6060/\n"
	         "labels:      team=core\n"
	         "description: the shop\n"
	         "added:       *Z\n"
	         "\n"
	         "io: not now: io profiles of the service need another "
	         "source\n*"},
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
		{"upload x a.folded", 0,
	         "stoker: warning: the file has samples, but no "
	         "cpu/nanoseconds values: ranges with profiles that have both "
	         "leave it out, unless sampleRate says the rate (stoker upload "
	         "--rate)\n"
	         "a.folded: sess-*\n"},
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
	         "    \"sourceLink\": \"\",\n"
	         "    \"traceLink\": \"\",\n"
	         "    \"collector\": \"\",\n"
	         "    \"metrics\": \\[\\],\n"
	         "    \"createdAt\": \"*Z\",\n"
	         "    \"updatedAt\": \"*Z\",\n"
	         "    \"collectorProblems\": \\[\\],\n"
	         "    \"unsupported\": \\[\\]\n"
	         "  }\n"
	         "\\]\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

/* A second process of svc may match; a sentence says which processes captures
 * follow. */
TEST(whom_captures_are_of_is_told_in_a_sentence)
{
	static const struct {
		int64_t all;
		bool two; /* processes match */
		const char *pattern;
	} rows[] = {
		{1, false, "*\nCaptures on host1 are of 1 process.\n"},
		{2, false,
	         "*\nCaptures on host1 are of 2 processes: 1 that matches and "
	         "1 that descends*from*it.\n"},
		{3, false,
	         "*\nCaptures on host1 are of 3 processes: 1 that matches and "
	         "2 that descend*from*it.\n"},
		{3, true,
	         "*\nCaptures on host1 are of 3 processes: 2 that match and 1 "
	         "that descends*from*them.\n"},
		{2, true, "*\nCaptures on host1 are of 2 processes.\n"},
	};
	const struct worker_process second = {.host = TEST_HOST,
	                                      .tenant = TEST_TENANT,
	                                      .service = TEST_SERVICE,
	                                      .boot_id = "b",
	                                      .ordinal = 1,
	                                      .pid = 78,
	                                      .argv0 = "/bin/true",
	                                      .cmdline = "/bin/true"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_GATEWAY struct gateway g = gateway_start(&a);

	test_looks(&a);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct process_tree tree = {.host = TEST_HOST,
		                                  .tenant = TEST_TENANT,
		                                  .service = TEST_SERVICE,
		                                  .followed = rows[i].all};

		if (rows[i].two)
			ck_assert_int_eq(process_put(&a.store.s, &second), 0);
		ck_assert_int_eq(process_tree_put(&a.store.s, &tree), 0);
		gateway_shows(&g, "service show svc --processes", 0,
		              rows[i].pattern);
	}
}
END

#define HELD "held" /* a service of a command */

static pid_t
begin_command(const struct gateway *g)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	gateway_shows(g, "run " HELD " --command --wait-for-process 1m -- true",
	              1,
	              "stoker: it could not (WorkerDied)\ntrue was not run\n");
	_exit(0);
}

/* Waits for the pid of the program. Returns its row in the store. */
static struct worker_process
held_process(const char *pid_file, char boot[static 64])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64], name[PROC_COMM_MAX];
	uint64_t start;
	int pid = 0;

	for (; pid <= 0; poll(NULL, 0, 10)) {
		buf_clear(&text);
		if (!file_read(AT_FDCWD, pid_file, &text))
			pid = atoi(buf_str(&text));
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	buf_clear(&text);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &text), 0);
	ck_assert_int_eq(proc_parse_stat(buf_str(&text), name, &start), 0);
	buf_clear(&text);
	ck_assert_int_eq(
		file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text),
		0);
	snprintf(boot, 64, "%.*s", (int)strcspn(buf_str(&text), "\n"),
	         buf_str(&text));
	return (struct worker_process){
		.host = TEST_HOST,
		.tenant = TEST_TENANT,
		.service = HELD,
		.boot_id = boot,
		.argv0 = "true",
		.cmdline = "true",
		.pid = pid,
		.start_time = (int64_t)start,
	};
}

/* Waits until the command has asked twice more whether its program is seen.
 * Returns whether it has started a capture instead. */
static bool
starts_within_two_looks(struct test_api *a, struct job *out)
{
	int64_t last, wanted = 0, looked;

	for (int looks = 0; looks < 3; looks += wanted != last) {
		int rc = job_claim(&a->store.s, TEST_HOST, TEST_LEASE_MS, 8,
		                   out);

		if (!rc)
			return true;
		ck_assert_int_eq(rc, -ENOENT);
		last = wanted;
		poll(NULL, 0, 10);
		ck_assert_int_eq(
			worker_look(&a->store.s, TEST_HOST, &wanted, &looked),
			0);
	}
	return false;
}

/* A later process may have the pid, and other hosts have the same pids. */
TEST(a_command_is_held_until_a_worker_sees_it_and_no_other_process)
{
	struct service service = test_no_match(TEST_TENANT, HELD);
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_GATEWAY struct gateway g = gateway_start(&a);
	CLEANUP_JOB struct job job = {0};
	struct worker_process p;
	struct job_end end = {.state = "failed",
	                      .error_code = "WorkerDied",
	                      .error_message = "it could not"};
	struct job_ref ref;
	char pid_file[128], boot[64];
	pid_t command;
	int status;

	snprintf(pid_file, sizeof(pid_file), "%s/held.pid", a.store.dir);
	service.match_kind = "pidFile";
	service.match_value = pid_file;
	ck_assert_int_eq(service_add(&a.store.s, &service), 0);
	test_looks(&a);
	command = begin_command(&g);
	p = held_process(pid_file, boot);
	for (int i = 0; i < 3; i++) {
		struct worker_process other = p;

		other.ordinal = i;
		other.boot_id = i == 0 ? "another" : boot;
		other.pid += i == 1;
		other.start_time += i == 2;
		ck_assert_int_eq(process_put(&a.store.s, &other), 0);
	}
	ck_assert(!starts_within_two_looks(&a, &job));
	ck_assert_int_eq(process_put(&a.store.s, &p), 0);
	while (!starts_within_two_looks(&a, &job))
		;
	ck_assert_str_eq(job.service, HELD);
	ref = job_ref(&job);
	ck_assert_int_eq(job_finish(&a.store.s, &ref, &end), 0);
	ck_assert_int_eq(waitpid(command, &status, 0), command);
	ck_assert_int_eq(status, 0);
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
	         "goroutineGrowth, shift, rss, cpu (InvalidParameter)\n"
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
	         "services              1         Services, including those "
	         "created by pushes to /ingest.\n"
	         "series                0         Series of pushes to "
	         "/ingest: each set of labels and each type of profile is "
	         "one.\n"
	         "host_series           0         Series sent by hosts of a "
	         "fleet: each service, type of profile and set of labels of "
	         "each host is one.\n"
	         "host_bytes            0         Stored bytes of continuous "
	         "profiling from hosts of a fleet.\n"
	         "tokens                4         Valid API keys whose first "
	         "tenant this is.\n"
	         "triggers              1         Triggers of all its "
	         "services.\n"
	         "profiles              0         Captured and uploaded "
	         "profiles, including captures that run or failed; windows of "
	         "continuous profiling do not count.\n"
	         "bytes                 0         Bytes of these profiles on "
	         "disk. A capture that begins below the limit may end above "
	         "it.\n"
	         "debug_files           0   1000  Debug files that were "
	         "pushed.\n"
	         "debug_bytes           0         Bytes of these files.\n"
	         "pins                  0         Pinned profiles and "
	         "windows.\n"
	         "baselines             0   2000  Baselines. Each keeps its "
	         "session, and up to 256 KiB of functions.\n"
	         "kept_replies          0  10000  Replies kept because "
	         "their request had an Idempotency-Key; a reply has at most 64 "
	         "KiB.\n"
	         "captures_per_hour     0         Captures of the last hour, "
	         "including those that triggers started and those deleted "
	         "since. A request to symbolize a profile again counts as "
	         "one.\n"},
		{"token list", 0,
	         "ID                        NAME      ROLE      HOST    "
	         "CREATED                   EXPIRES  REVOKED  LAST USED     "
	         "            TENANTS\n"
	         "tok-*  worker    worker    agent1  *Z                     "
	         "                         t, t2\n"
	         "tok-*  admin     admin             *Z                    "
	         "*Z  t, t2\n"
	         "tok-*  operator  operator          *Z                     "
	         "                         t\n"
	         "tok-*  viewer    viewer            *Z                     "
	         "                         t\n"},
		{"token list --limit 1", 0,
	         "ID                        NAME    ROLE    HOST    CREATED *"
	         "tok-*  worker  worker  agent1  *Z * t, t2\n"},
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
	         "stoker: --role takes viewer, operator, admin or join\n"},
		{"token create ci --expires yesterday --config stoker.conf", 64,
	         "stoker: --expires takes a future time, such as 90d or "
	         "2027-01-31, not 'yesterday'\n"},
		{"setup --config stoker.conf", 1,
	         "stoker: this store has an admin's key, tok-*, and "
	         "/tmp/stoker-test.*/.config/stoker/token does not exist\n"
	         "  for one more: stoker token create NAME --role admin "
	         ">/tmp/stoker-test.*/.config/stoker/token\n"},
		{"config api.public_url --config stoker.conf", 0,
	         "http://stoker.test\n"},
		{"config store.max_age --config stoker.conf", 0, "30d\n"},
		{"config api.frob --config stoker.conf", 64,
	         "stoker: no such key: api.frob\n"},
		{"verify --config stoker.conf", 0,
	         "/tmp/stoker-test.*: 0 files of profiles and 0 windows, * "
	         "KiB; 0 flaws\n"},
		{"version", 0,
	         "stoker  *\n"
	         "server  *  on http://127.0.0.1:*\n"
	         "worker  1  on host1\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
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
	         "stoker: service needs one more word: add, set, list, "
	         "show, remove, apply\n"
	         "  stoker help service\n"},
		{"get", 64,
	         "stoker: get needs PROFILE\n"
	         "  stoker help get\n"},
		{"top a b", 64,
	         "stoker: top takes \\[PROFILE\\], and 'b' is one too many\n"
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
	         "  stoker doctor, on the server's host, shows what is "
	         "missing\n"},
		{"--token wrong sessions", 1,
	         "stoker: a valid token is required: the key is not known "
	         "(Unauthorized)\n"},
		{"--tenant nope sessions", 1,
	         "stoker: the token has no access to tenant 'nope' "
	         "(TenantForbidden)\n"},
		{"--token wrong doctor --config stoker.conf", 1,
	         "*\nbroken   token: *\n"
	         "         fix: stoker token create NAME --role admin\n*"},
		{"doctor --config stoker.conf", 1,
	         "ok       configuration: /tmp/stoker-test.*/stoker.conf\n*"
	         "\nok       token: accepted\n*"},
		{"service add bare", 0,
	         "*without --exe, --unit, --pid-file or --cmdline,\n"
	         "  the service has no processes*"},
		{"help frob", 64,
	         "stoker: no such command: frob\n"
	         "  stoker help\n"},
		{"completion tcsh", 64,
	         "stoker: completion takes bash, zsh or fish\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
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
	         "list:List triggers, and when they last fired\n"
	         "remove:Remove a trigger, by its name or id\n"},
		{"completion fish -- baseline ''", 0,
	         "add	Make a profile a baseline\n"
	         "list	List baselines, newest first\n"
	         "remove	Remove a baseline, by its id or label\n"},
		{"completion bash -- token revoke v", 0, "viewer\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

TEST(commands_are_explained)
{
	static const struct shown rows[] = {
		{"help service", 0,
	         "Register, change, show and remove services.\n"
	         "\n"
	         "  service add      Register a service, and how its "
	         "processes are recognized.\n"
	         "  service set      Change a service.\n"
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
	         "  stoker service set shop --allow javaPerfMap\n"
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
	         "      Also show the processes that are running.\n"
	         "\n"
	         "Options of every command: stoker help\n"},
		{"upload --help", 0,
	         "usage: stoker upload SERVICE FILE \\[--type TYPE\\] "
	         "\\[--format FORMAT\\] \\[--rate HZ\\]\n"
	         "                     \\[--seconds SPAN\\] "
	         "\\[--event EVENT\\] \\[--binary PATH\\]...\n"
	         "\n"
	         "Store a profile that was taken elsewhere. FILE is pprof, "
	         "folded stacks,\n"
	         "perf.data or the output of perf script, speedscope, a "
	         ".cpuprofile or\n"
	         ".heapprofile of V8, a recording of Java (JFR), a profile of "
	         "callgrind,\n"
	         "gperftools or jemalloc, a text page of Go, or profiles of "
	         "OpenTelemetry\n"
	         "(OTLP), plain or compressed with gzip or zstd; - is standard "
	         "input.\n"
	         "\n"
	         "Example:\n"
	         "  stoker upload web profile.pb.gz\n"
	         "\n"
	         "  --type TYPE\n"
	         "      Type of the profile: cpu, memory, *type that the "
	         "file has.\n"
	         "  --seconds SPAN\n"
	         "      How long the capture took, if the file does not "
	         "say.\n"
	         "  --rate HZ\n"
	         "      Samples per second, if the file counts samples and "
	         "does not say.\n"
	         "  --event EVENT\n"
	         "      The event to keep of perf.data, the output of perf "
	         "script or a file of\n"
	         "      callgrind, such as cycles, page-faults or Ir, with or "
	         "without its\n"
	         "      modifiers. The default is the first in the file.\n"
	         "  --format FORMAT\n"
	         "      The format of FILE: cpuprofile, heapprofile, otlp, "
	         "speedscope, perfdata,\n"
	         "      gperftools, callgrind, jfr, godump, heap, gopage, "
	         "perf, folded or pprof.\n"
	         "      By default, it is recognized by the first bytes.\n"
	         "  --binary PATH\n"
	         "      A program or library, or a folder of them, that names "
	         "the functions of a\n"
	         "      profile that was taken elsewhere; may be repeated. It "
	         "is used for\n"
	         "      addresses with its build-id, or, in profiles without "
	         "build-ids, with its\n"
	         "      name.\n"
	         "\n"
	         "Options of every command: stoker help\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
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
	         "* KiB; copied *, removed 0 files, * s\n"},
		{"backup $HOME.bak --config stoker.conf", 0,
	         "/tmp/stoker-test.*.bak: 0 files of profiles and 0 windows, "
	         "* KiB; copied *, removed 1 file, * s\n"},
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
	         "The API keys are those of the backup. *(stoker setup).\n"},
		{"restore $HOME.bak --config stoker.conf --state $HOME.new", 1,
	         "stoker: /tmp/stoker-test.*.new has data already; with "
	         "--replace it is moved to "
	         "/tmp/stoker-test.*.new.before-restore-TIME\n"},
		{"restore $HOME.bak --config stoker.conf --state $HOME.new "
	         "--replace",
	         0,
	         "/tmp/stoker-test.*.new: 0 files of profiles and 0 windows, "
	         "* KiB, as of *Z\n"
	         "The previous data is in "
	         "/tmp/stoker-test.*.new.before-restore-*Z.\n"
	         "The API keys are those of the backup. *(stoker setup).\n"},
		{"verify --state $HOME.new --config stoker.conf", 0,
	         "/tmp/stoker-test.*.new: 0 files of profiles and 0 windows, "
	         "* KiB; 0 flaws\n"},
	};

	gateway_show_all(rows, ARRAY_LEN(rows));
}
END

SUITE("cli", .seconds = 60);
