/* How the opener reads pid files for those who may not read them. */
#include "base/file.h"
#include "lib/store.h"
#include "worker/opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct rig {
	struct test_store store; /* for its folder */
	struct conf conf;
};
#define CLEANUP_RIG CLEANUP(rig_done)
#define RIG(r)      CLEANUP_RIG struct rig r = {.store = test_store()}

static void
rig_done(struct rig *r)
{
	test_store_done(&r->store);
}

static void
path_of(const struct rig *r, const char *name, char out[static 128])
{
	snprintf(out, 128, "%s/%s", r->store.dir, name);
}

static void
put(const struct rig *r, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	path_of(r, name, path);
	ck_assert_ptr_nonnull(f = fopen(path, "w"));
	fputs(text, f);
	fclose(f);
}

static void
put_link(const struct rig *r, const char *name, const char *to)
{
	char path[128];

	path_of(r, name, path);
	ck_assert_int_eq(symlink(to, path), 0);
}

/* Returns the pid, or -errno. */
static int64_t
read_at(const struct rig *r, const char *path)
{
	struct host_ask ask = {.op = HOST_PID_FILE};
	static struct opener o;
	struct answer a;

	o.conf = &r->conf;
	strcpy(ask.path, path);
	opener_answer(&o, &ask, o.ask, -1, NULL, &a);
	ck_assert_uint_eq(a.nfds, 0);
	return a.reply.error ? a.reply.error : (int64_t)a.reply.value;
}

static int64_t
read_name(const struct rig *r, const char *name)
{
	char path[128];

	path_of(r, name, path);
	return read_at(r, path);
}

static const struct {
	const char *text;
	int64_t expected;
} files[] = {
	{"42\n", 42},
	{"42", 42},
	{" 42 \r\n", 42},
	{"42\n/var/lib/postgresql/15/main\n1769000000\n5432\n", 42},
	{"42 nginx\n", 42},
	{"2147483647\n", 2147483647},
	{"", -ENODATA},
	{"0\n", -ENODATA},
	{"-1\n", -ENODATA},
	{"x\n", -ENODATA},
	{"pid: 42\n", -ENODATA},
	{"42x\n", -ENODATA},
	{"2147483648\n", -ENODATA},
	{"99999999999999999999999999999999\n", -ENODATA},
	{"1111111111111111111111111111111111111111111111111111111111111111111",
         -ENODATA},
};

TEST(a_pid_file_begins_with_a_pid)
{
	RIG(r);

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		put(&r, "pid", files[i].text);
		ck_assert_msg(read_name(&r, "pid") == files[i].expected, "%s",
		              files[i].text);
	}
}
END

TEST(a_pid_file_of_an_earlier_process_or_of_a_container_names_none)
{
	static const struct {
		const char *label;
		int32_t age_s;
		bool names;
	} rows[] = {
		{"just written", 0, true},
		{"an hour before", 3600, true},
		{"two days before", 2 * 86400, false},
	};
	RIG(r);
	char path[128], text[16];

	path_of(&r, "pid", path);
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const time_t at = time(NULL) - rows[i].age_s;
		const struct timespec times[] = {{.tv_sec = at},
		                                 {.tv_sec = at}};
		int64_t got;

		put(&r, "pid", text);
		ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
		got = read_at(&r, path);
		ck_assert_msg(got == (rows[i].names ? getpid() : -ESRCH),
		              "%s: %d", rows[i].label, (int)got);
	}
	put(&r, "pid", "1\n");
	ck_assert_int_eq(read_at(&r, path), -ESRCH);
}
END

TEST(what_is_no_regular_file_is_not_opened)
{
	RIG(r);
	char path[128];

	path_of(&r, "fifo", path);
	ck_assert_int_eq(mkfifo(path, 0600), 0); /* must not block */
	ck_assert_int_eq(read_name(&r, "fifo"), -EINVAL);
	ck_assert_int_eq(read_name(&r, ""), -EINVAL); /* a folder */
	ck_assert_int_eq(read_at(&r, "/dev/zero"), -EINVAL);
	ck_assert_int_eq(read_at(&r, "/"), -EINVAL);
	ck_assert_int_eq(read_at(&r, "pid"), -EINVAL);
	ck_assert_int_eq(read_at(&r, ""), -EINVAL);
	ck_assert_int_eq(read_name(&r, "absent"), -ENOENT);
}
END

/* Reading some of these has side effects: /proc/kmsg, trace_pipe. */
TEST(a_file_that_the_kernel_makes_is_no_pid_file)
{
	RIG(r);

	ck_assert_int_eq(read_at(&r, "/proc/1/stat"), -EINVAL);
	put_link(&r, "link", "/proc/1/stat");
	ck_assert_int_eq(read_name(&r, "link"), -EINVAL);
}
END

TEST(own_links_are_followed_from_where_they_lie)
{
	RIG(r);
	char path[128];

	path_of(&r, "run", path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put(&r, "run/pid", "42\n");
	path_of(&r, "run/pid", path);
	put_link(&r, "absolute", path);
	put_link(&r, "relative", "run/pid");
	put_link(&r, "var", "./run");
	put_link(&r, "run/up", "../run/pid");
	ck_assert_int_eq(read_name(&r, "absolute"), 42);
	ck_assert_int_eq(read_name(&r, "relative"), 42);
	ck_assert_int_eq(read_name(&r, "var/pid"), 42);
	ck_assert_int_eq(read_name(&r, "var//up"), 42);
}
END

TEST(links_that_others_made_lead_nowhere)
{
	RIG(r);
	char path[128];

	if (getuid())
		SKIP("only root can give a link away");
	put(&r, "pid", "42\n");
	put_link(&r, "link", "pid");
	put_link(&r, "folder", ".");
	ck_assert_int_eq(read_name(&r, "folder/link"), 42);
	path_of(&r, "folder", path);
	ck_assert_int_eq(lchown(path, 65534, 65534), 0);
	ck_assert_int_eq(read_name(&r, "folder/pid"), -ELOOP);
	path_of(&r, "link", path);
	ck_assert_int_eq(lchown(path, 65534, 65534), 0);
	ck_assert_int_eq(read_name(&r, "link"), -ELOOP);
}
END

TEST(links_in_a_circle_end)
{
	RIG(r);

	put_link(&r, "a", "b");
	put_link(&r, "b", "a");
	put_link(&r, "deeper", "deeper/x");
	ck_assert_int_eq(read_name(&r, "a"), -ELOOP);
	ck_assert_int_eq(read_name(&r, "deeper"), -ELOOP);
}
END

SUITE("pid_file");
