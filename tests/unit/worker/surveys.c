/* Surveys are asked for in the store, answered by a worker, and forgotten. */
#include "worker/targets/surveys.h"

#include "base/json.h"
#include "lib/store.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct proc procs[] = {
	{.pid = 2, .exe = "", .cmdline = "", .unit = ""}, /* a kernel thread */
	{.pid = 10,
         .parent = 1,
         .exe = "/usr/sbin/nginx",
         .cmdline = "nginx: master process",
         .unit = "nginx.service"},
	{.pid = 11,
         .parent = 10,
         .uid = 33,
         .exe = "/usr/sbin/nginx",
         .cmdline = "nginx: worker process",
         .unit = "nginx.service"},
	{.pid = 20,
         .parent = 1,
         .exe = "/usr/sbin/sshd",
         .cmdline = "sshd: nginx admin",
         .unit = "ssh.service"},
};
static struct proc_table table = {
	.items = procs, .n = ARRAY_LEN(procs), .proc_fd = -1};

static struct conf_tenant web_only = {.tenant = TEST_TENANT,
                                      .units = (char *)"nginx.service"};
static struct conf_tenant workers_only = {.tenant = TEST_TENANT,
                                          .uids = (char *)"33"};

static int
no_pid_file(void *arg, const char *path, int32_t *out)
{
	(void)arg;
	(void)path;
	(void)out;
	return -ENOENT;
}
static const struct match_reader reader = {.pid_file = no_pid_file};

/* The worker of TEST_HOST answers for a tenant with that scope. */
static void
answer_within(struct store *s, struct conf_tenant *scope)
{
	const struct conf conf = {.tenants = scope, .ntenants = 1};
	CLEANUP_SURVEY struct survey_list l = {0};

	ck_assert_int_eq(survey_waiting(s, TEST_HOST, &l), 0);
	ck_assert_int_eq(surveys_answer(s, &l, &conf, &reader, &table), 0);
}

/* Returns the answer of the only worker to a survey. */
static json_t *
found(struct store *s, struct conf_tenant *scope, const char *kind,
      const char *value)
{
	CLEANUP_SURVEY struct survey_list l = {0};
	char id[ID_MAX];
	json_t *j;

	ck_assert_int_eq(survey_ask(s, TEST_TENANT, kind, value, "", id), 0);
	answer_within(s, scope);
	ck_assert_int_eq(survey_read(s, id, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	j = json_loads(l.items[0].found, 0, NULL);
	ck_assert_ptr_nonnull(j);
	return j;
}

static int64_t
number(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

TEST(a_survey_tells_processes_of_the_tenant_and_counts_others)
{
	static const struct {
		struct conf_tenant *scope;
		const char *kind, *value;
		int64_t matching, out_of_scope, first;
	} rows[] = {
		{&web_only, "unit", "nginx.service", 2, 0, 10},
		{&web_only, "exe", "/usr/sbin/nginx", 2, 0, 10},
		{&web_only, "cmdline", "worker", 1, 0, 11},
		/* Nobody learns the command lines of others by trying patterns.
		 */
		{&web_only, "cmdline", "nginx", 2, 0, 10},
		{&web_only, "exe", "/usr/sbin/sshd", 0, 1, 0},
		{&web_only, "pidFile", "/run/none.pid", 0, 0, 0},
		{&web_only, "exe", "*", 2, 0, 10},
		/* without a match: the first process of each program */
		{&web_only, "", "", 1, 0, 10},
		{&workers_only, "", "", 1, 0, 11},
	};
	CLEANUP_TEST_STORE struct test_store t = test_store();

	test_heartbeat(&t.s, TEST_HOST, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_JSON json_t *j =
			found(&t.s, rows[i].scope, rows[i].kind, rows[i].value);
		const json_t *list = json_object_get(j, "processes");

		ck_assert_int_eq(number(j, "matching"), rows[i].matching);
		ck_assert_int_eq(number(j, "outOfScope"), rows[i].out_of_scope);
		ck_assert_int_eq((int64_t)json_array_size(list),
		                 rows[i].matching);
		ck_assert_int_eq(number(json_array_get(list, 0), "pid"),
		                 rows[i].first);
	}
}
END

static void
put_stat(int proc, const char *pid, const char *text)
{
	CLEANUP_FD int dir = -1, file = -1;

	ck_assert_int_eq(mkdirat(proc, pid, 0700), 0);
	dir = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file = openat(dir, "stat", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, text, strlen(text)),
	                 (ssize_t)strlen(text));
}

static void
remove_stat(int proc, const char *pid)
{
	CLEANUP_FD int dir =
		openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(unlinkat(dir, "stat", 0), 0);
	ck_assert_int_eq(unlinkat(proc, pid, AT_REMOVEDIR), 0);
}

TEST(a_program_is_listed_with_its_age_and_the_cpu_time_of_all_its_processes)
{
	static const char stat[] =
		"10 (nginx) S 1 1 1 0 -1 0 0 0 0 0 %d 50 0 0 20 0 1 0 5 0 7";
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JSON json_t *j = NULL;
	char dir[] = "/tmp/stoker-test-proc-XXXXXX", text[128];
	CLEANUP_FD int proc = -1;
	const json_t *first;
	double hz = (double)sysconf(_SC_CLK_TCK);
	struct timespec now;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	proc = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(text, sizeof(text), stat, 100);
	put_stat(proc, "10", text);
	snprintf(text, sizeof(text), stat, 250);
	put_stat(proc, "11", text);
	table.proc_fd = proc;
	ck_assert_int_eq(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	procs[1].start_time = (uint64_t)((double)now.tv_sec * hz) / 2;
	test_heartbeat(&t.s, TEST_HOST, 0);
	j = found(&t.s, &web_only, "", "");
	table.proc_fd = -1;
	remove_stat(proc, "10");
	remove_stat(proc, "11");
	ck_assert_int_eq(rmdir(dir), 0);
	first = json_array_get(json_object_get(j, "processes"), 0);
	ck_assert_int_eq(number(first, "processes"), 2);
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(first, "cpuSeconds")),
		450 / hz, 0.001);
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(first, "ageSeconds")),
		(double)now.tv_sec / 2, 10);
	procs[1].start_time = 0;
}
END

