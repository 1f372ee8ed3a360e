#include "worker/targets/process_table.h"

#include "base/cleanup.h"
#include "lib/programs.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#define AFTER " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21"

static const struct {
	const char *text, *comm;
	int expected;
} stats[] = {
	{"1 (init)" AFTER, "init", 0},
	{"1 (a) R (b)" AFTER, "a) R (b", 0},
	{"1 ()" AFTER, "", 0},
	{"1 (x) S 1 2", "", -EINVAL},
	{"1 x" AFTER, "", -EINVAL},
	{")(", "", -EINVAL},
	{"", "", -EINVAL},
};

TEST(stat_lines_are_read_around_any_name)
{
	for (size_t i = 0; i < ARRAY_LEN(stats); i++) {
		char comm[PROC_COMM_MAX];
		uint64_t start;
		int rc = proc_parse_stat(stats[i].text, comm, &start);

		ck_assert_msg(rc == stats[i].expected, "%s", stats[i].text);
		if (rc)
			continue;
		ck_assert_str_eq(comm, stats[i].comm);
		ck_assert_uint_eq(start, 777);
	}
}
END

TEST(usage_is_read_past_names_of_all_kinds)
{
	uint64_t ticks = 1, pages = 1;

	ck_assert_int_eq(
		proc_parse_usage("7 (a) 1 (b) S 4 5 6 7 8 9 10 11 12 13 140 15 "
	                         "16 17 18 19 20 21 22 23 240 25",
	                         &ticks, &pages),
		0);
	ck_assert_uint_eq(ticks, 155);
	ck_assert_uint_eq(pages, 240);
	ck_assert_int_eq(proc_parse_usage("7 (a) S 4", &ticks, &pages),
	                 -EINVAL);
	ck_assert_int_eq(proc_parse_usage("", &ticks, &pages), -EINVAL);
	ck_assert_uint_eq(pages, 240);
}
END

static const struct {
	const char *text;
	int rc;
	int32_t parent, session;
} kin[] = {
	{"7 (a) S 4 5 6 7", 0, 4, 6},
	{"7 (a) 1 (b) S 4 5 6 7", 0, 4, 6},
	{"7 (a) S 4 5 2147483647 7", 0, 4, INT32_MAX},
	{"7 (a) S 4 5 2147483648 7", -EINVAL, 0, 0},
	{"7 (a) S 2147483648 5 6 7", -EINVAL, 0, 0},
	{"7 (a) S 4 5", -EINVAL, 0, 0},
	{"7 (a) S 4 5 x", -EINVAL, 0, 0},
	{"7 a S 4 5 6 7", -EINVAL, 0, 0},
	{"", -EINVAL, 0, 0},
};

TEST(parent_and_session_are_read_past_names_of_all_kinds)
{
	for (size_t i = 0; i < ARRAY_LEN(kin); i++) {
		int32_t parent = 0, session = 0;
		int rc = proc_parse_kin(kin[i].text, &parent, &session);

		ck_assert_msg(rc == kin[i].rc, "%s", kin[i].text);
		if (rc)
			continue;
		ck_assert_int_eq(parent, kin[i].parent);
		ck_assert_int_eq(session, kin[i].session);
	}
}
END

static const struct {
	const char *text, *unit;
} cgroups[] = {
	{"0::/system.slice/nginx.service\n", "nginx.service"},
	/* as a worker sees it whose container has control groups of its own */
	{"0::/../../../system.slice/nginx.service\n", "nginx.service"},
	{"0::/system.slice/system-x.slice/x@1.service/sub\n", "x@1.service"},
	{"12:cpu:/a.service\n1:name=systemd:/system.slice/b.service\n",
         "b.service"},
	/* a user's own manager may call anything nginx.service */
	{"0::/user.slice/user-1.slice/user@1.service/app.slice/nginx.service\n",
         "user@1.service"},
	{"0::/user.slice/user-1.slice/session-3.scope\n", "session-3.scope"},
	{"0::/system.slice/_cpu.service\n", "cpu.service"},
	{"0::/\n", ""},
	{"0::/.service\n", ""},
	{"4:memory:/x.service\n", ""},
	{"0::/system.slice/nginx.service", "nginx.service"},
	{"nonsense\n::::\n", ""},
	{"", ""},
};

