/*
 * Verifying reports damage in stores and backups, and nothing else.
 * On SQLite alone.
 */
#include "store/verify.h"

#include "lib/faults.h"
#include "lib/stock.h"
#include "store/db/sqlite.h"
#include "store/session.h"
#include "store/window.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define IN_STORE  false
#define IN_BACKUP true

static void
nothing(void *arg, const struct flaw *f)
{
	(void)arg, (void)f;
}

/* Verifies a directory, which must fail with this error and these words. */
static void
refuses(const char *dir, bool in_backup, int expected, const char *words)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup seen;
	int rc = (in_backup ? backup_verify : store_verify)(dir, nothing, NULL,
	                                                    &seen, &why);

	ck_assert_int_eq(rc, expected);
	ck_assert_msg(strstr(buf_str(&why), words), "%s", buf_str(&why));
}

/* Finds the file of a profile, below profiles/. */
static void
file_of(const struct stock *k, int i, char out[static BYTES_NAME_MAX])
{
	struct store s = k->t.s;
	struct blob b;

	ck_assert_int_eq(blob_of_session(&s, k->profile[i], BLOB_PPROF, &b), 0);
	memcpy(out, b.name, BYTES_NAME_MAX);
}

TEST(a_store_in_use_is_whole)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup seen;

	stock_whole(k.t.dir, IN_STORE);
	ck_assert_int_eq(store_verify(k.t.dir, nothing, NULL, &seen, &why), 0);
	ck_assert_int_eq(seen.files, STOCK_PROFILES);
	ck_assert_int_eq(seen.windows, STOCK_WINDOWS);
	ck_assert_int_eq(seen.schema, SQL_VERSION);
}
END

/* Changes to the file of a profile, and the flaw that each is. */
static const struct {
	const char *name;
	int length; /* of the file afterwards; -1: removed */
	const char *bytes;
	enum flaw_kind found;
} harms[] = {
	{"whole", 9, "profile 1", FLAW_KINDS},
	{"removed", -1, "", FLAW_MISSING},
	{"another byte", 9, "profile 2", FLAW_DAMAGED},
	{"a byte less", 8, "profile 1", FLAW_DAMAGED},
	{"a byte more", 10, "profile 1", FLAW_DAMAGED},
	{"empty", 0, "", FLAW_DAMAGED},
};

static void
harm(int profiles_fd, const char *name, int length, const char *bytes)
{
	CLEANUP_FD int fd = openat(profiles_fd, name, O_WRONLY);

	if (length < 0)
		ck_assert_int_eq(unlinkat(profiles_fd, name, 0), 0);
	else
		ck_assert_int_eq(ftruncate(fd, length), 0);
	ck_assert_int_eq(pwrite(fd, bytes, strlen(bytes), 0),
	                 (ssize_t)strlen(bytes));
	if (length > 0)
		ck_assert_int_eq(ftruncate(fd, length), 0);
}

TEST(harm_to_a_profile_is_found_in_stores_and_in_backups)
{
	for (size_t i = 0; i < ARRAY_LEN(harms); i++) {
		CLEANUP_STOCK struct stock k = stock();
		CLEANUP_FD int fd = -1;
		char name[BYTES_NAME_MAX];
		int n = harms[i].found != FLAW_KINDS;

		stock_backup(&k);
		file_of(&k, 1, name);
		harm(k.t.s.profiles_fd, name, harms[i].length, harms[i].bytes);
		ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, harms[i].found),
		                 n);
		stock_whole(k.backup, IN_BACKUP);
		fd = open(stock_path(k.backup, "profiles"), O_RDONLY);
		harm(fd, name, harms[i].length, harms[i].bytes);
		ck_assert_int_eq(
			stock_flaws(k.backup, IN_BACKUP, harms[i].found), n);
	}
}
END

TEST(harm_to_a_window_is_found_and_to_what_nobody_names_is_not)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w[3] = {{.windows = 1}, {.windows = 1}};
	char series[ID_MAX];

	ck_assert_int_eq(series_of(&k.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           "harmed", "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(&k.t.s, "harmed", &g), 0);
	for (int i = 0; i < 3; i++) {
		w[i].series = series;
		ck_assert_int_eq(segment_append(&g, "12345", 5, &w[i]), 0);
	}
	ck_assert_int_eq(window_commit(&k.t.s, &g, w, 2, NULL), 0);
	stock_whole(k.t.dir, IN_STORE);
	ck_assert_int_eq(pwrite(g.fd, "x", 1, 10), 1); /* the third window */
	stock_whole(k.t.dir, IN_STORE);
	ck_assert_int_eq(pwrite(g.fd, "x", 1, 9), 1); /* the second window */
	ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, FLAW_DAMAGED), 1);
	ck_assert_int_eq(ftruncate(g.fd, 4), 0);
	ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, FLAW_DAMAGED), 2);
}
END

