/* The worker's self-test, with an opener that answers as the test wants and a
 * /proc of a few files. */
#include "worker/scheduler/selftest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_out.h"
#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/worker.h"
#include "worker/ipc/messages.h"
#include "worker/scheduler/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_CAPS  "000001ffffffffff"
#define NO_CAPS   "0000000000000000"
#define MANY      "0000000000000000 A zero\nffffffff81000000 T _text\n"
#define HIDDEN    "0000000000000000 A zero\n0000000000000000 T _text\n"
#define OTHER_PID 1

struct opener {
	int rc[HOST_OPS];     /* result of each question */
	int asked[HOST_OPS];  /* how often */
	int rc_init;          /* result of EXE for process 1 */
	const char *kallsyms; /* NULL: an empty file */
	uint32_t hanging;     /* the answer to ALIVE */
};

static int
ask_opener(void *arg, const struct host_ask *ask, struct host_reply *reply,
           int fds[HOST_MAX_FDS], size_t *nfds)
{
	struct opener *o = arg;
	const char *text = o->kallsyms ? o->kallsyms : "";

	*reply = (struct host_reply){.error = o->rc[ask->op]};
	*nfds = 0;
	o->asked[ask->op]++;
	if (ask->op == HOST_EXE && ask->pid == OTHER_PID)
		reply->error = o->rc_init;
	if (ask->op == HOST_EXE_LINK)
		strcpy(reply->text, "/usr/sbin/stoker-worker");
	if (ask->op == HOST_ALIVE)
		reply->value = o->hanging;
	if (reply->error || ask->op == HOST_EXE_LINK || ask->op == HOST_ALIVE)
		return 0;
	fds[0] = memfd_create("answer", MFD_CLOEXEC);
	ck_assert_int_ge(fds[0], 0);
	if (ask->op == HOST_KALLSYMS) {
		ck_assert_int_eq(fd_write_all(fds[0], text, strlen(text)), 0);
		lseek(fds[0], 0, SEEK_SET);
	}
	*nfds = 1;
	return 0;
}

struct rig {
	struct test_store store;
	struct conf conf;
	struct opener opener;
	struct worker_self self;
	struct selftest t;
	int proc_fd;
	unsigned given_up;
};

static void
rig_done(struct rig *r)
{
	close(r->proc_fd);
	conf_done(&r->conf);
	test_store_done(&r->store);
}

