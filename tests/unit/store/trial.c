/* Tries whether the store can be written, also in folders where a unit's system
 * call filter refuses every chmod that names the setgid bit. */
#include "lib/store.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Stands in for the file system's answer: 40 MiB are free. */
int
fstatvfs(int fd, struct statvfs *v)
{
	(void)fd;
	*v = (struct statvfs){.f_frsize = 4096, .f_bavail = 10240};
	return 0;
}

/* The rules of RestrictSUIDSGID=yes about chmod.
 * Source: systemd, src/shared/seccomp-util.c, seccomp_restrict_suid_sgid() */
static void
restrict_suid_sgid(void)
{
	static const struct {
		int call;
		unsigned mode; /* position of the argument */
	} calls[] = {
		{SCMP_SYS(chmod), 1},    {SCMP_SYS(fchmod), 1},
		{SCMP_SYS(fchmodat), 2}, {SCMP_SYS(mkdir), 1},
		{SCMP_SYS(mkdirat), 2},
	};
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	ck_assert_ptr_nonnull(ctx);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct scmp_arg_cmp has_bit = SCMP_CMP(
			calls[i].mode, SCMP_CMP_MASKED_EQ, S_ISGID, S_ISGID);

		ck_assert_int_eq(
			seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM),
		                               calls[i].call, 1, &has_bit),
			0);
	}
	ck_assert_int_eq(seccomp_load(ctx), 0);
	seccomp_release(ctx);
}

static mode_t
mode_of(int dir_fd, const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static mode_t
folder_mode_of(struct store *s, const struct blob *b)
{
	char folder[] = {b->name[0], b->name[1], '\0'};

	return mode_of(s->profiles_fd, folder);
}

TEST(bytes_are_stored_where_the_setgid_bit_may_not_be_set)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct finding f = {.verdict = BROKEN};
	struct blob b;

	ck_assert_int_eq(chmod(t.dir, 02770), 0);
	ck_assert_int_eq(fchmod(t.s.profiles_fd, 02770), 0);
	umask(0007);
	restrict_suid_sgid();
	test_blob(&t.s, "bytes", &b);
	ck_assert_uint_eq(folder_mode_of(&t.s, &b), 02770);
	ck_assert_int_eq(store_try(&t.s, 0, &f), 0);
	ck_assert_int_eq(f.verdict, FINE);
	ck_assert_str_eq(f.found, "written and renamed; 40.00 MiB are free");
}
END

TEST(a_folder_is_open_to_its_group_whatever_the_umask)
{
	static const mode_t masks[] = {0007, 0027, 0077, 0};
	CLEANUP_TEST_STORE struct test_store t = test_store();

	ck_assert_int_eq(fchmod(t.s.profiles_fd, 02770), 0);
	for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
		struct blob b;

		umask(masks[i]);
		test_blob(&t.s, "bytes", &b);
		ck_assert_uint_eq(folder_mode_of(&t.s, &b), 02770);
	}
}
END

TEST(where_the_group_cannot_be_let_in_storing_fails_and_the_finding_says_why)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct finding f = {0};

	ck_assert_int_eq(fchmod(t.s.profiles_fd, 02770), 0);
	umask(0027);
	restrict_suid_sgid();
	ck_assert_int_eq(blob_create(&t.s, BLOB_PPROF, &w), -EPERM);
	ck_assert_int_eq(store_try(&t.s, 0, &f), -EPERM);
	ck_assert_int_eq(f.verdict, BROKEN);
	ck_assert_ptr_nonnull(strstr(f.fix, "RestrictSUIDSGID"));
}
END

TEST(trying_leaves_nothing_behind)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct finding f = {0};
	char name[32];

	snprintf(name, sizeof(name), ".try-%d", (int)getpid());
	ck_assert_int_eq(store_try(&t.s, 0, &f), 0);
	ck_assert_int_eq(faccessat(t.s.profiles_fd, name, F_OK, 0), -1);
	ck_assert_int_eq(faccessat(t.s.segments_fd, name, F_OK, 0), -1);
}
END

TEST(what_a_killed_process_left_is_in_nobodys_way)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct finding f = {0};
	char name[32];
	int n = 0;

	snprintf(name, sizeof(name), ".try-%d", (int)getpid());
	ck_assert_int_eq(mkdirat(t.s.profiles_fd, name, 0770), 0);
	n = blob_sweep(&t.s, BYTES_FILE);
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(store_try(&t.s, 0, &f), 0);
	ck_assert_int_eq(f.verdict, FINE);
}
END

TEST(little_room_is_a_warning)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct finding f = {0};

	ck_assert_int_eq(store_try(&t.s, INT64_MAX, &f), 0);
	ck_assert_int_eq(f.verdict, WARNING);
	ck_assert_ptr_nonnull(strstr(f.fix, "max_bytes"));
}
END

TEST(a_user_who_may_not_write_there_is_told_so_without_a_path)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct finding f = {0};
	int rc;

	if (geteuid())
		SKIP("only root can become another user");
	ck_assert_int_eq(fchmod(t.s.profiles_fd, 0700), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	rc = store_try(&t.s, 0, &f);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(rc, -EACCES);
	ck_assert_int_eq(f.verdict, BROKEN);
	ck_assert_ptr_null(strstr(f.found, t.dir));
	ck_assert_ptr_null(strstr(f.fix, t.dir));
}
END

SUITE("trial");
