/*
 * Writers that are killed with SIGKILL at any moment, over and over: what
 * they were told is accepted is there afterwards, and whatever is complete
 * has its whole profile.
 * On SQLite alone: they are the worker.
 */
#include "base/clock.h"
#include "lib/store.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define ROUNDS   12
#define ROUND_MS 150

struct writer {
	pid_t pid;
	int said; /* what it says it was told */
};

/* Enqueues for ever, and says each id once it was accepted. */
static void
enqueue_for_ever(const struct test_store *t, int round, int say)
{
	struct store s = test_store_again(t, false);

	for (int i = 0;; i++) {
		char id[ID_MAX] = {0};

		test_enqueue(&s, round * 1000000 + i, id);
		if (write(say, id, sizeof(id)) != sizeof(id))
			_exit(1);
	}
}

static void
run_one(struct store *s, const struct job *j)
{
	struct session_result r = test_result();
	struct job_ref ref = job_ref(j);
	struct blob b;
	struct job_end end = {"done", "", "", &r, &b, NULL};

	test_blob(s, j->session, &b); /* the profile names its session */
	ck_assert_int_eq(job_finish(s, &ref, &end), 0);
}

/* Takes over, as a worker does that starts, then works for ever. */
static void
work_for_ever(const struct test_store *t)
{
	struct store s = test_store_again(t, true);

	ck_assert_int_ge(job_take_over(&s, TEST_HOST), 0);
	for (;;) {
		CLEANUP_JOB struct job j = {0};
		int rc = job_claim(&s, TEST_HOST, TEST_LEASE_MS, &j);

		if (!rc)
			run_one(&s, &j);
		else if (rc != -ENOENT)
			_exit(1);
		if (rc == -ENOENT && db_upkeep(s.db) == -EIO)
			_exit(1);
	}
}

static struct writer
start(const struct test_store *t, int round, bool worker)
{
	struct writer w;
	int pipes[2];

	ck_assert_int_eq(pipe2(pipes, 0), 0);
	w.pid = fork();
	ck_assert_int_ge(w.pid, 0);
	if (!w.pid) {
		if (worker)
			work_for_ever(t);
		enqueue_for_ever(t, round, pipes[1]);
	}
	close(pipes[1]);
	w.said = pipes[0];
	return w;
}

struct ids {
	char (*p)[ID_MAX];
	size_t n;
};

/* Reads ids until the writer is gone, which this sees to after a while. */
static void
listen_and_kill(struct writer w, int64_t until_ns, struct ids *out)
{
	struct pollfd p = {.fd = w.said, .events = POLLIN};
	bool killed = false;
	char id[ID_MAX];

	for (;;) {
		int64_t left = (until_ns - clock_mono_ns()) / NS_PER_MS;

		if (left <= 0 && !killed)
			killed = !kill(w.pid, SIGKILL);
		if (!poll(&p, 1, killed ? -1 : (int)left))
			continue;
		if (read(w.said, id, sizeof(id)) != sizeof(id))
			break;
		out->p = reallocarray(out->p, out->n + 1, ID_MAX);
		memcpy(out->p[out->n++], id, ID_MAX);
	}
	close(w.said);
	waitpid(w.pid, NULL, 0);
}

static void
check_one(struct store *s, const char *id, int *complete)
{
	CLEANUP_SESSION struct session v = {0};
	CLEANUP_BUF struct buf text = BUF_INIT(ID_MAX);
	struct blob b;

	ck_assert_int_eq(session_get(s, TEST_TENANT, id, &v), 0);
	if (strcmp(v.status, SESSION_COMPLETED)) {
		ck_assert_int_eq(v.has_profile, 0);
		return;
	}
	ck_assert_int_eq(blob_of_session(s, id, BLOB_PPROF, &b), 0);
	ck_assert_int_eq(blob_read(s, &b, &text), 0);
	ck_assert_str_eq(buf_str(&text), id);
	++*complete;
}

TEST(killed_writers_lose_nothing_and_leave_nothing_half)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct ids accepted = {0}, none = {0};
	int complete = 0;

	/* no connection of the parent may pass through fork() */
	store_close(&t.s);
	for (int round = 0; round < ROUNDS; round++) {
		struct writer api = start(&t, round, false);
		struct writer worker = start(&t, round, true);
		int64_t end = clock_mono_ns() + ROUND_MS * NS_PER_MS;

		listen_and_kill(api, end, &accepted);
		listen_and_kill(worker, end, &none);
	}
	t.s = test_store_again(&t, true);
	ck_assert_int_gt(accepted.n, ROUNDS);
	for (size_t i = 0; i < accepted.n; i++)
		check_one(&t.s, accepted.p[i], &complete);
	ck_assert_int_gt(complete, 0);
	ck_assert_int_ge(blob_sweep(&t.s, BYTES_FILE), 0);
	for (size_t i = 0; i < accepted.n; i++)
		check_one(&t.s, accepted.p[i], &complete);
	free(accepted.p);
}
END

SUITE_TIMEOUT("kill", 60, killed_writers_lose_nothing_and_leave_nothing_half)