static int
delete_all(void *arg, const char *call, const char *path)
{
	struct stock *k = arg;

	if (strcmp(call, "openat") || strncmp(path, "blob-", 5))
		return 0;
	fault_rest();
	for (int i = 0; i < STOCK_PROFILES; i++)
		ck_assert_int_eq(
			session_delete(&k->t.s, TEST_TENANT, k->profile[i]), 0);
	ck_assert_int_eq(blob_reap(&k->t.s, BYTES_FILE), STOCK_PROFILES);
	return 0;
}

TEST(what_is_deleted_while_it_is_looked_at_is_no_flaw)
{
	CLEANUP_STOCK struct stock k = stock();

	fault_watch(delete_all, &k);
	stock_whole(k.t.dir, IN_STORE);
	stock_whole(k.t.dir, IN_STORE);
}
END

TEST(what_waits_for_the_worker_to_remove_it_is_no_flaw)
{
	CLEANUP_STOCK struct stock k = stock();

	ck_assert_int_eq(session_delete(&k.t.s, TEST_TENANT, k.profile[0]), 0);
	stock_whole(k.t.dir, IN_STORE);
}
END

/* Ages of a file without a row, and whether it is an orphan. */
static const struct {
	int64_t age_ms;
	int found;
} ages[] = {
	{0, 0},
	{VERIFY_YOUNG_MS - 60000, 0},
	{VERIFY_YOUNG_MS + 2000, 1},
};

static void
age(int fd, int64_t ms)
{
	struct timespec now, times[2];

	clock_gettime(CLOCK_REALTIME, &now);
	times[0] = times[1] = (struct timespec){now.tv_sec - ms / 1000, 0};
	ck_assert_int_eq(futimens(fd, times), 0);
}

TEST(a_file_without_a_row_is_an_orphan_when_it_is_old)
{
	for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
		CLEANUP_STOCK struct stock k = stock();
		CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
		CLEANUP_FD int fd = -1;
		struct blob b;

		test_blob(&k.t.s, "of an upload that was killed", &b);
		fd = openat(k.t.s.profiles_fd, b.name, O_WRONLY);
		age(fd, ages[i].age_ms);
		ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, FLAW_ORPHAN),
		                 ages[i].found);
		ck_assert_int_eq(segment_create(&k.t.s, TEST_HOST, &g), 0);
		age(g.fd, ages[i].age_ms);
		segment_close(&g);
		ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, FLAW_ORPHAN),
		                 2 * ages[i].found);
	}
}
END

TEST(a_file_that_is_being_written_is_no_orphan_however_old)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;

	ck_assert_int_eq(blob_create(&k.t.s, BLOB_PPROF, &w), 0);
	ck_assert_int_eq(segment_create(&k.t.s, TEST_HOST, &g), 0);
	age(w.fd, 2 * VERIFY_YOUNG_MS);
	age(g.fd, 2 * VERIFY_YOUNG_MS);
	stock_whole(k.t.dir, IN_STORE);
}
END

TEST(what_an_interrupted_backup_left_is_no_flaw)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_FD int fd = -1;

	stock_backup(&k);
	fd = open(stock_path(k.backup, "segments/seg-left.seg"),
	          O_CREAT | O_WRONLY, 0600);
	age(fd, 2 * VERIFY_YOUNG_MS);
	stock_whole(k.backup, IN_BACKUP);
	ck_assert_int_eq(stock_backup(&k).removed, 2); /* one: a database */
	ck_assert_int_ne(
		access(stock_path(k.backup, "segments/seg-left.seg"), F_OK), 0);
}
END

TEST(a_reference_to_a_row_that_is_gone_is_found)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_sql(stock_path(k.t.dir, "stoker.db"), "DELETE FROM service");
	/* one of each session, and one of the series */
	ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, FLAW_REFERENCE),
	                 STOCK_PROFILES + 1);
}
END

/* Numbers of broken references, and how many of them are reported. */
static const struct {
	int broken, told;
} references[] = {
	{DB_DAMAGES_MAX, DB_DAMAGES_MAX},
	{DB_DAMAGES_MAX + 1, DB_DAMAGES_MAX},
};

TEST(a_hundred_broken_references_are_told)
{
	for (size_t i = 0; i < ARRAY_LEN(references); i++) {
		CLEANUP_STOCK struct stock k = stock();
		char sql[256];

		snprintf(sql, sizeof(sql),
		         "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT "
		         "n + 1 FROM c WHERE n < %d) INSERT INTO "
		         "trigger_firing SELECT n, 'none', '', '', '', 0, 0, "
		         "0, '', 0, 0, 0, 0, 0 FROM c",
		         references[i].broken);
		stock_sql(stock_path(k.t.dir, "stoker.db"), sql);
		ck_assert_int_eq(stock_flaws(k.t.dir, IN_STORE, FLAW_REFERENCE),
		                 references[i].told);
	}
}
END