TEST(a_stopped_process_is_told_from_one_that_calls_itself_so)
{
	ck_assert_int_eq(proc_parse_state("7 (a) T) R 4"), 'R');
	ck_assert_int_eq(proc_parse_state("7 (a)"), '\0');
	ck_assert(proc_is_halted("7 (a) T 4"));
	ck_assert(proc_is_halted("7 () S) t 4"));
	ck_assert(!proc_is_halted("7 () T) S 4"));
	ck_assert(!proc_is_halted("7 (a)"));
	ck_assert(!proc_is_halted(""));
}
END

TEST(a_process_that_sleeps_where_its_group_is_frozen_is_frozen)
{
	ck_assert(proc_is_frozen("7 (a) D 4", "__refrigerator"));
	ck_assert(proc_is_frozen("7 (a) S 4", "do_freezer_trap"));
	ck_assert(proc_is_frozen("7 (a) S 4", "get_signal"));
	ck_assert(!proc_is_frozen("7 (a) T 4", "get_signal"));
	ck_assert(!proc_is_frozen("7 (a) S 4", "hrtimer_nanosleep"));
	ck_assert(!proc_is_frozen("7 (a) S 4", "0"));
}
END

TEST(a_thread_of_the_kernel_is_known_by_its_flags)
{
	ck_assert(
		proc_is_kernel_thread("7 (kworker/0:1) I 2 0 0 0 -1 2097152"));
	ck_assert(proc_is_kernel_thread("7 (a) S 1) R 2 0 0 0 -1 4194384 1"));
	ck_assert(!proc_is_kernel_thread("7 (a) S 2 0 0 0 -1 4194304 1"));
	ck_assert(!proc_is_kernel_thread("7 (a) S 2 0 0 0 -1"));
	ck_assert(!proc_is_kernel_thread(""));
}
END

TEST(a_process_with_memory_but_no_code_is_in_execve)
{
	ck_assert(proc_has_no_code("1 1 0 0 0 0 0\n"));
	ck_assert(!proc_has_no_code("645 239 200 4 0 118 0\n"));
	ck_assert(!proc_has_no_code("0 0 0 0 0 0 0\n")); /* in the kernel */
	ck_assert(!proc_has_no_code(""));
	ck_assert_int_eq(proc_status_state("Name:\tx\nState:\tD (disk)\n"),
	                 'D');
	ck_assert_int_eq(proc_status_state("Name:\tState:\tD\n"), '\0');
}
END

TEST(a_traced_thread_is_known_by_its_tracer)
{
	ck_assert(proc_is_traced("Name:\tx\nTracerPid:\t77\n"));
	ck_assert(!proc_is_traced("Name:\tx\nTracerPid:\t0\n"));
	ck_assert(!proc_is_traced("Name:\tTracerPid:\t77\n"));
	ck_assert(!proc_is_traced(""));
}
END

static const struct {
	const char *text, *group; /* NULL: none */
} cpu_groups[] = {
	{"0::/system.slice/a.service\n",
         "/sys/fs/cgroup/system.slice/a.service"},
	{"3:cpu,cpuacct:/a\n0::/b\n", "/sys/fs/cgroup/cpu/a"},
	{"0::/b\n3:cpuacct,cpu:/a\n", "/sys/fs/cgroup/cpu/a"},
	{"4:cpuset:/x\n2:cpuacct:/y\n1:cpu:/z", "/sys/fs/cgroup/cpu/z"},
	{"4:cpuset:/x\n", NULL},
	{"0::/../a\n", NULL}, /* of another namespace */
	{"nonsense\n::::\n", NULL},
	{"0::/a-name-that-is-longer-than-what-there-is-room-for", NULL},
	{"", NULL},
};

