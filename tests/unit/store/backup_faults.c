/*
 * Backups and restores in which any one call fails, or that are killed at any
 * call: either the old state or the new one is whole.
 * On SQLite alone.
 */
#include "store/backup.h"

#include "lib/faults.h"
#include "lib/stock.h"
#include "store/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Counts down system calls or allocations; the last one fails. */
struct countdown {
	long left;
	int error; /* 0: the process is killed */
	bool memory;
	bool reached;
};

static int
count_down(void *arg, const char *call, const char *path)
{
	struct countdown *c = arg;

	(void)path;
	if (!strcmp(call, "malloc") != c->memory || c->left-- > 0)
		return 0;
	c->reached = true;
	if (c->error)
		return c->error;
	kill(getpid(), SIGKILL);
	return 0;
}

struct attempt {
	int rc;
	bool reached, told;
};

/* Runs act with one call failing. */
static struct attempt
fail_at(struct countdown c, int (*act)(struct stock *k, struct buf *why),
        struct stock *k)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct attempt a;

	fault_watch(count_down, &c);
	a.rc = act(k, &why);
	fault_rest();
	a.reached = c.reached;
	a.told = why.len != 0;
	return a;
}

/* Runs act in a process that is killed at the nth call; returns false if the
 * process ended before that call. */
static bool
kill_at(long n, int (*act)(struct stock *k, struct buf *why), struct stock *k)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct attempt a =
			fail_at((struct countdown){.left = n}, act, k);

		_exit(a.rc ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) || !WEXITSTATUS(status));
	return WIFSIGNALED(status);
}

static int
make(struct stock *k, struct buf *why)
{
	struct backup_report r;

	return backup_make(k->t.dir, k->backup, &r, why);
}

static void
ignore(void *arg, const struct flaw *f)
{
	(void)arg, (void)f;
}

/* Returns the number of files of the backup, which must be whole. */
static int64_t
files(const struct stock *k)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup seen;

	stock_whole(k->backup, true);
	ck_assert_int_eq(backup_verify(k->backup, ignore, NULL, &seen, &why),
	                 0);
	return seen.files;
}

/* Makes the store differ from its backup: adds two profiles, deletes one. */
static void
differ(struct stock *k)
{
	char id[ID_MAX];

	stock_backup(k);
	ck_assert_int_eq(session_delete(&k->t.s, TEST_TENANT, k->profile[0]),
	                 0);
	stock_profile(&k->t.s, "one", id);
	stock_profile(&k->t.s, "two", id);
}

static const struct {
	const char *name;
	struct countdown c;
} faults[] = {
	{"a disk that fails", {.error = EIO}},
	{"a disk that is full", {.error = ENOSPC}},
	{"no memory", {.error = ENOMEM, .memory = true}},
};

/* Every call fails once; of the many allocations, later ones are tried less
 * often. */
static struct countdown
next_fault(size_t i, long *n)
{
	struct countdown c = faults[i].c;

	c.left = *n;
	*n += c.memory ? 1 + *n / 32 : 1;
	return c;
}

TEST(whatever_fails_a_backup_is_the_new_one_or_the_one_before)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		CLEANUP_STOCK struct stock k = stock();
		struct attempt a = {.reached = true};
		long n = 0, refused = 0;

		if (faults[i].c.memory && SANITIZED)
			continue;
		differ(&k);
		while (a.reached) {
			int64_t have;

			a = fail_at(next_fault(i, &n), make, &k);
			refused += a.rc != 0;
			have = files(&k);
			ck_assert_msg(have == STOCK_PROFILES + (a.rc ? 0 : 1) ||
			                      have == STOCK_PROFILES + 1,
			              "%s at %ld", faults[i].name, n);
		}
		ck_assert_int_eq(a.rc, 0);
		ck_assert_int_gt(refused, 10);
		ck_assert_int_gt(n, 50);
	}
}
END

TEST(a_first_backup_that_fails_is_none)
{
	CLEANUP_STOCK struct stock k = stock();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct attempt a = {.reached = true};
	struct backup seen;

	for (long n = 0; a.reached; n++) {
		struct countdown c = {.error = ENOSPC, .left = n};
		int rc;

		a = fail_at(c, make, &k);
		ck_assert(!a.rc || a.told);
		buf_clear(&why);
		rc = backup_verify(k.backup, ignore, NULL, &seen, &why);
		ck_assert_msg(!rc || rc == -ENOMEDIUM || rc == -ENOENT,
		              "%ld: %s", n, buf_str(&why));
		ck_assert(a.rc || !rc);
	}
	ck_assert_int_eq(files(&k), STOCK_PROFILES);
}
END

