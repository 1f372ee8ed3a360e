/*
 * Backups of a store that is in use: what they contain.
 * On SQLite alone.
 */
#include "store/backup.h"

#include "lib/faults.h"
#include "lib/stock.h"
#include "store/session.h"
#include "store/window.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the only file of a folder whose name contains part. */
static int
open_only(const char *dir, const char *part)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int fd = -1;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		if (strstr(e->d_name, part)) {
			ck_assert_int_lt(fd, 0);
			fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		}
	closedir(d);
	ck_assert_int_ge(fd, 0);
	return fd;
}

TEST(a_backup_has_every_profile_and_window)
{
	CLEANUP_STOCK struct stock k = stock();
	struct backup_report r = stock_backup(&k);

	ck_assert_int_eq(r.now.files, STOCK_PROFILES);
	ck_assert_int_eq(r.now.windows, STOCK_WINDOWS);
	ck_assert_int_eq(r.now.schema, SQL_VERSION);
	ck_assert_int_eq(r.copied, STOCK_PROFILES + STOCK_WINDOWS);
	ck_assert_int_ge(r.now.bytes, STOCK_WINDOWS * STOCK_WINDOW);
	stock_whole(k.backup, true);
}
END

TEST(an_empty_store_has_a_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_TEST_STORE struct test_store empty = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup_report r;

	ck_assert_int_eq(backup_make(empty.dir, k.backup, &r, &why), 0);
	ck_assert_int_eq(r.now.files + r.now.windows, 0);
	stock_whole(k.backup, true);
}
END

TEST(the_next_backup_copies_only_what_is_new)
{
	CLEANUP_STOCK struct stock k = stock();
	struct backup_report first = stock_backup(&k), r;
	char id[ID_MAX];

	r = stock_backup(&k);
	ck_assert_int_eq(r.copied, 0);
	ck_assert_int_eq(r.now.files, first.now.files);
	stock_profile(&k.t.s, "new", id);
	r = stock_backup(&k);
	ck_assert_int_eq(r.copied, 1);
	ck_assert_int_eq(r.copied_bytes, 3);
	ck_assert_int_eq(r.now.files, STOCK_PROFILES + 1);
	ck_assert_int_eq(stock_count(k.backup, ".db"), 1);
	stock_whole(k.backup, true);
}
END