static void
put(const struct rig *r, const char *name, const char *text)
{
	CLEANUP_FD int fd = openat(r->proc_fd, name,
	                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
	                           0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

/* Writes files of /proc that describe the kernel and the opener. */
static void
host_is(const struct rig *r, const char *paranoid, const char *scope,
        const char *kptr, const char *caps, const char *uid)
{
	char path[64], status[128];

	put(r, "sys/kernel/perf_event_paranoid", paranoid);
	put(r, "sys/kernel/yama/ptrace_scope", scope);
	put(r, "sys/kernel/kptr_restrict", kptr);
	snprintf(path, sizeof(path), "%d/status", (int)getppid());
	snprintf(status, sizeof(status), "Name:\tx\nUid:\t%s\t0\nCapEff:\t%s\n",
	         uid, caps);
	put(r, path, status);
}

/* A host where everything works. */
static void
rig_init(struct rig *r)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	static const char *const folders[] = {"self", "sys", "sys/kernel",
	                                      "sys/kernel/yama"};
	char dir[96];

	unsetenv("container");
	*r = (struct rig){.store = test_store()};
	ck_assert_int_eq(conf_load(NULL, &r->conf, &why), 0);
	r->conf.continuous_min_free = 0;
	r->conf.worker_ring_bytes = 1;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		snprintf(dir, sizeof(dir), "%s/%s", r->store.dir, folders[i]);
		ck_assert_int_eq(mkdir(dir, 0700), 0);
	}
	snprintf(dir, sizeof(dir), "%s/%d", r->store.dir, (int)getppid());
	mkdir(dir, 0700);
	r->proc_fd = open(r->store.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->opener.kallsyms = MANY;
	r->opener.rc[HOST_MEMORY] = -EFAULT;
	host_is(r, "2\n", "1\n", "1\n", ALL_CAPS, "0");
	r->self = (struct worker_self){.host = "here", .boot_id = "boot"};
	r->t = (struct selftest){
		.conf = &r->conf,
		.self = &r->self,
		.store = &r->store.s,
		.host = {.ask = ask_opener, .arg = &r->opener},
		.proc_fd = &r->proc_fd,
		.given_up = &r->given_up,
	};
}
#define RIG(r)                          \
	CLEANUP(rig_done) struct rig r; \
	rig_init(&r)

static void
expect(struct rig *r, enum check c, enum verdict v, const char *word)
{
	const struct finding *f = &r->t.findings[c];

	r->t.hurried_ns = 0;
	selftest_soon(&r->t, 1);
	ck_assert_int_eq(selftest_step(&r->t, 1), 0);
	ck_assert_msg(f->verdict == v, "%s: %s", verdict_word(f->verdict),
	              f->found);
	ck_assert_msg(strstr(f->found, word) || strstr(f->fix, word),
	              "found '%s', fix '%s'", f->found, f->fix);
	ck_assert_int_eq(!*f->fix, v == FINE);
}

TEST(a_host_where_everything_works_is_fine_and_is_left_in_peace)
{
	RIG(r);

	for (int c = 0; c < CHECKS; c++)
		if (!strcmp(check_part(c), "worker"))
			expect(&r, c, FINE, "");
	ck_assert_int_eq(r.t.next_ns, 1 + SELFTEST_PARTS_NS);
	r.opener.asked[HOST_WAITS] = 0;
	ck_assert_int_eq(selftest_step(&r.t, SELFTEST_NS), 0);
	ck_assert_int_eq(r.opener.asked[HOST_WAITS], 0);
	ck_assert_int_eq(selftest_step(&r.t, 1 + SELFTEST_NS), 0);
	ck_assert_int_eq(r.opener.asked[HOST_WAITS], 1);
}
END

TEST(what_was_found_is_published_check_by_check)
{
	RIG(r);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_JSON json_t *j = NULL;
	const json_t *list;

	expect(&r, CHECK_STORE, FINE, "");
	json_open(&text, NULL, '{');
	selftest_json(&r.t, &text);
	json_close(&text, '}');
	j = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
	list = json_object_get(j, "checks");
	ck_assert_uint_gt(json_array_size(list), 5);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		ck_assert_str_eq(
			json_string_value(json_object_get(one, "verdict")),
			verdict_word(FINE));
		ck_assert_uint_gt(
			json_string_length(json_object_get(one, "found")), 0);
	}
}
END

TEST(a_disk_that_fills_up_is_noticed_while_all_else_is_well)
{
	RIG(r);

	expect(&r, CHECK_STORE, FINE, "");
	r.conf.continuous_min_free = INT64_MAX;
	ck_assert_int_eq(selftest_step(&r.t, SELFTEST_STORE_NS), 0);
	ck_assert_int_eq(r.t.findings[CHECK_STORE].verdict, FINE);
	ck_assert_int_eq(selftest_step(&r.t, 1 + SELFTEST_STORE_NS), 0);
	ck_assert_int_eq(r.t.findings[CHECK_STORE].verdict, WARNING);
}
END

TEST(what_fails_is_tried_again_with_each_heartbeat_until_it_works)
{
	RIG(r);

	r.opener.rc[HOST_FILE] = -ENOSYS;
	expect(&r, CHECK_FILES, BROKEN, "RestrictSUIDSGID=no");
	ck_assert_int_eq(r.t.next_ns, 1 + SELFTEST_AGAIN_NS);
	r.opener.rc[HOST_FILE] = 0;
	ck_assert_int_eq(selftest_step(&r.t, SELFTEST_AGAIN_NS), 0);
	ck_assert_int_eq(r.t.findings[CHECK_FILES].verdict, BROKEN);
	ck_assert_int_eq(selftest_step(&r.t, 1 + SELFTEST_AGAIN_NS), 0);
	ck_assert_int_eq(r.t.findings[CHECK_FILES].verdict, FINE);
}
END

