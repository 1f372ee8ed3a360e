/* Processes that commit windows together. On SQLite alone: a database server
 * does this itself. */
#include "store/window_queue.h"

#include "base/file.h"
#include "lib/store.h"
#include "store/db/db_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define WRITERS 4
#define T0      INT64_C(1768464000000)

struct fixture {
	struct test_store t;
	char series[ID_MAX];
	pid_t pids[WRITERS];
	int ready; /* a byte of each writer that is about to commit */
};

static void
fixture_done(struct fixture *f)
{
	close_ptr(&f->ready);
	test_store_done(&f->t);
}
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

/* Commits n windows that begin at T0 + i. */
static int
commit(const struct fixture *f, struct store *s, struct window_queue *q, int i,
       size_t n, int ready)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w[8];

	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	for (size_t k = 0; k < n; k++) {
		w[k] = (struct window_ask){
			.series = f->series,
			.start_ms = T0 + i,
			.end_ms = T0 + i + 10,
			.windows = 1,
		};
		ck_assert_int_eq(segment_append(&g, "bytes", 5, &w[k]), 0);
	}
	ck_assert_int_eq(segment_sync(&g), 0);
	if (write(ready, "", 1) != 1)
		return -EPIPE;
	return window_queue_commit(s, q, &g, w, n);
}

/* Writer i: ends with 0 once its window is stored. Its database fails at a
 * statement, if that is not 0. */
static void
write_one(const struct fixture *f, int i, int fails, int go, int ready)
{
	struct window_queue q = WINDOW_QUEUE_INIT;
	struct store s = test_store_again(&f->t, false);
	int rc = window_queue_open(&s, &q);
	char byte;

	if (rc || write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
		_exit(1);
	db_fail_after(s.db, fails);
	_exit(commit(f, &s, &q, i, 1, ready) != 0);
}

/* Starts writers, which all wait for the database; it fails the first one at a
 * statement, if that is not 0. */
static struct fixture
fixture(int fails)
{
	struct fixture f = {.t = test_store()};
	int ready[2], go[WRITERS][2];
	char byte;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           WINDOW_PUSHED, "{}", f.series),
	                 0);
	for (int i = 0; i < WRITERS; i++) {
		ck_assert_int_eq(pipe2(go[i], O_CLOEXEC), 0);
		f.pids[i] = fork();
		if (!f.pids[i])
			write_one(&f, i, i ? 0 : fails, go[i][0], ready[1]);
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	}
	ck_assert_int_eq(store_begin(&f.t.s), 0);
	for (int i = 0; i < WRITERS; i++) {
		ck_assert_int_eq(write(go[i][1], "", 1), 1);
		/* the first has the turn before the others come */
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
		poll(NULL, 0, 100);
		close(go[i][0]);
		close(go[i][1]);
	}
	close(ready[1]);
	f.ready = ready[0];
	return f;
}

static int
status_of(const struct fixture *f, int i)
{
	int status;

	ck_assert_int_eq(waitpid(f->pids[i], &status, 0), f->pids[i]);
	return status;
}

static struct window_list
stored(struct fixture *f)
{
	struct window_list l = {0};

	ck_assert_int_eq(window_between(&f->t.s, f->series, WINDOW_CAPTURED, 0,
	                                INT64_MAX, &l),
	                 0);
	return l;
}

/*
 * Counts the transactions in SQLite's log.
 *   Source   https://sqlite.org/fileformat2.html, 4.1: the last frame of a
 *            transaction has the size of the database
 */
static int
transactions(const struct fixture *f)
{
	enum { HEAD = 32, FRAME = 24 + 4096 };
	CLEANUP_BUF struct buf log = BUF_INIT(BUF_MAX_REPLY);
	char path[96];
	int n = 0;

	snprintf(path, sizeof(path), "%s/" STORE_DB "-wal", f->t.dir);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &log), 0);
	for (size_t at = HEAD; at + FRAME <= log.len; at += FRAME)
		n += memcmp(log.p + at + 4, "\0\0\0\0", 4) != 0;
	return n;
}