TEST(a_segment_that_grew_is_copied_from_where_it_ended)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w[2] = {{.windows = 1}, {.windows = 1}};
	char series[ID_MAX];
	struct backup_report r;

	ck_assert_int_eq(series_of(&k.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           "grows", "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(&k.t.s, "grows", &g), 0);
	for (int i = 0; i < 2; i++) {
		w[i].series = series;
		ck_assert_int_eq(segment_append(&g, "bytes", 5, &w[i]), 0);
		ck_assert_int_eq(window_commit(&k.t.s, &g, &w[i], 1, NULL), 0);
		r = stock_backup(&k);
		ck_assert_int_eq(r.copied,
		                 i ? 1 : STOCK_PROFILES + STOCK_WINDOWS + 1);
	}
	stock_whole(k.backup, true);
}
END

TEST(an_upload_in_progress_is_in_the_next_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	struct session_result result = test_result();
	struct session_ask ask = test_ask();
	struct blob b;
	char id[ID_MAX];

	ask.origin = SESSION_UPLOAD;
	test_blob(&k.t.s, "half way", &b);
	ck_assert_int_eq(stock_backup(&k).now.files, STOCK_PROFILES);
	ck_assert_int_eq(session_upload(&k.t.s, &ask, &result, &b, id), 0);
	ck_assert_int_eq(stock_backup(&k).now.files, STOCK_PROFILES + 1);
}
END

/* Deletes all windows but the pinned ones, and releases their bytes. */
static void
expire_windows(struct store *s)
{
	const struct window_keep keep = {.all_ms = 1};

	while (window_expire(s, &keep))
		;
	ck_assert_int_ge(window_reap(s), 0);
}

TEST(what_is_deleted_leaves_the_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	char ids[STOCK_WINDOWS][ID_MAX], at[2];
	CLEANUP_FD int segment = -1;
	struct stat st;

	stock_windows(&k.t.s, ids);
	stock_backup(&k);
	ck_assert_int_eq(stock_count(stock_path(k.backup, "segments"), ".seg"),
	                 2);
	ck_assert_int_eq(session_delete(&k.t.s, TEST_TENANT, k.profile[0]), 0);
	ck_assert_int_eq(window_pin(&k.t.s, TEST_TENANT, ids[1], true), 0);
	expire_windows(&k.t.s);
	ck_assert_int_eq(stock_backup(&k).removed, 3); /* one: the database */
	ck_assert_int_eq(
		stock_count(stock_path(k.backup, "profiles"), ".pb.gz"),
		STOCK_PROFILES - 1);
	ck_assert_int_eq(stock_count(stock_path(k.backup, "segments"), ".seg"),
	                 1);
	stock_whole(k.backup, true);

	/* The segment has lost all bytes except those of its last window. */
	segment = open_only(stock_path(k.backup, "segments"), ".seg");
	ck_assert_int_eq(fstat(segment, &st), 0);
	ck_assert_int_eq(st.st_size, 2 * STOCK_WINDOW);
	ck_assert_int_eq(pread(segment, at, 1, 0), 1);
	ck_assert_int_eq(pread(segment, at + 1, 1, STOCK_WINDOW), 1);
	ck_assert_int_eq(at[0], 0);
	ck_assert_int_eq(at[1], 'b');
}
END

/* Deletes profiles when the backup is about to copy them, and releases their
 * bytes at once, as a worker may. */
struct deleter {
	struct stock *k;
	int opened, deleted, most;
};

static int
delete_what_is_next(void *arg, const char *call, const char *path)
{
	struct deleter *d = arg;

	if (strcmp(call, "openat") || strncmp(path, "blob-", 5) ||
	    d->deleted == STOCK_PROFILES)
		return 0;
	/* The first opening only looks whether the backup has the file. */
	if (!d->opened++)
		return 0;
	for (int i = 0; i < STOCK_PROFILES; i++)
		ck_assert_int_eq(session_delete(&d->k->t.s, TEST_TENANT,
		                                d->k->profile[i]),
		                 0);
	ck_assert_int_eq(blob_reap(&d->k->t.s, BYTES_FILE), STOCK_PROFILES);
	d->deleted = STOCK_PROFILES;
	return 0;
}

TEST(a_profile_that_is_deleted_before_it_is_copied_is_not_in_the_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	struct deleter d = {.k = &k};
	struct backup_report r;

	fault_watch(delete_what_is_next, &d);
	r = stock_backup(&k);
	fault_rest();
	ck_assert_int_eq(d.deleted, STOCK_PROFILES);
	ck_assert_int_eq(r.now.files, 0);
	stock_whole(k.backup, true);
}
END

static int
delete_windows(void *arg, const char *call, const char *path)
{
	struct deleter *d = arg;

	if (!strcmp(call, "openat") && strstr(path, ".seg") && !d->deleted) {
		d->deleted = 1;
		expire_windows(&d->k->t.s);
	}
	return 0;
}

TEST(windows_that_are_deleted_before_they_are_copied_are_not_in_the_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	struct deleter d = {.k = &k};

	fault_watch(delete_windows, &d);
	ck_assert_int_eq(stock_backup(&k).now.windows, 0);
	fault_rest();
	ck_assert_int_eq(d.deleted, 1);
	stock_whole(k.backup, true);
}
END

/* After the database was copied, windows are added, and all but one deleted. */
static int
change_windows(void *arg, const char *call, const char *path)
{
	struct deleter *d = arg;
	char ids[STOCK_WINDOWS][ID_MAX];

	(void)path;
	if (strcmp(call, "pwrite") || d->deleted++)
		return 0;
	stock_windows(&d->k->t.s, ids);
	ck_assert_int_eq(window_pin(&d->k->t.s, TEST_TENANT, ids[0], true), 0);
	expire_windows(&d->k->t.s);
	return 0;
}

TEST(windows_that_come_and_go_meanwhile_are_there_or_not)
{
	CLEANUP_STOCK struct stock k = stock();
	struct deleter d = {.k = &k};

	fault_watch(change_windows, &d);
	ck_assert_int_eq(stock_backup(&k).now.windows, 1);
	fault_rest();
	stock_whole(k.backup, true);
}
END

/* Adds a profile before the database is copied, and deletes it afterwards. */
static int
always_delete(void *arg, const char *call, const char *path)
{
	struct deleter *d = arg;
	struct store *s = &d->k->t.s;
	static char id[ID_MAX];

	if (strcmp(call, "openat"))
		return 0;
	if (!strncmp(path, "stoker-", 7) && d->opened < d->most) {
		stock_profile(s, "short-lived", id);
		d->opened++;
	} else if (!strncmp(path, "blob-", 5) && *id) {
		ck_assert_int_eq(session_delete(s, TEST_TENANT, id), 0);
		ck_assert_int_eq(blob_reap(s, BYTES_FILE), 1);
		*id = '\0';
	}
	return 0;
}

TEST(a_backup_goes_on_for_twenty_rounds)
{
	CLEANUP_STOCK struct stock k = stock();
	struct deleter d = {.k = &k, .most = 19};

	fault_watch(always_delete, &d);
	stock_backup(&k);
	fault_rest();
	ck_assert_int_eq(d.opened, d.most);
	stock_whole(k.backup, true);
}
END

TEST(a_backup_that_never_catches_up_says_so)
{
	CLEANUP_STOCK struct stock k = stock();
	struct deleter d = {.k = &k, .most = 20};

	stock_backup(&k);
	fault_watch(always_delete, &d);
	stock_no_backup(k.t.dir, k.backup, -EAGAIN, "faster");
	fault_rest();
	stock_whole(k.backup, true);
	ck_assert_int_eq(stock_count(k.backup, ".db"), 1);
}
END

static void
file_of(const struct stock *k, const char *session, char out[static 512])
{
	struct store s = k->t.s;
	struct blob b;

	ck_assert_int_eq(blob_of_session(&s, session, BLOB_PPROF, &b), 0);
	snprintf(out, 512, "%s", b.name);
}

TEST(a_damaged_profile_is_named_and_the_backup_before_stays)
{
	CLEANUP_STOCK struct stock k = stock();
	struct backup_report before = stock_backup(&k), after;
	struct backup_report r;
	char id[ID_MAX], name[512];
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	stock_profile(&k.t.s, "to be lost", id);
	file_of(&k, id, name);
	ck_assert_int_eq(unlinkat(k.t.s.profiles_fd, name, 0), 0);
	ck_assert_int_eq(backup_make(k.t.dir, k.backup, &r, &why), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(buf_str(&why), id));
	ck_assert_ptr_nonnull(strstr(buf_str(&why), name));
	ck_assert_ptr_nonnull(strstr(buf_str(&why), "stoker verify"));
	stock_whole(k.backup, true);
	ck_assert_int_eq(stock_count(k.backup, ".db"), 1);
	ck_assert_int_eq(session_delete(&k.t.s, TEST_TENANT, id), 0);
	after = stock_backup(&k);
	ck_assert_int_eq(after.now.files, before.now.files);
}
END

TEST(a_backup_keeps_what_the_store_has_lost)
{
	CLEANUP_STOCK struct stock k = stock();
	char name[512];

	stock_backup(&k);
	file_of(&k, k.profile[1], name);
	ck_assert_int_eq(unlinkat(k.t.s.profiles_fd, name, 0), 0);
	ck_assert_int_eq(stock_flaws(k.t.dir, false, FLAW_MISSING), 1);
	ck_assert_int_eq(stock_backup(&k).now.files, STOCK_PROFILES);
	stock_whole(k.backup, true);
}
END

TEST(what_a_disk_has_changed_in_the_backup_is_copied_again)
{
	CLEANUP_STOCK struct stock k = stock();
	char name[512];
	CLEANUP_FD int fd = -1, dir = -1;

	stock_backup(&k);
	file_of(&k, k.profile[1], name);
	dir = open(stock_path(k.backup, "profiles"), O_RDONLY | O_DIRECTORY);
	fd = openat(dir, name, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "P", 1, 0), 1);
	ck_assert_int_eq(stock_flaws(k.backup, true, FLAW_DAMAGED), 1);
	ck_assert_int_eq(stock_backup(&k).copied, 1);
	stock_whole(k.backup, true);
}
END

