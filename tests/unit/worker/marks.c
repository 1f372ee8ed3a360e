/* The journal of places where breakpoints may be left. */
#include "base/file.h"
#include "lib/test.h"
#include "worker/opener/opener_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/stoker-test.XXXXXX";

static void
make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
remove_dir(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" MARKS_JOURNAL, dir);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static struct marks *
open_marks(int expected)
{
	int rc;
	struct marks *m = marks_open(dir, &rc);

	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(rc, expected);
	return m;
}

static void
add(struct marks *m, uint64_t offset)
{
	const struct allocs_place place = {.offset = offset};
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(marks_add(m, fd, 1, &place), 0);
}

static bool
has(const struct marks *m, uint64_t offset)
{
	for (size_t i = 0; i < MARKS_MAX; i++)
		if (m->all[i].inode && m->all[i].places[0].offset == offset)
			return true;
	return false;
}

/* Opens the journal in a process that ends at once, and adds a mark. */
static void
leave_mark(uint64_t offset)
{
	pid_t pid = fork();

	if (!pid) {
		add(open_marks(0), offset);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

TEST(marks_outlive_their_process)
{
	make_dir();
	leave_mark(7);
	ck_assert(has(open_marks(0), 7));
	remove_dir();
}
END

static void
spoil(off_t at, off_t size)
{
	char path[64];
	CLEANUP_FD int fd = -1;

	snprintf(path, sizeof(path), "%s/" MARKS_JOURNAL, dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "x", 1, at), 1);
	ck_assert(!size || !ftruncate(fd, size));
}

static const struct {
	off_t at, size;
} spoiled[] = {
	{0, 0},                        /* another boot */
	{0, sizeof(struct marks) / 2}, /* cut off */
	{sizeof(struct marks), 0},     /* another layout */
};

TEST_EACH(a_journal_of_another_boot_or_layout_is_emptied, spoiled)
{
	make_dir();
	leave_mark(7);
	spoil(spoiled[_i].at, spoiled[_i].size);
	ck_assert(!marks_any(open_marks(0)));
	remove_dir();
}
END

TEST(marks_of_a_journal_that_is_in_use_are_in_memory)
{
	struct marks *first, *second;

	make_dir();
	first = open_marks(0);
	second = open_marks(-EWOULDBLOCK);
	add(second, 7);
	ck_assert(has(second, 7));
	ck_assert(!marks_any(first));
	remove_dir();
}
END

/* A write to mapped memory for which the disk has no block would end the
 * process. */
TEST(a_full_disk_leaves_the_marks_in_memory)
{
	make_dir();
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=4k,mode=700"))
		SKIP("this user may not mount");
	add(open_marks(-ENOSPC), 7);
	umount(dir);
	rmdir(dir);
}
END

/* Children parse what targets contain. */
TEST(children_do_not_have_the_marks)
{
	struct marks *m;
	int status;
	pid_t pid;

	make_dir();
	m = open_marks(0);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		memset(m, 0, sizeof(*m));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	remove_dir();
}
END

TEST(the_oldest_mark_is_replaced_not_the_one_added_again)
{
	struct marks *m;

	make_dir();
	m = open_marks(0);
	for (uint64_t i = 0; i < MARKS_MAX; i++)
		add(m, i);
	add(m, 0);
	add(m, MARKS_MAX);
	ck_assert(has(m, 0) && has(m, MARKS_MAX));
	ck_assert(!has(m, 1));
	remove_dir();
}
END

/* Without programs in the kernel, no place can be repaired. */
TEST(a_repair_is_bounded_by_the_places_that_there_can_be)
{
	const struct allocs none = {.prog_fd = -1};
	struct marks *m;

	make_dir();
	m = open_marks(0);
	add(m, 7);
	m->all[0].n = UINT32_MAX;
	(void)!marks_repair(m, &none);
	marks_clear(m);
	ck_assert_int_eq(marks_repair(m, &none), 0);
	remove_dir();
}
END

SUITE("marks");
