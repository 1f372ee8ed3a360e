#include "worker/targets/process_table.h"

#include "base/clock.h"
#include "base/file.h"
#include "lib/programs.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PID   42
#define START (1000 * NS_PER_S)

/* A directory that looks like /proc, with one process in it. */
struct machine {
	char dir[32];
	struct proc_table table;
};

static void
put(const struct machine *h, const char *name, const char *text)
{
	CLEANUP_FD int fd = openat(h->table.proc_fd, name,
	                           O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void
put_name(const struct machine *h, const char *name)
{
	char text[128];

	snprintf(text, sizeof(text),
	         "42 (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n",
	         name);
	put(h, "42/stat", text);
}

static void
put_tasks(const struct machine *h, const char *tasks)
{
	char text[128];

	snprintf(text, sizeof(text), "0.00 0.01 0.05 %s\n", tasks);
	put(h, "loadavg", text);
}

static int
programs(void *arg, const int32_t *pids, size_t n, struct buf *out)
{
	const struct machine *h = arg;

	test_programs(h->table.proc_fd, "/usr/bin/it", pids, n, out);
	return buf_err(out);
}

static int
programs_without_links(void *arg, const int32_t *pids, size_t n,
                       struct buf *out)
{
	const struct machine *h = arg;

	test_programs(h->table.proc_fd, "", pids, n, out);
	return buf_err(out);
}

static void
machine_init(struct machine *h)
{
	*h = (struct machine){.dir = "/tmp/stoker-proc-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(h->dir));
	h->table.programs = programs;
	h->table.arg = h;
	h->table.proc_fd = open(h->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(h->table.proc_fd, 0);
	ck_assert_int_eq(mkdirat(h->table.proc_fd, "42", 0700), 0);
	put(h, "42/status", "Name:\tit\nUid:\t0\t0\t0\t0\n");
	put(h, "42/cmdline", "it");
	put(h, "42/cgroup", "0::/\n");
	put_name(h, "it");
	put_tasks(h, "1/100 42");
}

static void
end_process(struct machine *h)
{
	static const char *const files[] = {"42/stat", "42/status", "42/statm",
	                                    "42/cmdline", "42/cgroup"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlinkat(h->table.proc_fd, files[i], 0);
	unlinkat(h->table.proc_fd, "42", AT_REMOVEDIR);
}

static void
machine_done(struct machine *h)
{
	end_process(h);
	unlinkat(h->table.proc_fd, "loadavg", 0);
	close(h->table.proc_fd);
	rmdir(h->dir);
	proc_table_done(&h->table);
}

static const char *
name_at(struct machine *h, int64_t now_ns, int expected)
{
	const struct proc *p;

	ck_assert_int_eq(proc_table_scan(&h->table, now_ns), expected);
	p = proc_table_find(&h->table, PID);
	return p ? p->comm : "";
}

TEST(a_young_process_that_becomes_another_is_seen_at_once)
{
	struct machine h;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	put_name(&h, "other");
	ck_assert_str_eq(name_at(&h, START + NS_PER_S, 1), "other");
	machine_done(&h);
}
END

TEST(an_old_process_whose_pid_is_used_anew_is_read_again)
{
	const int64_t old = START + 3600 * NS_PER_S;
	const struct proc *p;
	struct machine h;

	machine_init(&h);
	ck_assert_int_ge(proc_table_scan(&h.table, START), 0);
	put_tasks(&h, "1/100 43");
	ck_assert_int_ge(proc_table_scan(&h.table, old), 0);
	put(&h, "42/cmdline", "anew");
	put(&h, "42/stat",
	    "42 (it) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 778 0 0\n");
	put_tasks(&h, "1/100 42");
	ck_assert_int_ge(proc_table_scan(&h.table, old + PROC_CALM_NS), 0);
	p = proc_table_find(&h.table, PID);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->start_time, 778);
	ck_assert_str_eq(p->cmdline, "anew");
	machine_done(&h);
}
END

TEST(while_no_pid_is_given_out_old_processes_are_not_looked_at)
{
	int64_t old = START + PROC_YOUNG_NS;
	struct machine h;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	ck_assert_str_eq(name_at(&h, old, 1), "it");
	put_name(&h, "other");
	put_tasks(&h, "7/100 42"); /* as many threads, more at work */
	ck_assert_str_eq(name_at(&h, old + NS_PER_S, 0), "it");
	ck_assert_str_eq(name_at(&h, old + PROC_CALM_NS - 1, 0), "it");
	ck_assert_str_eq(name_at(&h, old + PROC_CALM_NS, 1), "other");
	machine_done(&h);
}
END

TEST(a_pid_given_out_or_taken_back_has_all_looked_for)
{
	static const char *const tasks[] = {"1/100 43", "1/99 43"};
	int64_t old = START + PROC_YOUNG_NS;
	struct machine h;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	ck_assert_str_eq(name_at(&h, old, 1), "it");
	put_tasks(&h, tasks[0]);
	ck_assert_str_eq(name_at(&h, old + 1, 1), "it");
	end_process(&h);
	put_tasks(&h, tasks[1]);
	ck_assert_str_eq(name_at(&h, old + 2, 1), "");
	machine_done(&h);
}
END

TEST(a_program_that_starts_itself_anew_is_read_again)
{
	int64_t old = START + PROC_YOUNG_NS;
	struct machine h;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	put(&h, "42/cmdline", "it again");
	(void)name_at(&h, START + PROC_CALM_NS, 1);
	ck_assert_str_eq(proc_table_find(&h.table, PID)->cmdline, "it again");
	put(&h, "42/cmdline", "it once more");
	for (int64_t at = old; at < old + PROC_FRESH_NS; at += PROC_CALM_NS)
		(void)name_at(&h, at, 1);
	ck_assert_str_eq(proc_table_find(&h.table, PID)->cmdline,
	                 "it once more");
	machine_done(&h);
}
END

TEST(a_program_whose_path_can_not_be_had_is_asked_for_again)
{
	struct machine h;

	machine_init(&h);
	h.table.programs = programs_without_links;
	(void)name_at(&h, START, 1);
	ck_assert_str_eq(proc_table_find(&h.table, PID)->exe, "");
	h.table.programs = programs;
	(void)name_at(&h, START + NS_PER_S, 1);
	ck_assert_str_eq(proc_table_find(&h.table, PID)->exe, "/usr/bin/it");
	machine_done(&h);
}
END

/* As while an execve(2) waits: nobody ever writes to the pipe that stat is. */
static void
put_in_exec(const struct machine *h)
{
	unlinkat(h->table.proc_fd, "42/stat", 0);
	ck_assert_int_eq(mkfifoat(h->table.proc_fd, "42/stat", 0600), 0);
	put(h, "42/statm", "1 1 0 0 0 0 0\n");
	put(h, "42/status", "Name:\tit\nState:\tD (disk sleep)\n");
}

static void
end_exec(const struct machine *h)
{
	unlinkat(h->table.proc_fd, "42/stat", 0);
	put(h, "42/statm", "645 239 200 4 0 118 0\n");
	put(h, "42/status", "Name:\tother\nUid:\t0\t0\t0\t0\n");
	put_name(h, "other");
}

TEST(a_process_whose_execve_waits_keeps_its_name_meanwhile)
{
	struct machine h;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	put_in_exec(&h);
	ck_assert_str_eq(name_at(&h, START + NS_PER_S, 1), "it");
	end_exec(&h);
	ck_assert_str_eq(name_at(&h, START + 2 * NS_PER_S, 1), "other");
	machine_done(&h);
}
END_TEST

TEST(a_new_process_whose_execve_waits_is_seen_afterwards)
{
	struct machine h;

	machine_init(&h);
	put_in_exec(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "");
	end_exec(&h);
	ck_assert_str_eq(name_at(&h, START + 1, 1), "other");
	machine_done(&h);
}
END_TEST

TEST(a_running_program_without_code_is_read)
{
	struct machine h;

	machine_init(&h);
	put(&h, "42/statm", "1 1 0 0 0 0 0\n");
	put(&h, "42/status",
	    "Name:\tit\nState:\tR (running)\nUid:\t0\t0\t0\t0\n");
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	machine_done(&h);
}
END_TEST

TEST(without_a_count_of_tasks_every_scan_looks)
{
	int64_t old = START + PROC_YOUNG_NS;
	struct machine h;

	machine_init(&h);
	unlinkat(h.table.proc_fd, "loadavg", 0);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	ck_assert_str_eq(name_at(&h, old, 1), "it");
	ck_assert_str_eq(name_at(&h, old + 1, 1), "it");
	machine_done(&h);
}
END

TEST(where_the_processes_cannot_be_listed_those_seen_stay)
{
	struct machine h;
	int proc_fd;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	proc_fd = h.table.proc_fd;
	h.table.proc_fd = -1;
	ck_assert_str_eq(name_at(&h, START + NS_PER_S, -EBADF), "it");
	h.table.proc_fd = proc_fd;
	machine_done(&h);
}
END

/* --- processes whose memory is locked ------------------------------------- */

#define MANY 200

/* Processes 1 to MANY, of which some lock their memory. */
struct crowd {
	struct machine h;
	bool locked[MANY + 1];
	int waited, alone; /* questions that failed; about one process */
};

static int
programs_of_a_crowd(void *arg, const int32_t *pids, size_t n, struct buf *out)
{
	struct crowd *c = arg;

	ck_assert_uint_le(n, HOST_MAX_PROGRAMS);
	c->alone += n == 1;
	for (size_t i = 0; i < n; i++)
		if (c->locked[pids[i]]) {
			c->waited++;
			return -ETIMEDOUT;
		}
	test_programs(c->h.table.proc_fd, "/usr/bin/it", pids, n, out);
	return buf_err(out);
}

static void
crowd_init(struct crowd *c)
{
	*c = (struct crowd){.waited = 0};
	machine_init(&c->h);
	end_process(&c->h);
	for (int pid = 1; pid <= MANY; pid++) {
		char path[64], stat[128];

		snprintf(path, sizeof(path), "%d", pid);
		ck_assert_int_eq(mkdirat(c->h.table.proc_fd, path, 0700), 0);
		snprintf(stat, sizeof(stat),
		         "%d (it) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d "
		         "0 0\n",
		         pid, pid);
		snprintf(path, sizeof(path), "%d/stat", pid);
		put(&c->h, path, stat);
		snprintf(path, sizeof(path), "%d/status", pid);
		put(&c->h, path, "Name:\tit\nUid:\t0\t0\t0\t0\n");
		snprintf(path, sizeof(path), "%d/cmdline", pid);
		put(&c->h, path, "it");
	}
	c->h.table.programs = programs_of_a_crowd;
	c->h.table.arg = c;
}

static void
crowd_done(struct crowd *c)
{
	char command[64];

	proc_table_done(&c->h.table);
	close(c->h.table.proc_fd);
	snprintf(command, sizeof(command), "rm -rf %s", c->h.dir);
	ck_assert_int_eq(system(command), 0);
}

TEST(a_process_whose_memory_is_locked_hides_no_other)
{
	struct crowd c;

	crowd_init(&c);
	c.locked[70] = true;
	ck_assert_int_eq(proc_table_scan(&c.h.table, START), 1);
	ck_assert_uint_eq(c.h.table.n, MANY - 1);
	ck_assert_ptr_null(proc_table_find(&c.h.table, 70));
	ck_assert_int_eq(c.waited, 2); /* with others, and alone */
	c.locked[70] = false;
	ck_assert_int_eq(proc_table_scan(&c.h.table, START + 1), 1);
	ck_assert_str_eq(proc_table_find(&c.h.table, 70)->cmdline, "it");
	crowd_done(&c);
}
END

TEST(a_scan_waits_for_few_processes_whose_memory_is_locked)
{
	struct crowd c;

	crowd_init(&c);
	for (int pid = 10; pid < 190; pid++)
		c.locked[pid] = true;
	ck_assert_int_eq(proc_table_scan(&c.h.table, START), 1);
	ck_assert_int_eq(c.waited, 1 + 3);
	crowd_done(&c);
}
END

TEST(a_process_is_still_listed_when_its_memory_is_locked)
{
	struct machine h;
	struct crowd c;

	machine_init(&h);
	ck_assert_str_eq(name_at(&h, START, 1), "it");
	c = (struct crowd){.h = h, .locked = {[PID] = true}};
	h.table.programs = programs_of_a_crowd;
	h.table.arg = &c;
	put_name(&h, "other");
	ck_assert_str_eq(name_at(&h, START + NS_PER_S, 1), "it");
	ck_assert_int_eq(c.waited, 1);
	c.locked[PID] = false;
	ck_assert_str_eq(name_at(&h, START + 2 * NS_PER_S, 1), "other");
	machine_done(&h);
}
END

/* --- contexts ------------------------------------------------------------- */

struct asked {
	int n, error;
};

static int
count_maps(void *arg, const struct host_ask *ask, struct host_reply *reply,
           int fds[HOST_MAX_FDS], size_t *nfds)
{
	struct asked *a = arg;

	(void)fds;
	ck_assert_int_eq(ask->op, HOST_MAPS);
	a->n++;
	*reply = (struct host_reply){.error = a->error};
	*nfds = 0;
	return 0;
}

/* How often in an hour a process without a context is asked for one. */
static const struct {
	int error, least, most;
} asks[] = {
	{-ENOENT, 10, 25},
	{-EPERM, 10, 25},
	{-ETIMEDOUT, 8, 20}, /* each time takes a minute */
};

TEST(a_process_without_a_context_is_asked_less_and_less_often)
{
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		struct asked asked = {.error = asks[i].error};
		const struct host host = {.ask = count_maps, .arg = &asked};
		struct machine h;

		machine_init(&h);
		h.table.host = &host;
		for (int second = 0; second < 3600; second++) {
			int64_t now = START + second * NS_PER_S;

			ck_assert_int_ge(proc_table_scan(&h.table, now), 0);
			/* never before it is PROC_NEW_NS old */
			ck_assert_int_eq(asked.n > 0, second >= 2);
		}
		ck_assert_msg(asked.n >= asks[i].least &&
		                      asked.n <= asks[i].most,
		              "row %zu: %d", i, asked.n);
		machine_done(&h);
	}
}
END

SUITE("process_table");
