/*
 * The users who may read and write what a restore makes: the same as for what
 * systemd-tmpfiles makes.
 * On SQLite alone.
 */
#include "lib/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OTHER_USER 12345

static void
check_rights(const char *dir, const char *name, mode_t mode, uid_t uid)
{
	struct stat st;

	ck_assert_int_eq(stat(stock_path(dir, name), &st), 0);
	ck_assert_msg((st.st_mode & 07777) == mode, "%s: %o", name,
	              st.st_mode & 07777);
	ck_assert_uint_eq(st.st_uid, uid);
}

static void
check_all_rights(const struct stock *k, uid_t uid)
{
	char folder[64], file[128];

	stock_file(k, 0, folder, file);
	check_rights(k->restored, "profiles", 02770, uid);
	check_rights(k->restored, "segments", 02770, uid);
	check_rights(k->restored, folder, 02770, uid);
	check_rights(k->restored, file, 0640, uid);
	check_rights(k->restored, "stoker.db", 0660, uid);
}

TEST(an_absent_store_is_made_for_its_group_whatever_the_umask)
{
	CLEANUP_STOCK struct stock k = stock();
	mode_t old;

	stock_backup(&k);
	old = umask(0077);
	stock_restore(&k, k.restored, false);
	umask(old);
	check_rights(k.restored, ".", 02770, geteuid());
	check_all_rights(&k, geteuid());
}
END

TEST(root_restores_for_the_owner_of_the_store)
{
	CLEANUP_STOCK struct stock k = stock();

	if (geteuid())
		SKIP("needs root");
	stock_backup(&k);
	ck_assert_int_eq(mkdir(k.restored, 0770), 0);
	ck_assert_int_eq(chown(k.restored, OTHER_USER, OTHER_USER), 0);
	stock_restore(&k, k.restored, false);
	check_all_rights(&k, OTHER_USER);
	check_rights(k.restored, "stoker.db-setup", 0660, OTHER_USER);
}
END

/* A user who may write to the store links a file of root's into it. Where the
 * kernel allows this, nothing is written to the file. */
TEST(a_file_outside_of_the_store_keeps_its_rights_and_contents)
{
	static const char secret[] = "secret";
	CLEANUP_STOCK struct stock k = stock();
	char folder[64], file[128], outside[512], names[2][512];
	struct stat st;

	stock_backup(&k);
	stock_file(&k, 0, folder, file);
	snprintf(outside, sizeof(outside), "%s/outside", k.root);
	snprintf(names[0], sizeof(names[0]), "%s/%s", k.restored, file);
	snprintf(names[1], sizeof(names[1]), "%s/stoker.db-setup", k.restored);
	stock_restore(&k, k.restored, false);
	ck_assert_int_eq(unlink(stock_path(k.restored, "stoker.db")), 0);
	for (int i = 0; i < 2; i++) {
		CLEANUP_FD int fd =
			open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);

		ck_assert_int_eq(write(fd, secret, sizeof(secret)),
		                 sizeof(secret));
		ck_assert_int_eq(unlink(names[i]), 0);
		ck_assert_int_eq(link(outside, names[i]), 0);
		stock_refuse(&k, k.restored, false, -EMLINK, k.restored);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, 0400);
		ck_assert_int_eq(st.st_size, sizeof(secret));
		ck_assert_int_eq(unlink(names[i]), 0);
		ck_assert_int_eq(unlink(outside), 0);
		stock_restore(&k, k.restored, false);
		ck_assert_int_eq(unlink(stock_path(k.restored, "stoker.db")),
		                 0);
	}
}
END

/* A default ACL as systemd-tmpfiles sets it, so that nginx may read new files.
 * Source: linux/posix_acl_xattr.h, acl(5) */
static const struct {
	uint32_t version;
	struct {
		uint16_t tag, perm;
		uint32_t id;
	} entries[5];
} nginx_may_read = {2,
                    {{0x01, 7, UINT32_MAX},
                     {0x02, 5, OTHER_USER},
                     {0x04, 7, UINT32_MAX},
                     {0x10, 7, UINT32_MAX},
                     {0x20, 0, UINT32_MAX}}};

static bool
give_acl(const char *path)
{
	return !setxattr(path, "system.posix_acl_default", &nginx_may_read,
	                 sizeof(nginx_may_read), 0);
}

static bool
has_acl(const char *path, const char *which)
{
	char acl[256];

	return getxattr(path, which, acl, sizeof(acl)) >
	       (ssize_t)(sizeof(nginx_may_read) - 9);
}

TEST(a_replaced_store_leaves_its_rights_to_the_next)
{
	CLEANUP_STOCK struct stock k = stock();
	char folder[64], file[128];
	struct store s;

	ck_assert_int_eq(mkdir(k.restored, 02770), 0);
	test_store_in(k.restored, &s);
	store_close(&s);
	if (!give_acl(stock_path(k.restored, "profiles")))
		SKIP("this file system has no ACLs");
	stock_backup(&k);
	stock_restore(&k, k.restored, true);
	stock_file(&k, 0, folder, file);
	ck_assert(has_acl(stock_path(k.restored, "profiles"),
	                  "system.posix_acl_default"));
	ck_assert(has_acl(stock_path(k.restored, file),
	                  "system.posix_acl_access"));
}
END

SUITE("restore_rights");
