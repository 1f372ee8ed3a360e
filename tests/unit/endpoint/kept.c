/* Results that are kept in case the same is asked again. */
#include "base/folder.h"
#include "endpoint/call.h"
#include "lib/store.h"
#include "lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM (INT64_C(64) << 10)

struct fixture {
	char dir[64];
	struct env env;
	struct reply reply;
	struct call call;
};

static void
fixture_done(struct fixture *f)
{
	reply_done(&f->reply);
	kept_close(f->env.kept);
	counters_close(f->env.counters);
	test_remove(f->dir);
}
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

/* A heavy call of tenant t. */
static void
set_up(struct fixture *f)
{
	*f = (struct fixture){.dir = "/tmp/stoker-test.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(f->dir));
	ck_assert_int_eq(counters_open(f->dir, 1, 1, &f->env.counters), 0);
	ck_assert_int_eq(kept_open(f->dir, ROOM, &f->env.kept), 0);
	reply_init(&f->reply);
	f->call.env = &f->env;
	f->call.reply = &f->reply;
	f->call.route = &routes[OP_CompareProfiles];
	f->call.reads = CALL_LIGHT + 1;
	strcpy(f->call.caller.tenant, TEST_TENANT);
}

static struct buf
of(const char *what)
{
	struct buf b = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&b, what);
	return b;
}

/* Keeps a result of n equal bytes. */
static void
keep(struct fixture *f, const char *what, char byte, size_t n)
{
	CLEANUP_BUF struct buf key = of(what);

	buf_clear(&f->reply.body);
	for (size_t i = 0; i < n; i++)
		buf_putc(&f->reply.body, byte);
	kept_add(&f->call, &key);
}

/* Returns whether a result is found; it must consist of this byte. */
static bool
finds(struct fixture *f, const char *what, char byte)
{
	CLEANUP_BUF struct buf key = of(what);

	if (!kept_find(&f->call, &key)) {
		ck_assert_uint_eq(f->reply.body.len, 0);
		return false;
	}
	ck_assert_uint_gt(f->reply.body.len, 0);
	for (size_t i = 0; i < f->reply.body.len; i++)
		ck_assert_int_eq(f->reply.body.p[i], byte);
	return true;
}

/* The name of the only file, or the sum of all. */
struct files {
	char name[256];
	int64_t bytes;
	int n, dir;
};

static int
count_file(void *arg, const char *name)
{
	struct files *all = arg;
	struct stat st;

	ck_assert_int_eq(fstatat(all->dir, name, &st, 0), 0);
	snprintf(all->name, sizeof(all->name), "%s", name);
	all->bytes += st.st_size;
	all->n++;
	return 0;
}

static struct files
files_of(const struct fixture *f)
{
	struct files all = {0};
	char path[96];

	snprintf(path, sizeof(path), "%s/results", f->dir);
	all.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(all.dir, 0);
	ck_assert_int_eq(folder_each(all.dir, count_file, &all), 0);
	return all;
}

TEST(a_result_is_found_by_what_it_is_of)
{
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	ck_assert(!finds(&f, "a b", 'x'));
	keep(&f, "a b", 'x', 5000);
	keep(&f, "a c", 'y', 5000);
	ck_assert(finds(&f, "a b", 'x'));
	ck_assert_uint_eq(f.reply.body.len, 5000);
	ck_assert(finds(&f, "a c", 'y'));
	ck_assert(!finds(&f, "a", 'x'));
}
END

TEST(another_process_finds_it)
{
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	keep(&f, "a", 'x', 100);
	kept_close(f.env.kept);
	f.env.kept = NULL;
	ck_assert(!finds(&f, "a", 'x'));
	ck_assert_int_eq(kept_open(f.dir, ROOM, &f.env.kept), 0);
	ck_assert(finds(&f, "a", 'x'));
}
END

TEST(no_other_tenant_or_operation_finds_it)
{
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	keep(&f, "a", 'x', 100);
	strcpy(f.call.caller.tenant, "other");
	ck_assert(!finds(&f, "a", 'x'));
	strcpy(f.call.caller.tenant, TEST_TENANT);
	f.call.route = &routes[OP_GetDiffFlameGraph];
	ck_assert(!finds(&f, "a", 'x'));
	f.call.route = &routes[OP_CompareProfiles];
	ck_assert(finds(&f, "a", 'x'));
}
END

TEST(only_results_of_heavy_calls_are_kept)
{
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	f.call.reads = CALL_LIGHT;
	keep(&f, "a", 'x', 100);
	ck_assert(!finds(&f, "a", 'x'));
}
END