TEST(a_program_has_no_processes_outside_of_the_scope)
{
	struct conf_tenant masters_only = {.tenant = TEST_TENANT,
	                                   .uids = (char *)"0"};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JSON json_t *j = NULL;
	const json_t *p;
	int64_t counted = 0;
	size_t i;

	test_heartbeat(&t.s, TEST_HOST, 0);
	j = found(&t.s, &masters_only, "", "");
	json_array_foreach(json_object_get(j, "processes"), i, p)
		counted += number(p, "pid") == 10 ? number(p, "processes") : 0;
	ck_assert_int_eq(counted, 1);
}
END

TEST(of_too_many_programs_the_busiest_are_listed)
{
	enum { MANY = SURVEY_MAX_PROCESSES + 100 };
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_FREE struct proc *many = calloc(MANY, sizeof(*many));
	const struct proc_table before = table;
	CLEANUP_JSON json_t *j = NULL;
	char dir[] = "/tmp/stoker-test-proc-XXXXXX", last[16];
	CLEANUP_FD int proc = -1;
	const json_t *list;

	ck_assert_ptr_nonnull(many);
	for (int32_t i = 0; i < MANY; i++) {
		many[i] = procs[1];
		many[i].pid = 1000 + i;
	}
	ck_assert_ptr_nonnull(mkdtemp(dir));
	proc = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(last, sizeof(last), "%d", many[MANY - 1].pid);
	put_stat(proc, last,
	         "1 (nginx) S 1 1 1 0 -1 0 0 0 0 0 9 9 0 0 20 0 1 0 5 0 7");
	table = (struct proc_table){.items = many, .n = MANY, .proc_fd = proc};
	test_heartbeat(&t.s, TEST_HOST, 0);
	j = found(&t.s, &web_only, "", "");
	table = before;
	remove_stat(proc, last);
	ck_assert_int_eq(rmdir(dir), 0);
	list = json_object_get(j, "processes");
	ck_assert_int_eq(number(j, "matching"), MANY);
	ck_assert_uint_eq(json_array_size(list), SURVEY_MAX_PROCESSES);
	ck_assert_int_eq(number(json_array_get(list, 0), "pid"),
	                 many[MANY - 1].pid);
}
END

TEST(a_survey_of_no_worker_or_another_host_has_no_answer)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SURVEY struct survey_list l = {0};
	char id[ID_MAX];

	ck_assert_int_eq(survey_ask(&t.s, TEST_TENANT, "", "", "", id),
	                 -EHOSTDOWN);
	test_heartbeat(&t.s, TEST_HOST, 0);
	test_heartbeat(&t.s, "host2", 0);
	ck_assert_int_eq(survey_ask(&t.s, TEST_TENANT, "", "", "host3", id),
	                 -EHOSTDOWN);
	ck_assert_int_eq(survey_ask(&t.s, TEST_TENANT, "", "", "", id), 0);
	answer_within(&t.s, &web_only);
	ck_assert_int_eq(survey_read(&t.s, id, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_str_ne(l.items[0].found, "");
	ck_assert_str_eq(l.items[1].host, "host2");
	ck_assert_str_eq(l.items[1].found, "");
}
END

TEST(a_survey_is_forgotten)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SURVEY struct survey_list l = {0};
	char id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 0);
	ck_assert_int_eq(survey_ask(&t.s, TEST_TENANT, "", "", TEST_HOST, id),
	                 0);
	ck_assert_int_eq(survey_forget(&t.s, id), 0);
	ck_assert_int_eq(survey_waiting(&t.s, TEST_HOST, &l), 0);
	ck_assert_uint_eq(l.n, 0);
}
END

TEST(a_match_that_the_api_did_not_check_selects_nothing)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	test_heartbeat(&t.s, TEST_HOST, 0);
	for (int i = 0; i < 2; i++) {
		CLEANUP_JSON json_t *j = found(&t.s, &web_only,
		                               i ? "cmdline" : "colour",
		                               i ? "(" : "red");

		ck_assert_uint_eq(json_object_size(j), 0);
	}
}
END

SUITE("surveys");
