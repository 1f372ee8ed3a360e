/* Pid files that are written for the program of a command. Nothing that is
 * worth keeping is written over, whatever path the server names. */
#include "cli/pid_file.h"

#include "base/cleanup.h"
#include "lib/store.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct rig {
	char dir[64], path[128];
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_init(struct rig *r)
{
	strcpy(r->dir, "/tmp/stoker-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/app.pid", r->dir);
}

static void
rig_done(struct rig *r)
{
	test_remove(r->dir);
}

static void
put(const char *path, const char *text)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int64_t
size_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

/* Returns whether the file is opened, which empties it. */
static bool
opens(const char *path)
{
	CLEANUP_FD int fd = -1;

	return !pid_file_open(path, &fd);
}

static const struct {
	const char *text;
	bool opened;
} texts[] = {
	{"", true},
	{"4194303\n", true},
	{"1234567890 12345", true}, /* as long as there may be */
	{"1234567890 123456", false},
	{"12a\n", false},
	{"notes", false},
	{"-1\n", false},
};

TEST(a_file_with_anything_but_a_pid_is_kept)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r);
		put(r.path, texts[i].text);
		ck_assert_msg(opens(r.path) == texts[i].opened, "%s",
		              texts[i].text);
		ck_assert_int_eq(
			size_of(r.path),
			texts[i].opened ? 0 : (int64_t)strlen(texts[i].text));
	}
}
END

TEST(a_file_is_created_whose_path_is_that_of_a_pid_file)
{
	static const struct {
		const char *name;
		bool opened;
	} names[] = {
		{"app.pid", true},  {".pid", true}, {"app.pid.bak", false},
		{"app.txt", false}, {"pid", false},
	};
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", r.dir, names[i].name);
		ck_assert_msg(opens(path) == names[i].opened, "%s",
		              names[i].name);
		ck_assert_int_eq(!access(path, F_OK), names[i].opened);
	}
	ck_assert_int_eq(chdir(r.dir), 0);
	ck_assert(!opens("other.pid"));
	ck_assert(access("other.pid", F_OK));
	ck_assert_int_eq(chdir("/"), 0);
}
END

TEST(a_link_and_a_pipe_are_no_pid_files)
{
	CLEANUP_RIG struct rig r;
	char other[128];

	rig_init(&r);
	snprintf(other, sizeof(other), "%s/other.pid", r.dir);
	put(other, "7\n");
	ck_assert_int_eq(symlink(other, r.path), 0);
	ck_assert(!opens(r.path));
	ck_assert_int_eq(size_of(other), 2);
	ck_assert_int_eq(unlink(r.path), 0);
	ck_assert_int_eq(mkfifo(r.path, 0600), 0);
	ck_assert(!opens(r.path));
}
END

TEST(a_file_of_another_user_is_no_pid_file)
{
	CLEANUP_RIG struct rig r;

	if (geteuid())
		SKIP("only root gives files to other users");
	rig_init(&r);
	put(r.path, "7\n");
	ck_assert_int_eq(chown(r.path, 65534, 65534), 0);
	ck_assert(!opens(r.path));
	ck_assert_int_eq(size_of(r.path), 2);
}
END

TEST(a_file_of_a_command_that_runs_is_left_to_it)
{
	CLEANUP_RIG struct rig r;
	int fd = -1;

	rig_init(&r);
	ck_assert_int_eq(pid_file_open(r.path, &fd), 0);
	ck_assert_int_eq(write(fd, "7\n", 2), 2);
	ck_assert(!opens(r.path));
	ck_assert_int_eq(size_of(r.path), 2);
	pid_file_close(&fd);
	ck_assert_int_eq(size_of(r.path), 0);
	ck_assert(opens(r.path));
}
END

SUITE("cli_pid_file");
