/*
 * The directory of a backup: who may read it, and what it may contain.
 * On SQLite alone.
 */
#include "lib/faults.h"
#include "lib/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(a_backup_is_closed_to_others)
{
	CLEANUP_STOCK struct stock k = stock();
	mode_t old = umask(0);
	struct stat st;

	stock_backup(&k);
	umask(old);
	ck_assert_int_eq(stat(k.backup, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(stat(stock_path(k.backup, "manifest.json"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
}
END

/* Modes of a directory, and whether a backup may be in it. */
static const struct {
	mode_t mode;
	int expected;
} modes[] = {
	{0700, 0},
	{0701, -EPERM},
	{0740, -EPERM},
	{0710, -EPERM},
};

TEST(a_directory_that_is_open_to_others_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		CLEANUP_STOCK struct stock k = stock();

		ck_assert_int_eq(mkdir(k.backup, 0700), 0);
		ck_assert_int_eq(chmod(k.backup, modes[i].mode), 0);
		if (modes[i].expected)
			stock_no_backup(k.t.dir, k.backup, modes[i].expected,
			                "chmod 0700");
		else
			stock_backup(&k);
	}
}
END

TEST(a_directory_of_another_user_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();

	if (geteuid())
		SKIP("needs root");
	ck_assert_int_eq(mkdir(k.backup, 0700), 0);
	ck_assert_int_eq(chown(k.backup, 12345, 12345), 0);
	stock_no_backup(k.t.dir, k.backup, -EPERM, "another user (12345)");
}
END

TEST(a_directory_with_other_files_is_refused_and_left_alone)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_FD int fd = -1;

	ck_assert_int_eq(mkdir(k.backup, 0700), 0);
	fd = open(stock_path(k.backup, ".mine"), O_CREAT | O_WRONLY, 0600);
	stock_no_backup(k.t.dir, k.backup, -ENOTEMPTY, "empty or absent");
	ck_assert_int_eq(stock_count(k.backup, ""), 3); /* ".", "..", ".mine" */
}
END

TEST(a_directory_inside_the_store_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();
	char below[128];

	stock_no_backup(k.t.dir, stock_path(k.t.dir, "backup"), -EXDEV,
	                "inside");
	ck_assert_int_eq(access(stock_path(k.t.dir, "backup"), F_OK), -1);
	snprintf(below, sizeof(below), "%s/profiles/backup", k.t.dir);
	stock_no_backup(k.t.dir, below, -EXDEV, "inside");
	ck_assert_int_eq(symlink(k.t.dir, stock_path(k.root, "link")), 0);
	snprintf(below, sizeof(below), "%s/link/backup", k.root);
	stock_no_backup(k.t.dir, below, -EXDEV, "inside");
	ck_assert_int_eq(chmod(k.t.dir, 0700), 0);
	stock_no_backup(k.t.dir, k.t.dir, -EXDEV, "inside");
}
END

TEST(what_is_no_directory_or_cannot_be_made_is_told)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_FD int fd = open(k.backup, O_CREAT | O_WRONLY, 0600);

	stock_no_backup(k.t.dir, k.backup, -ENOTDIR, k.backup);
	stock_no_backup(k.t.dir, stock_path(k.root, "none/backup"), -ENOENT,
	                "none");
}
END

TEST(what_is_no_store_has_no_backup)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_no_backup(stock_path(k.root, "none"), k.backup, -ENOENT, "none");
	ck_assert_int_eq(mkdir(stock_path(k.root, "empty"), 0700), 0);
	stock_no_backup(stock_path(k.root, "empty"), k.backup, -ENOENT,
	                "stoker.db");
	ck_assert_int_eq(stock_count(stock_path(k.root, "empty"), "stoker"), 0);
}
END

struct second {
	struct stock *k;
	int opened;
};

/* Makes a second backup while the first one is under way. */
static int
make_another(void *arg, const char *call, const char *path)
{
	struct second *d = arg;

	(void)path;
	if (!strcmp(call, "syncfs") && !d->opened++)
		stock_no_backup(d->k->t.dir, d->k->backup, -EBUSY, "in use");
	return 0;
}

TEST(two_backups_into_one_directory_do_not_mix)
{
	CLEANUP_STOCK struct stock k = stock();
	struct second d = {.k = &k};

	fault_watch(make_another, &d);
	stock_backup(&k);
	fault_rest();
	ck_assert_int_ge(d.opened, 1);
	stock_whole(k.backup, true);
}
END

TEST(a_backup_of_a_later_format_is_not_replaced)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_FD int fd = -1;

	stock_backup(&k);
	fd = open(stock_path(k.backup, "manifest.json"), O_WRONLY | O_TRUNC);
	ck_assert_int_eq(write(fd, "{\"format\":2}", 12), 12);
	stock_no_backup(k.t.dir, k.backup, -EPROTONOSUPPORT, "newer release");
}
END

SUITE("backup_place");