TEST(the_group_of_a_cpu_quota_is_that_of_the_controller_or_the_only_one)
{
	for (size_t i = 0; i < ARRAY_LEN(cpu_groups); i++) {
		char group[48];
		bool has = proc_parse_cpu_group(cpu_groups[i].text, group,
		                                sizeof(group));

		ck_assert_msg(has == !!cpu_groups[i].group, "row %zu", i);
		if (has)
			ck_assert_str_eq(group, cpu_groups[i].group);
	}
}
END

TEST(time_lost_to_a_quota_is_read_in_either_unit)
{
	ck_assert_uint_eq(proc_parse_throttled("nr_periods 9\n"
	                                       "throttled_time 2853738961\n"),
	                  2853738);
	ck_assert_uint_eq(proc_parse_throttled("usage_usec 5\n"
	                                       "throttled_usec 77\n"),
	                  77);
	ck_assert_uint_eq(proc_parse_throttled("usage_usec 5\n"), 0);
}
END

TEST(time_of_a_thread_on_a_cpu_and_waiting_for_one_is_read)
{
	struct proc_schedstat s;

	ck_assert_int_eq(proc_parse_schedstat("2853738961 77 3\n", &s), 0);
	ck_assert_uint_eq(s.ran_ns, 2853738961);
	ck_assert_uint_eq(s.waited_ns, 77);
	ck_assert_uint_eq(s.runs, 3);
	ck_assert_int_eq(proc_parse_schedstat("7\n", &s), -EINVAL);
}
END

TEST(the_unit_is_the_first_service_or_scope_of_systemds_path)
{
	for (size_t i = 0; i < ARRAY_LEN(cgroups); i++) {
		char unit[PROC_UNIT_MAX];

		proc_parse_unit(cgroups[i].text, unit);
		ck_assert_str_eq(unit, cgroups[i].unit);
	}
}
END

TEST(command_lines_are_joined_and_harmless)
{
	char text[] = "a\0b c\0\n\033[1m\0\0", empty[] = "\0";

	proc_join_cmdline(text, sizeof(text) - 1);
	ck_assert_str_eq(text, "a b c   [1m");
	proc_join_cmdline(empty, 1);
	ck_assert_str_eq(empty, "");
}
END

TEST(the_real_user_is_read)
{
	uint32_t uid;

	ck_assert_int_eq(proc_parse_uid("Name:\tx\nUid:\t33\t0\t0\t0\n", &uid),
	                 0);
	ck_assert_uint_eq(uid, 33);
	ck_assert_int_eq(proc_parse_uid("Name:\tUid: 33\n", &uid), -EINVAL);
}
END

