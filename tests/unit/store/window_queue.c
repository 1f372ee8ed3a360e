/* Processes that commit windows together. On SQLite alone: a database server
 * does this itself. */
#include "store/window_queue.h"

#include "base/file.h"
#include "endpoint/call/pushes.h"
#include "lib/store.h"
#include "store/db/db_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 4
#define T0      INT64_C(1768464000000)

/* --- injected delays ------------------------------------------------------ */

static struct {
	bool stops;    /* at its first write to the disk after its turn came */
	int late;      /* turns that do not come in time */
	int waits, go; /* such a turn writes a byte, and reads one */
	bool stop;
} met;

/* SQLite calls this function. */
int
fdatasync(int fd)
{
	if (met.stop && !raise(SIGSTOP))
		met.stop = false;
	return (int)syscall(SYS_fdatasync, fd);
}

int
pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                        const struct timespec *end)
{
	char byte;

	(void)clock, (void)end;
	met.stop = met.stops;
	if (!met.late)
		return pthread_mutex_lock(m);
	met.late--;
	return write(met.waits, "", 1) == 1 && read(met.go, &byte, 1) == 1
	               ? ETIMEDOUT
	               : EIO;
}

/* --- processes that all wait for the database ----------------------------- */

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

/* Has each writer store a window, and checks the number of transactions. */
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

/* Kills the process that has the turn, while it holds windows of others. */
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
	ck_assert_uint_eq(l.n, WRITERS); /* with the killed process's */
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

/* --- a turn that does not come -------------------------------------------- */

/* A process that pushes a window, and another one, in whose transaction it is,
 * which stops when it writes to the disk. */
struct late {
	struct test_store t;
	pid_t committer, pusher;
	int waits, go;
	char series[ID_MAX];
};

static void
late_done(struct late *l)
{
	close_ptr(&l->waits);
	close_ptr(&l->go);
	test_store_done(&l->t);
}
#define CLEANUP_LATE CLEANUP(late_done)

static int
push(struct pushes *p, struct store *s, int i, const char *bytes)
{
	struct push_windows w = {
		.tenant = TEST_TENANT,
		.service = TEST_SERVICE,
		.labels = "{}",
		.max_series = 1,
		.start_ms = T0 + i,
		.end_ms = T0 + i + 10,
		.of = {{.type = "cpu", .file = bytes, .length = 5}},
		.n = 1,
	};

	return pushes_store(p, s, &w, 1) ?: w.refused;
}

/*
 * Starts a process that pushes "first". If it does not learn whether that was
 * stored, it pushes "other" and exits with UNKNOWN.
 */
#define UNKNOWN 9
static pid_t
start_push(const struct late *l, int i)
{
	struct pushes p = PUSHES_INIT;
	pid_t pid = fork();
	struct store s;
	int rc;

	if (pid)
		return pid;
	s = test_store_again(&l->t, false);
	rc = push(&p, &s, i, "first");
	if (rc == -EINPROGRESS && write(met.waits, "", 1) != 1)
		_exit(1);
	_exit(rc != -EINPROGRESS             ? rc != 0
	      : push(&p, &s, i + 1, "other") ? 1
	                                     : UNKNOWN);
}

static struct late
late_push(int turns)
{
	struct late l = {.t = test_store()};
	int waits[2], go[2], status;
	char byte;

	ck_assert_int_eq(pipe2(waits, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
	l.waits = waits[0];
	l.go = go[1];
	met.waits = waits[1];
	met.go = go[0];
	ck_assert_int_eq(series_of_pushed(&l.t.s, TEST_TENANT, TEST_SERVICE,
	                                  "cpu", "{}", 1, l.series),
	                 0);
	met.late = turns;
	l.pusher = start_push(&l, 1);
	ck_assert_int_eq(read(l.waits, &byte, 1), 1);
	met.late = 0;
	met.stops = true;
	l.committer = start_push(&l, 0);
	met.stops = false;
	ck_assert_int_eq(waitpid(l.committer, &status, WUNTRACED), l.committer);
	ck_assert(WIFSTOPPED(status));
	for (int i = 0; i < turns; i++)
		ck_assert_int_eq(write(l.go, "", 1), 1);
	/* it has met each turn, and then has its answer */
	for (int i = 0; turns > 1 && i < turns; i++)
		ck_assert_int_eq(read(l.waits, &byte, 1), 1);
	ck_assert_int_eq(kill(l.committer, SIGCONT), 0);
	ck_assert_int_eq(waitpid(l.committer, &status, 0), l.committer);
	ck_assert_int_eq(status, 0);
	close(met.waits);
	close(met.go);
	return l;
}

/* Compares the bytes of the windows that are stored. */
static void
check_bytes(struct late *l, int n, const char *const *expected)
{
	CLEANUP_WINDOWS struct window_list w = {0};
	CLEANUP_BUF struct buf b = BUF_INIT(64);

	ck_assert_int_eq(window_between(&l->t.s, l->series, WINDOW_CAPTURED, 0,
	                                INT64_MAX, &w),
	                 0);
	ck_assert_uint_eq(w.n, (size_t)n);
	for (int i = 0; i < n; i++) {
		buf_clear(&b);
		ck_assert_int_eq(window_read(&l->t.s, &w.items[i], &b), 0);
		ck_assert_str_eq(buf_str(&b), expected[i]);
	}
}

TEST(a_push_that_another_process_commits_is_told_its_fate)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_LATE struct late l = late_push(1);
	int status;

	ck_assert_int_eq(waitpid(l.pusher, &status, 0), l.pusher);
	ck_assert_int_eq(status, 0);
	check_bytes(&l, 2, (const char *[]){"first", "first"});
}
END

TEST(bytes_of_a_push_that_may_be_stored_are_not_overwritten)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_LATE struct late l = late_push(2);
	int status;

	ck_assert_int_eq(waitpid(l.pusher, &status, 0), l.pusher);
	ck_assert_int_eq(WEXITSTATUS(status), UNKNOWN);
	check_bytes(&l, 3, (const char *[]){"first", "first", "other"});
}
END

/* A damaged file, which a directory imitates, is logged once by each
 * process. */
TEST(pushes_go_on_without_a_queue_and_the_log_says_so_once)
{
	if (test_on_server())
		SKIP("a database server groups commits itself");
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP(pushes_done) struct pushes p = PUSHES_INIT;
	CLEANUP_FD int err = dup(STDERR_FILENO);
	char path[96], log[512] = "";
	int pipes[2];

	snprintf(path, sizeof(path), "%s/" STORE_DB WINDOW_QUEUE_SUFFIX, t.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	ck_assert_int_ge(dup2(pipes[1], STDERR_FILENO), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(push(&p, &t.s, i, "first"), 0);
		p.opened_ns = 0; /* the next push opens a new segment */
	}
	ck_assert_int_ge(dup2(err, STDERR_FILENO), 0);
	ck_assert_int_gt(read(pipes[0], log, sizeof(log) - 1), 0);
	ck_assert_ptr_nonnull(strstr(log, "stored one by one"));
	ck_assert_ptr_eq(strchr(log, '\n') + 1, log + strlen(log));
	close(pipes[0]);
	close(pipes[1]);
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

SUITE("window_queue");