/* Damages every leaf page of an index. */
static void
harm_page(const char *database)
{
	CLEANUP_FD int fd = open(database, O_RDWR);
	struct stat st;
	char page[4096];

	ck_assert_int_eq(fstat(fd, &st), 0);
	for (off_t at = 4096; at < st.st_size; at += 4096) {
		ck_assert_int_eq(pread(fd, page, sizeof(page), at), 4096);
		if (page[0] != 10) /* a leaf of an index */
			continue;
		memset(page + 8, 0x55, 2000);
		ck_assert_int_eq(pwrite(fd, page, sizeof(page), at), 4096);
	}
}

TEST(a_damaged_page_is_found)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_sql(stock_path(k.t.dir, "stoker.db"),
	          "PRAGMA wal_checkpoint(TRUNCATE)");
	harm_page(stock_path(k.t.dir, "stoker.db"));
	ck_assert_int_ge(stock_flaws(k.t.dir, IN_STORE, FLAW_DATABASE), 1);
}
END

TEST(a_damaged_store_has_no_backup)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup_report r;

	stock_backup(&k);
	stock_sql(stock_path(k.t.dir, "stoker.db"), "DELETE FROM service");
	ck_assert_int_eq(backup_make(k.t.dir, k.backup, &r, &why), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(buf_str(&why), "stoker verify"));
	stock_whole(k.backup, IN_BACKUP);
}
END

TEST(a_file_that_is_no_database_is_found)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_FD int fd = -1;

	ck_assert_int_eq(mkdir(k.restored, 0700), 0);
	fd = open(stock_path(k.restored, "stoker.db"), O_CREAT | O_WRONLY,
	          0600);
	ck_assert_int_eq(write(fd, "not a database, but long enough", 31), 31);
	ck_assert_int_eq(stock_flaws(k.restored, IN_STORE, FLAW_DATABASE), 1);
}
END

TEST(another_program_s_database_is_refused)
{
	CLEANUP_STOCK struct stock k = stock();

	ck_assert_int_eq(mkdir(k.restored, 0700), 0);
	stock_sql(stock_path(k.restored, "stoker.db"), "CREATE TABLE t (a)");
	refuses(k.restored, IN_STORE, -EMEDIUMTYPE, "not a database of Stoker");
}
END

TEST(a_newer_schema_is_refused_with_what_to_do)
{
	CLEANUP_STOCK struct stock k = stock();
	char sql[128];

	snprintf(sql, sizeof(sql),
	         "INSERT INTO migration VALUES (%d, %d, 'later', 0)",
	         SQL_VERSION + 1, SQL_VERSION + 1);
	stock_backup(&k);
	stock_sql(stock_path(k.t.dir, "stoker.db"), sql);
	refuses(k.t.dir, IN_STORE, -EPROTONOSUPPORT, "install the newer");
	stock_sql(stock_database(&k), sql);
	stock_agree(&k);
	refuses(k.backup, IN_BACKUP, -EPROTONOSUPPORT, "install the newer");
}
END

TEST(a_store_that_is_not_there_cannot_be_verified)
{
	CLEANUP_STOCK struct stock k = stock();

	refuses(k.restored, IN_STORE, -ENOENT, k.restored);
	ck_assert_int_eq(mkdir(k.restored, 0700), 0);
	refuses(k.restored, IN_STORE, -ENOENT, "stoker.db");
}
END

TEST(the_database_of_a_backup_has_a_checksum_of_its_own)
{
	CLEANUP_STOCK struct stock k = stock();

	stock_backup(&k);
	stock_sql(stock_database(&k), "UPDATE token SET role = 'admin'");
	stock_whole(k.backup, IN_BACKUP); /* the backup had none */
	stock_sql(stock_database(&k), "UPDATE service SET description = 'x'");
	ck_assert_int_eq(stock_flaws(k.backup, IN_BACKUP, FLAW_DAMAGED), 1);
	ck_assert_int_eq(unlink(stock_database(&k)), 0);
	ck_assert_int_eq(stock_flaws(k.backup, IN_BACKUP, FLAW_MISSING), 1);
}
END

TEST(a_directory_without_a_manifest_is_no_backup)
{
	CLEANUP_STOCK struct stock k = stock();

	refuses(k.t.dir, IN_BACKUP, -ENOMEDIUM, "no complete backup");
	stock_backup(&k);
	ck_assert_int_eq(truncate(stock_path(k.backup, "manifest.json"), 50),
	                 0);
	refuses(k.backup, IN_BACKUP, -ENOMEDIUM, "no complete backup");
	refuses(k.restored, IN_BACKUP, -ENOENT, k.restored);
}
END

TEST(every_flaw_says_what_mends_it)
{
	for (enum flaw_kind i = 0; i < FLAW_KINDS; i++) {
		ck_assert_uint_gt(strlen(flaw_name(i)), 0);
		ck_assert_uint_gt(strlen(flaw_fix(i, IN_STORE)), 0);
		ck_assert_uint_gt(strlen(flaw_fix(i, IN_BACKUP)), 0);
	}
}
END

SUITE("verify");
