/* The worker's own cost, read from a /proc that the test makes. */
#include "worker/scheduler/own_cost.h"

#include "base/cleanup.h"
#include "lib/test.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void
put(int dir, const char *path, const char *text)
{
	CLEANUP_FD int fd = openat(dir, path, O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Makes a /proc of a worker, pid 10, with a child and an ended child. */
static int
proc_of(char dir[static 32], const char *children)
{
	/* fields 14 and 15 are ticks, 24 is pages */
	static const char stat[] =
		"%d (w) S 1 1 1 0 -1 0 0 0 0 0 %d %d 900 900 "
		"20 0 1 0 5 4096 %d 0\n";
	char text[256];
	int fd;

	snprintf(dir, 32, "/tmp/own-cost-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	for (int pid = 10; pid < 12; pid++) {
		char path[32];

		snprintf(path, sizeof(path), "%d", pid);
		ck_assert_int_eq(mkdirat(fd, path, 0700), 0);
		snprintf(path, sizeof(path), "%d/stat", pid);
		snprintf(text, sizeof(text), stat, pid, 100 * (pid - 9), 50,
		         7 * (pid - 9));
		put(fd, path, text);
	}
	ck_assert_int_eq(mkdirat(fd, "10/task", 0700), 0);
	ck_assert_int_eq(mkdirat(fd, "10/task/10", 0700), 0);
	if (children)
		put(fd, "10/task/10/children", children);
	return fd;
}

static void
expect(const char *children, int ticks, int pages)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	char dir[32], command[64];
	CLEANUP_FD int fd = proc_of(dir, children);
	json_t *j;
	const json_t *cost;

	buf_putc(&out, '{');
	own_cost_json(fd, 10, &out);
	buf_putc(&out, '}');
	j = json_loads(buf_str(&out), 0, NULL);
	ck_assert_ptr_nonnull(j);
	cost = json_object_get(j, "cost");
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(cost, "cpuSeconds")),
		(double)ticks / (double)sysconf(_SC_CLK_TCK), 1e-9);
	ck_assert_int_eq(
		json_integer_value(json_object_get(cost, "residentBytes")),
		pages * sysconf(_SC_PAGESIZE));
	json_decref(j);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

TEST(children_count_and_those_that_ended_do_not)
{
	expect("11 12 \n", 150 + 250, 7 + 14);
}
END

TEST(a_kernel_without_the_list_tells_of_the_parent_alone)
{
	expect(NULL, 150, 7);
}
END

TEST(a_list_that_is_no_list_is_left_out)
{
	expect("x", 150, 7);
}
END

SUITE("own_cost");