TEST(a_name_that_no_blob_has_is_damage)
{
	CLEANUP_STOCK struct stock k = stock();
	struct session_result result = test_result();
	struct session_ask ask = test_ask();
	struct blob b = {
		.store = BYTES_FILE, .name = "../stoker.db", .length = 1};
	char id[ID_MAX];

	ask.origin = SESSION_UPLOAD;
	id_new("blob-", b.id);
	snprintf(b.kind, sizeof(b.kind), BLOB_PPROF);
	ck_assert_int_eq(session_upload(&k.t.s, &ask, &result, &b, id), 0);
	stock_no_backup(k.t.dir, k.backup, -EUCLEAN, id);
	ck_assert_int_eq(stock_flaws(k.t.dir, false, FLAW_DAMAGED), 1);
}
END

TEST(a_link_in_place_of_a_profile_is_damage)
{
	CLEANUP_STOCK struct stock k = stock();
	char name[512];

	file_of(&k, k.profile[0], name);
	ck_assert_int_eq(unlinkat(k.t.s.profiles_fd, name, 0), 0);
	ck_assert_int_eq(symlinkat("/etc/hostname", k.t.s.profiles_fd, name),
	                 0);
	stock_no_backup(k.t.dir, k.backup, -EUCLEAN, k.profile[0]);
}
END

TEST(a_backup_changes_nothing_in_the_store)
{
	CLEANUP_STOCK struct stock k = stock();
	int64_t version = db_data_version(k.t.s.db);

	stock_backup(&k);
	ck_assert_int_eq(db_data_version(k.t.s.db), version);
	ck_assert_int_eq(stock_count(k.t.dir, "stoker.db"),
	                 4); /* wal, shm, setup */
}
END

SUITE("backup");