/* Has all writers store a window each, and checks in how many transactions. */
static void
store_all(int fails, int expected)
{
	CLEANUP_FIXTURE struct fixture f = fixture(fails);
	CLEANUP_WINDOWS struct window_list l = {0};
	int before = transactions(&f);

	store_rollback(&f.t.s);
	for (int i = 0; i < WRITERS; i++)
		ck_assert_int_eq(status_of(&f, i), 0);
	l = stored(&f);
	ck_assert_uint_eq(l.n, WRITERS);
	ck_assert_int_eq(transactions(&f), before + expected);
}

TEST(windows_of_processes_that_wait_are_one_transaction)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	store_all(0, 1);
}
END

/* The second statement inserts the first window. */
TEST(windows_that_cannot_be_stored_together_are_stored_one_by_one)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	store_all(2, WRITERS);
}
END

/* Kills the process that has the turn, with windows of others in its hands. */
TEST(windows_of_others_are_stored_once_though_the_committer_is_killed)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_FIXTURE struct fixture f = fixture(0);
	CLEANUP_WINDOWS struct window_list l = {0};

	ck_assert_int_eq(kill(f.pids[0], SIGKILL), 0);
	ck_assert(WIFSIGNALED(status_of(&f, 0)));
	store_rollback(&f.t.s);
	for (int i = 1; i < WRITERS; i++)
		ck_assert_int_eq(status_of(&f, i), 0);
	l = stored(&f);
	ck_assert_uint_eq(l.n, WRITERS); /* with the one that nobody awaits */
	for (size_t i = 0; i < l.n; i++)
		ck_assert_int_eq(l.items[i].start_ms, T0 + (int64_t)i);
}
END

TEST(a_process_that_comes_after_a_killed_one_commits)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_FIXTURE struct fixture f = fixture(0);
	CLEANUP_WINDOW_QUEUE struct window_queue q = WINDOW_QUEUE_INIT;
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_FD int nobody = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (int i = 0; i < WRITERS; i++) {
		ck_assert_int_eq(kill(f.pids[i], SIGKILL), 0);
		(void)status_of(&f, i);
	}
	store_rollback(&f.t.s);
	ck_assert_int_eq(window_queue_open(&f.t.s, &q), 0);
	ck_assert_int_eq(commit(&f, &f.t.s, &q, WRITERS, 1, nobody), 0);
	l = stored(&f);
	ck_assert_uint_ge(l.n, 1);
	ck_assert_int_eq(l.items[l.n - 1].start_ms, T0 + WRITERS);
}
END

TEST(more_windows_than_a_slot_holds_are_stored)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW_QUEUE struct window_queue q = WINDOW_QUEUE_INIT;
	CLEANUP_FD int nobody = open("/dev/null", O_WRONLY | O_CLOEXEC);
	CLEANUP_WINDOWS struct window_list l = {0};
	struct fixture f = {.t = t};

	ck_assert_int_eq(series_of(&t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           WINDOW_PUSHED, "{}", f.series),
	                 0);
	ck_assert_int_eq(window_queue_open(&t.s, &q), 0);
	for (int n = 1; n <= 8; n++)
		ck_assert_int_eq(commit(&f, &t.s, &q, n, (size_t)n, nobody), 0);
	l = stored(&f);
	ck_assert_uint_eq(l.n, 36);
}
END

/* The queue of a full disk fails where it is opened, not at a write to its
 * memory. */
TEST(a_queue_has_all_its_blocks)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW_QUEUE struct window_queue q = WINDOW_QUEUE_INIT;
	off_t end;

	ck_assert_int_eq(window_queue_open(&t.s, &q), 0);
	end = lseek(q.fd, 0, SEEK_END);
	ck_assert_int_gt(end, 0);
	ck_assert_int_eq(lseek(q.fd, 0, SEEK_HOLE), end);
}
END

SUITE("window_queue", windows_of_processes_that_wait_are_one_transaction,
      windows_that_cannot_be_stored_together_are_stored_one_by_one,
      windows_of_others_are_stored_once_though_the_committer_is_killed,
      a_process_that_comes_after_a_killed_one_commits,
      more_windows_than_a_slot_holds_are_stored, a_queue_has_all_its_blocks)