TEST(a_file_that_was_cut_or_changed_is_not_believed)
{
	CLEANUP_FIXTURE struct fixture f;
	struct files one;
	struct stat st;

	set_up(&f);
	keep(&f, "a", 'x', 100);
	one = files_of(&f);
	ck_assert_int_eq(one.n, 1);
	ck_assert_int_eq(fstatat(one.dir, one.name, &st, 0), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		int fd = openat(one.dir, one.name, O_RDWR | O_CLOEXEC);
		char was, other;

		ck_assert_int_eq(pread(fd, &was, 1, at), 1);
		other = (char)(was ^ 1);
		ck_assert_int_eq(pwrite(fd, &other, 1, at), 1);
		ck_assert(!finds(&f, "a", 'x'));
		ck_assert_int_eq(pwrite(fd, &was, 1, at), 1);
		ck_assert(finds(&f, "a", 'x'));
		close(fd);
	}
	for (off_t size = st.st_size - 1; size >= 0; size--) {
		int fd = openat(one.dir, one.name, O_RDWR | O_CLOEXEC);

		ck_assert_int_eq(ftruncate(fd, size), 0);
		close(fd);
		ck_assert(!finds(&f, "a", 'x'));
	}
	close(one.dir);
}
END

TEST(results_take_no_more_than_their_room)
{
	CLEANUP_FIXTURE struct fixture f;
	struct files all;

	set_up(&f);
	for (int i = 0; i < 40; i++) {
		char what[16];

		snprintf(what, sizeof(what), "%d", i);
		keep(&f, what, 'x', 5000);
		ck_assert(finds(&f, what, 'x'));
	}
	all = files_of(&f);
	ck_assert_int_le(all.bytes, ROOM);
	ck_assert_int_eq(all.n, ROOM / 8192); /* two pages each */
	close(all.dir);
	keep(&f, "large", 'x', ROOM / 4 + 1);
	ck_assert(!finds(&f, "large", 'x'));
}
END

TEST(a_result_that_is_used_stays_longer)
{
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	keep(&f, "used", 'u', 5000);
	for (int i = 0; i < 40; i++) {
		char what[16];

		snprintf(what, sizeof(what), "%d", i);
		keep(&f, what, 'x', 5000);
		ck_assert(finds(&f, "used", 'u'));
	}
	ck_assert(!finds(&f, "0", 'x'));
}
END

TEST(results_of_one_tenant_push_out_none_of_another)
{
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	keep(&f, "quiet", 'q', 5000);
	strcpy(f.call.caller.tenant, "noisy");
	for (int i = 0; i < 40; i++) {
		char what[16];

		snprintf(what, sizeof(what), "%d", i);
		keep(&f, what, 'x', 5000);
	}
	strcpy(f.call.caller.tenant, TEST_TENANT);
	ck_assert(finds(&f, "quiet", 'q'));
}
END

TEST(the_oldest_of_whoever_has_most_goes_when_two_come_by_turns)
{
	static const char *const turns[] = {
		TEST_TENANT, "b",         "b",         TEST_TENANT, "b",
		TEST_TENANT, TEST_TENANT, TEST_TENANT, TEST_TENANT};
	CLEANUP_FIXTURE struct fixture f;

	set_up(&f);
	ck_assert_uint_eq(ARRAY_LEN(turns), ROOM / 8192 + 1);
	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		char what[2] = {(char)('0' + i)};

		strcpy(f.call.caller.tenant, turns[i]);
		keep(&f, what, 'x', 5000);
	}
	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		char what[2] = {(char)('0' + i)};

		strcpy(f.call.caller.tenant, turns[i]);
		ck_assert_msg(finds(&f, what, 'x') == (i > 0), "%s", what);
	}
}
END

TEST(a_folder_that_others_may_write_is_not_used)
{
	CLEANUP_FIXTURE struct fixture f;
	struct kept *k = NULL;
	char path[96], moved[96];

	set_up(&f);
	snprintf(path, sizeof(path), "%s/results", f.dir);
	snprintf(moved, sizeof(moved), "%s/moved", f.dir);
	ck_assert_int_eq(chmod(path, 0770), 0);
	ck_assert_int_eq(kept_open(f.dir, ROOM, &k), -EPERM);
	ck_assert_int_eq(chmod(path, 0700), 0);
	ck_assert_int_eq(rename(path, moved), 0);
	ck_assert_int_eq(symlink(moved, path), 0);
	ck_assert_int_lt(kept_open(f.dir, ROOM, &k), 0);
	ck_assert_ptr_null(k);
}
END

SUITE("kept");