TEST(a_backup_that_is_killed_leaves_the_one_before_or_the_new_one)
{
	CLEANUP_STOCK struct stock k = stock();
	bool seen[2] = {false, false};
	long n = 0;

	differ(&k);
	while (kill_at(n, make, &k)) {
		int64_t have = files(&k);

		ck_assert_int_ge(have, STOCK_PROFILES);
		ck_assert_int_le(have, STOCK_PROFILES + 1);
		seen[have - STOCK_PROFILES] = true;
		n++;
	}
	ck_assert(seen[0] && seen[1]);
	ck_assert_int_gt(n, 50);
	ck_assert_int_eq(files(&k), STOCK_PROFILES + 1);
	/* Backups that were killed left databases, which are gone by now. */
	ck_assert_int_eq(stock_backup(&k).removed, 1);
}
END

static int
restore(struct stock *k, struct buf *why)
{
	const struct restore_ask ask = {.dir = k->backup,
	                                .store_dir = k->restored,
	                                .uid = geteuid(),
	                                .gid = getegid(),
	                                .replace = true};
	CLEANUP_BUF struct buf aside = BUF_INIT(BUF_MAX_SMALL);
	struct backup b;

	return backup_restore(&ask, &b, &aside, why);
}

static bool
has_store(const struct stock *k)
{
	return !access(stock_path(k->restored, "stoker.db"), F_OK);
}

TEST(a_restore_that_fails_leaves_no_store_or_a_whole_one)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		CLEANUP_STOCK struct stock k = stock();
		struct attempt a = {.reached = true};
		long n = 0;

		if (faults[i].c.memory && SANITIZED)
			continue;
		stock_backup(&k);
		while (a.reached && !has_store(&k)) {
			a = fail_at(next_fault(i, &n), restore, &k);
			ck_assert(a.rc || has_store(&k));
		}
		ck_assert_int_gt(n, 50);
		stock_whole(k.restored, false);
	}
}
END

TEST(a_restore_that_is_killed_leaves_no_store_or_a_whole_one)
{
	CLEANUP_STOCK struct stock k = stock();
	long n = 0;

	stock_backup(&k);
	while (kill_at(n, restore, &k) && !has_store(&k))
		n++;
	ck_assert_int_gt(n, 50);
	stock_whole(k.restored, false);
}
END

/* Makes a store with one profile where the restored one belongs. */
static void
make_old_store(const struct stock *k)
{
	CLEANUP_STORE struct store s = {.profiles_fd = -1};
	char id[ID_MAX];

	ck_assert_int_eq(mkdir(k->restored, 02770), 0);
	test_store_in(k->restored, &s);
	stock_profile(&s, "old", id);
}

/* Returns the number of profiles in a store, which must be whole; 0: no
 * store. */
static int64_t
profiles(const char *dir)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct backup seen;

	if (access(stock_path(dir, "stoker.db"), F_OK))
		return 0;
	stock_whole(dir, false);
	ck_assert_int_eq(store_verify(dir, ignore, NULL, &seen, &why), 0);
	return seen.files;
}

/* Finds the directory that the data of the store was moved to, or "". */
static void
find_aside(const struct stock *k, char out[static 512])
{
	DIR *d = opendir(k->root);
	struct dirent *e;

	*out = '\0';
	while ((e = readdir(d)))
		if (strstr(e->d_name, "before-restore"))
			snprintf(out, 512, "%s/%s", k->root, e->d_name);
	closedir(d);
}

static void
check_old_and_new(const struct stock *k, bool *seen_old, bool *seen_new)
{
	int64_t n = profiles(k->restored);
	char aside[512];

	find_aside(k, aside);
	if (n == 1) {
		ck_assert_str_eq(aside, "");
		*seen_old = true;
		return;
	}
	ck_assert(n == STOCK_PROFILES || n == 0);
	ck_assert_int_eq(profiles(aside), 1);
	*seen_new |= n == STOCK_PROFILES;
}

TEST(a_store_that_is_replaced_is_whole_before_and_kept_after)
{
	CLEANUP_STOCK struct stock k = stock();
	bool seen_old = false, seen_new = false, killed = true;

	stock_backup(&k);
	for (long n = 0; killed; n++) {
		make_old_store(&k);
		killed = kill_at(n, restore, &k);
		check_old_and_new(&k, &seen_old, &seen_new);
		stock_clear(&k, "restored");
	}
	ck_assert(seen_old && seen_new);
}
END

TEST(a_store_that_could_not_be_replaced_stays)
{
	CLEANUP_STOCK struct stock k = stock();
	bool seen_old = false, seen_new = false;
	struct attempt a = {.reached = true};

	stock_backup(&k);
	for (long n = 0; a.reached;) {
		make_old_store(&k);
		a = fail_at(next_fault(0, &n), restore, &k);
		ck_assert(!a.rc || a.told);
		check_old_and_new(&k, &seen_old, &seen_new);
		stock_clear(&k, "restored");
	}
	ck_assert(seen_old && seen_new);
}
END

SUITE("backup_faults", .seconds = 240);