TEST(a_check_that_fails_leaves_the_opener_alone_with_the_others)
{
	RIG(r);

	r.opener.rc[HOST_FILE] = -ENOSYS;
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(selftest_step(&r.t, 1 + i * SELFTEST_AGAIN_NS),
		                 0);
	ck_assert_int_eq(r.opener.asked[HOST_FILE], 20);
	ck_assert_int_eq(r.opener.asked[HOST_WAITS], 1);
	ck_assert_int_eq(r.opener.asked[HOST_FILTER], 1);
}
END

TEST(what_the_kernel_lacks_is_not_tried_with_each_heartbeat)
{
	RIG(r);

	r.opener.rc[HOST_ALLOCS] = -EOPNOTSUPP;
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(selftest_step(&r.t, 1 + i * SELFTEST_AGAIN_NS),
		                 0);
	ck_assert_int_eq(r.opener.asked[HOST_ALLOCS], 2); /* alloc, memory */
	ck_assert_int_eq(selftest_step(&r.t, 1 + SELFTEST_NS), 0);
	ck_assert_int_eq(r.opener.asked[HOST_ALLOCS], 4);
}
END

TEST(captures_that_fail_have_all_checks_run_once_a_minute)
{
	RIG(r);
	int64_t now_ns = 1;

	for (int i = 0; i < 20; i++, now_ns += SELFTEST_SOON_NS / 4) {
		selftest_soon(&r.t, now_ns);
		ck_assert_int_eq(selftest_step(&r.t, now_ns), 0);
	}
	ck_assert_int_eq(r.opener.asked[HOST_WAITS], 5);
}
END