TEST(numbers_of_a_status_are_read_and_its_name_is_none_of_them)
{
	static const struct {
		const char *label, *text;
		int32_t process, inner; /* 0: -EINVAL */
	} rows[] = {
		{"first namespace", "Name:\tx\nTgid:\t12\nNSpid:\t14\nA:\n", 12,
	         14},
		{"nested namespace", "Name:\tx\nTgid:\t12\nNSpid:\t14\t3\n", 12,
	         3},
		{"lies in the name", "Name:\tTgid:\t1\\nNSpid:\t1\nX:\n", 0, 0},
		{"no numbers", "Name:\tx\nTgid:\t0\nNSpid:\t\n", 0, 0},
		{"too large", "Name:\nTgid:\t2147483648\nNSpid:\t2147483648\n",
	         0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int32_t process = 0, inner = 0;

		ck_assert_int_eq(proc_parse_process(rows[i].text, &process),
		                 rows[i].process ? 0 : -EINVAL);
		ck_assert_int_eq(proc_parse_inner(rows[i].text, &inner),
		                 rows[i].inner ? 0 : -EINVAL);
		ck_assert_msg(process == rows[i].process &&
		                      inner == rows[i].inner,
		              "%s: %d, %d", rows[i].label, process, inner);
	}
}
END

/* --- a /proc of our own --------------------------------------------------- */

struct fake {
	char dir[64];
	struct proc_table t;
};
#define CLEANUP_FAKE CLEANUP(fake_done)

static int
remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void
fake_done(struct fake *f)
{
	proc_table_done(&f->t);
	close(f->t.proc_fd);
	nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int
programs(void *arg, const int32_t *pids, size_t n, struct buf *out)
{
	const struct fake *f = arg;

	test_programs(f->t.proc_fd, "/bin/p", pids, n, out);
	return buf_err(out);
}

static void
fake_init(struct fake *f)
{
	*f = (struct fake){.dir = "/tmp/stoker-proc.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(f->dir));
	f->t.proc_fd = open(f->dir, O_RDONLY | O_DIRECTORY);
	f->t.programs = programs;
	f->t.arg = f;
}

static void
put(const struct fake *f, int pid, const char *file, const char *text, size_t n)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%d/%s", f->dir, pid, file);
	ck_assert_ptr_nonnull(out = fopen(path, "w"));
	ck_assert_uint_eq(fwrite(text, 1, n, out), n);
	fclose(out);
}

static void
process(const struct fake *f, int pid, const char *comm, const char *cmdline)
{
	char stat[256], path[128];

	snprintf(path, sizeof(path), "%s/%d", f->dir, pid);
	(void)mkdir(path, 0700);
	snprintf(stat, sizeof(stat), "%d (%s)" AFTER, pid, comm);
	put(f, pid, "stat", stat, strlen(stat));
	put(f, pid, "status", "Name:\nUid:\t5\t5\t5\t5\n", 19);
	put(f, pid, "cgroup", "0::/a.service\n", 14);
	put(f, pid, "cmdline", cmdline, strlen(cmdline) + 1);
}

TEST(a_scan_finds_processes_and_forgets_the_gone)
{
	CLEANUP_FAKE struct fake f;
	char path[128];

	fake_init(&f);
	process(&f, 7, "seven", "/bin/seven");
	process(&f, 30, "thirty", "/bin/thirty");
	ck_assert_int_eq(proc_table_scan(&f.t, 0), 1);
	ck_assert_uint_eq(f.t.n, 2);
	ck_assert_str_eq(proc_table_find(&f.t, 7)->exe, "/bin/p");
	ck_assert_str_eq(proc_table_find(&f.t, 7)->unit, "a.service");
	ck_assert_uint_eq(proc_table_find(&f.t, 7)->uid, 5);
	snprintf(path, sizeof(path), "%s/7", f.dir);
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	ck_assert_int_eq(proc_table_scan(&f.t, 1), 1);
	ck_assert_ptr_null(proc_table_find(&f.t, 7));
	ck_assert_ptr_nonnull(proc_table_find(&f.t, 30));
}
END

TEST(a_long_command_line_is_cut)
{
	CLEANUP_FAKE struct fake f;
	char text[2 * PROC_CMDLINE_MAX];

	fake_init(&f);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	process(&f, 7, "x", text);
	ck_assert_int_eq(proc_table_scan(&f.t, 0), 1);
	ck_assert_uint_eq(strlen(proc_table_find(&f.t, 7)->cmdline),
	                  PROC_CMDLINE_MAX - 1);
}
END

TEST(the_process_table_lists_this_process)
{
	struct fake f = {.dir = ""};

	f.t = (struct proc_table){
		.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY),
		.programs = programs,
		.arg = &f};
	ck_assert_int_eq(proc_table_scan(&f.t, 0), 1);
	ck_assert_ptr_nonnull(proc_table_find(&f.t, getpid()));
	ck_assert_uint_eq(proc_table_find(&f.t, getpid())->uid, getuid());
	proc_table_done(&f.t);
	close(f.t.proc_fd);
}
END

SUITE("proc");