TEST(each_refusal_of_events_names_its_own_repair)
{
	static const struct {
		int rc, task;
		const char *paranoid, *caps, *uid;
		enum verdict verdict;
		const char *word;
	} rows[] = {
		{-EACCES, -EACCES, "3\n", ALL_CAPS, "0", BROKEN,
	         "kernel.perf_event_paranoid=2"},
		{-EACCES, -EACCES, "4\n", ALL_CAPS, "0", BROKEN,
	         "worker-sys-admin.conf"},
		{-EACCES, -EACCES, "2\n", ALL_CAPS, "0", BROKEN, "lockdown"},
		{-EPERM, -EPERM, "2\n", NO_CAPS, "0", BROKEN, "CAP_PERFMON"},
		{-EPERM, 0, "2\n", NO_CAPS, "1000", WARNING, "one user"},
		{-ENOSYS, -ENOSYS, "2\n", ALL_CAPS, "0", BROKEN,
	         "SystemCallFilter=perf_event_open"},
		{-EINVAL, -EINVAL, "2\n", ALL_CAPS, "0", BROKEN,
	         "CONFIG_PERF_EVENTS"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		RIG(r);

		host_is(&r, rows[i].paranoid, "1\n", "1\n", rows[i].caps,
		        rows[i].uid);
		r.opener.rc[HOST_EVENT] = rows[i].rc;
		r.opener.rc[HOST_TASK_EVENT] = rows[i].task;
		expect(&r, CHECK_EVENTS, rows[i].verdict, rows[i].word);
	}
}
END

TEST(in_a_container_each_refusal_names_the_option_that_is_missing)
{
	static const struct {
		enum check check;
		int op, rc;
		const char *paranoid, *caps, *users, *word;
	} rows[] = {
		{CHECK_EVENTS, HOST_EVENT, -EPERM, "2\n", NO_CAPS, "4294967295",
	         "--cap-add PERFMON"},
		{CHECK_EVENTS, HOST_EVENT, -EPERM, "2\n", ALL_CAPS,
	         "4294967295", "--security-opt seccomp="},
		{CHECK_EVENTS, HOST_EVENT, -ENOSYS, "2\n", ALL_CAPS,
	         "4294967295", "--security-opt seccomp="},
		{CHECK_EVENTS, HOST_EVENT, -EACCES, "3\n", ALL_CAPS,
	         "4294967295", "on the host: "},
		{CHECK_EVENTS, HOST_EVENT, -EACCES, "2\n", ALL_CAPS, "65536",
	         "not rootless"},
		{CHECK_FILTER, HOST_FILTER, -EXDEV, "2\n", ALL_CAPS,
	         "4294967295", "--pid host"},
		{CHECK_FILTER, HOST_FILTER, -EPERM, "2\n", NO_CAPS,
	         "4294967295", "--cap-add BPF"},
		{CHECK_FILTER, HOST_FILTER, -EPERM, "2\n", ALL_CAPS,
	         "4294967295", "--security-opt seccomp="},
		{CHECK_WAITS, HOST_WAITS, -EPERM, "2\n", ALL_CAPS, "4294967295",
	         "--security-opt seccomp="},
		{CHECK_ALLOCS, HOST_ALLOCS, -EPERM, "2\n", ALL_CAPS,
	         "4294967295", "--security-opt seccomp="},
		{CHECK_MEMORY, HOST_MEMORY, -EPERM, "2\n", NO_CAPS,
	         "4294967295", "--cap-add SYS_PTRACE"},
		{CHECK_MEMORY, HOST_MEMORY, -EACCES, "2\n", ALL_CAPS,
	         "4294967295", "apparmor=unconfined"},
		{CHECK_KERNEL_NAMES, HOST_KALLSYMS, 0, "2\n", NO_CAPS,
	         "4294967295", "--cap-add SYSLOG"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		RIG(r);
		char map[64];

		setenv("STOKER_CONTAINER", "1", 1);
		host_is(&r, rows[i].paranoid, "1\n", "1\n", rows[i].caps, "0");
		snprintf(map, sizeof(map), "0 0 %s\n", rows[i].users);
		put(&r, "self/uid_map", map);
		r.opener.rc[rows[i].op] = rows[i].rc;
		r.opener.rc[HOST_TASK_EVENT] = rows[i].rc;
		if (rows[i].check == CHECK_KERNEL_NAMES)
			r.opener.kallsyms = HIDDEN;
		ck_assert_int_eq(selftest_step(&r.t, 1), 0);
		ck_assert_str_ne(r.t.findings[rows[i].check].fix, "");
		ck_assert_msg(
			!!strstr(r.t.findings[rows[i].check].fix, rows[i].word),
			"row %zu: %s", i, r.t.findings[rows[i].check].fix);
		ck_assert_msg(
			!strstr(r.t.findings[rows[i].check].fix, "systemctl"),
			"row %zu: %s", i, r.t.findings[rows[i].check].fix);
	}
}
END

TEST(a_cpu_that_is_offline_is_no_refusal)
{
	RIG(r);

	r.opener.rc[HOST_EVENT] = -ENODEV;
	expect(&r, CHECK_EVENTS, BROKEN, "");
	r.opener.rc[HOST_EVENT] = 0;
	expect(&r, CHECK_EVENTS, FINE, "");
}
END

TEST(a_filter_that_is_refused_costs_more_and_breaks_nothing)
{
	RIG(r);

	r.opener.rc[HOST_FILTER] = -EPERM;
	expect(&r, CHECK_FILTER, WARNING, "SystemCallFilter=bpf");
	r.opener.rc[HOST_FILTER] = -EXDEV;
	expect(&r, CHECK_FILTER, WARNING, "PID namespace");
	r.opener.rc[HOST_WAITS] = -EXDEV;
	expect(&r, CHECK_WAITS, WARNING, "PID namespace");
	r.opener.rc[HOST_WAITS] = -ESRCH;
	expect(&r, CHECK_WAITS, WARNING, "CONFIG_DEBUG_INFO_BTF");
	expect(&r, CHECK_WAITS, WARNING, "of these types: block, mutex, io");
	r.opener.rc[HOST_WAITS] = -EIO;
	expect(&r, CHECK_WAITS, WARNING, "no CPU was free: only programs");
	host_is(&r, "2\n", "1\n", "1\n", NO_CAPS, "1000");
	r.opener.rc[HOST_FILTER] = -EPERM;
	expect(&r, CHECK_FILTER, WARNING, "CAP_BPF");
}
END

TEST(what_probes_cannot_watch_is_left_to_the_library)
{
	RIG(r);

	expect(&r, CHECK_ALLOCS, FINE, "");
	expect(&r, CHECK_INUSE, FINE, "");
	r.opener.rc[HOST_ALLOCS] = -EOPNOTSUPP;
	expect(&r, CHECK_ALLOCS, WARNING, "libstoker-heap.so");
	expect(&r, CHECK_INUSE, WARNING, "libstoker-heap.so");
	expect(&r, CHECK_INUSE, WARNING, "of these types: memory");
	expect(&r, CHECK_INUSE, WARNING, "Linux 6.13");
	host_is(&r, "2\n", "1\n", "1\n", NO_CAPS, "1000");
	r.opener.rc[HOST_ALLOCS] = -EPERM;
	expect(&r, CHECK_ALLOCS, WARNING, "CAP_BPF");
}
END

TEST(a_worker_without_descriptors_says_so_and_not_that_the_kernel_is_old)
{
	static const enum check of_kernel[] = {CHECK_WAITS, CHECK_ALLOCS,
	                                       CHECK_INUSE, CHECK_FILTER};
	RIG(r);

	r.opener.rc[HOST_WAITS] = -EMFILE;
	r.opener.rc[HOST_ALLOCS] = -ENFILE;
	r.opener.rc[HOST_FILTER] = -EMFILE;
	for (size_t i = 0; i < ARRAY_LEN(of_kernel); i++) {
		expect(&r, of_kernel[i], WARNING, "LimitNOFILE=");
		ck_assert_ptr_null(
			strstr(r.t.findings[of_kernel[i]].found, "Linux"));
	}
}
END

TEST(parts_that_hang_are_counted_and_a_worker_without_analyser_is_broken)
{
	RIG(r);

	expect(&r, CHECK_PARTS, FINE, "");
	r.opener.hanging = 3;
	expect(&r, CHECK_PARTS, WARNING, "3 processes of the worker hang");
	r.opener.hanging = 3 | HOST_NO_ANALYSER;
	expect(&r, CHECK_PARTS, BROKEN, "no analyser");
	r.opener.hanging = 0;
	expect(&r, CHECK_PARTS, FINE, "");
}
END

TEST(sums_that_were_given_up_are_counted)
{
	RIG(r);

	expect(&r, CHECK_ROLLUPS, FINE, "");
	r.given_up = 2;
	expect(&r, CHECK_ROLLUPS, WARNING, "2 sums of windows were given up");
}
END

TEST(a_second_worker_that_sees_the_same_processes_is_named_with_its_end)
{
	static const struct {
		const char *host, *boot_id, *tenants, *comm;
		int64_t lease_ms;
		enum verdict verdict;
	} rows[] = {
		{"here", "boot", NULL, "stoker-worker\n", 60000, FINE},
		{"second", "boot", NULL, "stoker-worker\n", 60000, WARNING},
		{"second", "other", NULL, "stoker-worker\n", 60000, FINE},
		{"second", "boot", "default", "stoker-worker\n", 60000, FINE},
		{"second", "boot", NULL, "sleep\n", 60000, FINE},
		{"second", "boot", NULL, NULL, 60000, FINE},
		{"second", "boot", NULL, "stoker-worker\n", 0, FINE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		RIG(r);
		struct worker w = {
			.host = (char *)rows[i].host,
			.boot_id = (char *)rows[i].boot_id,
			.version = (char *)"1",
			.capabilities = (char *)"{}",
			.pid = 77,
			.tenants = rows[i].tenants,
		};
		char dir[96];

		snprintf(dir, sizeof(dir), "%s/77", r.store.dir);
		ck_assert_int_eq(mkdir(dir, 0700), 0);
		if (rows[i].comm)
			put(&r, "77/comm", rows[i].comm);
		ck_assert_int_eq(
			worker_heartbeat(&r.store.s, &w, rows[i].lease_ms), 0);
		expect(&r, CHECK_ALONE, rows[i].verdict,
		       rows[i].verdict == FINE
		               ? "no other worker"
		               : "kill 77, then stoker forget second");
	}
}
END

TEST(a_clock_that_differs_from_the_databases_is_a_warning)
{
	RIG(r);

	expect(&r, CHECK_CLOCK, FINE, "the database's");
	db_skew_clock(r.store.s.db, -600000);
	expect(&r, CHECK_CLOCK, WARNING, "10 min ahead of the database's");
	db_skew_clock(r.store.s.db, 7200000);
	expect(&r, CHECK_CLOCK, WARNING, "2 h behind the database's");
}
END

TEST(on_a_host_of_a_fleet_the_clock_is_compared_with_the_centres)
{
	int64_t ahead_ms = -4000;
	RIG(r);

	r.t.clock_ms = &ahead_ms;
	db_skew_clock(r.store.s.db, 7200000);
	expect(&r, CHECK_CLOCK, FINE, "the centre's");
	ahead_ms = -6000;
	expect(&r, CHECK_CLOCK, WARNING, "6.0 s behind the centre's");
}
END

TEST(programs_of_other_users_need_their_own_right)
{
	RIG(r);

	r.opener.rc_init = -EACCES;
	expect(&r, CHECK_FILES, BROKEN, "ProtectProc=");
	host_is(&r, "2\n", "1\n", "1\n", NO_CAPS, "0");
	expect(&r, CHECK_FILES, BROKEN, "CAP_SYS_PTRACE");
	host_is(&r, "2\n", "1\n", "1\n", NO_CAPS, "1000");
	expect(&r, CHECK_FILES, WARNING, "CAP_SYS_PTRACE");
}
END

TEST(a_first_process_that_is_out_of_reach_speaks_for_no_other)
{
	RIG(r);
	char dir[96];

	snprintf(dir, sizeof(dir), "%s/%d", r.store.dir, (int)getpid() + 1);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	r.opener.rc_init = -EACCES;
	expect(&r, CHECK_FILES, FINE, "");
	r.opener.rc[HOST_EXE] = -EACCES;
	expect(&r, CHECK_FILES, BROKEN, "ProtectProc=");
	r.opener.rc[HOST_EXE] = 0;
	host_is(&r, "2\n", "1\n", "1\n", NO_CAPS, "0");
	expect(&r, CHECK_FILES, BROKEN, "CAP_SYS_PTRACE");
}
END

/* A reader may always read itself, so success would prove nothing. */
TEST(children_of_the_opener_speak_for_no_other_process)
{
	RIG(r);
	int reader = (int)getpid() + 1;
	char path[96], stat[96];

	snprintf(path, sizeof(path), "%s/%d", r.store.dir, reader);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%d/stat", reader);
	snprintf(stat, sizeof(stat), "%d (stoker-reader) S %d 1 1 0", reader,
	         (int)getppid());
	put(&r, path, stat);
	r.opener.rc_init = -EACCES;
	expect(&r, CHECK_FILES, BROKEN, "ProtectProc=");
}
END

TEST(a_program_that_an_upgrade_replaced_is_no_finding)
{
	RIG(r);

	r.opener.rc[HOST_FILE] = -ENOENT;
	expect(&r, CHECK_FILES, FINE, "");
}
END

TEST(memory_that_nobody_may_read_names_the_setting)
{
	RIG(r);

	r.opener.rc[HOST_MEMORY] = -EPERM;
	expect(&r, CHECK_MEMORY, BROKEN, "SystemCallFilter=process_vm_readv");
	host_is(&r, "2\n", "3\n", "1\n", ALL_CAPS, "0");
	expect(&r, CHECK_MEMORY, BROKEN, "kernel.yama.ptrace_scope=2");
	host_is(&r, "2\n", "2\n", "1\n", NO_CAPS, "0");
	expect(&r, CHECK_MEMORY, BROKEN, "CAP_SYS_PTRACE");
}
END

TEST(kernel_names_that_are_hidden_name_what_hides_them)
{
	RIG(r);

	r.opener.kallsyms = HIDDEN;
	expect(&r, CHECK_KERNEL_NAMES, WARNING, "lockdown");
	host_is(&r, "2\n", "1\n", "2\n", ALL_CAPS, "0");
	expect(&r, CHECK_KERNEL_NAMES, WARNING, "kernel.kptr_restrict=1");
	host_is(&r, "2\n", "1\n", "1\n", NO_CAPS, "0");
	expect(&r, CHECK_KERNEL_NAMES, WARNING, "CAP_SYSLOG");
	r.opener.kallsyms = NULL;
	expect(&r, CHECK_KERNEL_NAMES, WARNING, "ProtectKernelTunables=no");
	r.opener.rc[HOST_KALLSYMS] = -EACCES;
	expect(&r, CHECK_KERNEL_NAMES, WARNING, "ProtectKernelTunables=no");
}
END

TEST(rings_past_the_locked_memory_are_a_warning)
{
	RIG(r);
	struct rlimit limit = {4096, 4096};

	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	r.conf.worker_ring_bytes = 4096;
	expect(&r, CHECK_RINGS, FINE, "");
	r.conf.worker_ring_bytes = 4097;
	expect(&r, CHECK_RINGS, WARNING, "LimitMEMLOCK=infinity");
	expect(&r, CHECK_RINGS, WARNING, "only 4.00 KiB may be locked");
}
END

TEST(a_capture_error_is_explained_by_the_check_that_fails)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct finding findings[CHECKS] = {0};

	capture_error_explain(CAPTURE_PERF_FILTERED, NULL, NULL, &text);
	ck_assert_str_eq(buf_str(&text),
	                 capture_error_text(CAPTURE_PERF_FILTERED));
	buf_clear(&text);
	finding_set(&findings[CHECK_EVENTS], BROKEN, "allow it", "filtered");
	capture_error_explain(CAPTURE_PERF_FILTERED, findings, NULL, &text);
	ck_assert_str_eq(buf_str(&text), "filtered: allow it");
	buf_clear(&text);
	capture_error_explain(CAPTURE_NO_PROCESS, findings, NULL, &text);
	ck_assert_str_eq(buf_str(&text),
	                 capture_error_text(CAPTURE_NO_PROCESS));
}
END

TEST(a_type_that_the_kernel_refuses_is_explained_by_the_check_of_its_way)
{
	const enum capture_error e = capture_error_unsupported(CHECK_INUSE);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct finding findings[CHECKS] = {0};

	ck_assert_str_eq(capture_error_code(e), "Unsupported");
	capture_error_explain(e, findings, NULL, &text);
	ck_assert_str_eq(buf_str(&text),
	                 capture_error_text(CAPTURE_UNSUPPORTED));
	buf_clear(&text);
	finding_set(&findings[CHECK_INUSE], WARNING, "preload it", "too old");
	capture_error_explain(e, findings, NULL, &text);
	ck_assert_str_eq(buf_str(&text), "too old: preload it");
	ck_assert_str_eq(capture_error_code(CAPTURE_ERRORS), "CaptureFailed");
	ck_assert_int_eq(capture_error_check(CAPTURE_ERRORS), CHECKS);
}
END

TEST(a_capture_error_names_the_service_in_its_command)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	capture_error_explain(CAPTURE_GO_NO_EVENTS, NULL, "cart", &text);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&text), ": stoker service set cart --allow"));
}
END

TEST(an_opener_that_is_gone_is_no_finding)
{
	RIG(r);

	r.opener.rc[HOST_EVENT] = -EPIPE;
	ck_assert_int_eq(selftest_step(&r.t, 1), -EPIPE);
	ck_assert_int_eq(r.t.findings[CHECK_EVENTS].verdict, FINE);
}
END

SUITE("selftest");
