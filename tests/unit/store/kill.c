/*
 * Writers are killed with SIGKILL at random moments: what the store accepted
 * before is still there, and every completed session has its whole profile. On
 * SQLite alone: the worker is one of the writers.
 */
#include "lib/store.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define ROUNDS   12
#define ACCEPTED 12 /* in each round, before the writer is killed */
#define FINISHED 6
#define LATE_MS  10 /* the kill comes within this time */

struct writer {
	pid_t pid;
	int said; /* ids that the store accepted */
};

static void
say(int to, const char *id)
{
	char out[ID_MAX] = {0};

	snprintf(out, sizeof(out), "%s", id);
	if (write(to, out, sizeof(out)) != sizeof(out))
		_exit(1);
}

/* Enqueues for ever; writes each id to a pipe once it is accepted. */
static void
enqueue_for_ever(const struct test_store *t, int round, int to)
{
	struct store s = test_store_again(t, false);

	for (int i = 0;; i++) {
		char id[ID_MAX] = {0};

		test_enqueue(&s, round * 1000000 + i, id);
		say(to, id);
	}
}

static void
run_one(struct store *s, const struct job *j)
{
	struct session_result r = test_result();
	struct blob b;

	test_blob(s, j->session, &b); /* the profile names its session */
	test_finish(s, j, &r, &b);
}

/* Takes over jobs, as a starting worker does, then works for ever; writes the
 * session of each job once it is finished. */
static void
work_for_ever(const struct test_store *t, int to)
{
	struct store s = test_store_again(t, true);

	ck_assert_int_ge(job_take_over(&s, TEST_HOST), 0);
	for (;;) {
		CLEANUP_JOB struct job j = {0};
		int rc = job_claim(&s, TEST_HOST, TEST_LEASE_MS, 8, &j);

		if (!rc) {
			run_one(&s, &j);
			say(to, j.session);
		} else if (rc != -ENOENT) {
			_exit(1);
		}
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
			work_for_ever(t, pipes[1]);
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

/* Reads n ids, or fewer if the writer ends. */
static void
read_ids(int said, size_t n, struct ids *out)
{
	char id[ID_MAX];

	while (n-- && read(said, id, sizeof(id)) == sizeof(id)) {
		out->p = reallocarray(out->p, out->n + 1, ID_MAX);
		memcpy(out->p[out->n++], id, ID_MAX);
	}
}

/* Kills the writer late_ms after its nth id. */
static void
listen_and_kill(struct writer w, size_t n, int late_ms, struct ids *out)
{
	read_ids(w.said, n, out);
	poll(NULL, 0, late_ms);
	kill(w.pid, SIGKILL);
	read_ids(w.said, SIZE_MAX, out);
	close(w.said);
	waitpid(w.pid, NULL, 0);
}

static bool
is_complete(struct store *s, const char *id)
{
	CLEANUP_SESSION struct session v = {0};
	CLEANUP_BUF struct buf text = BUF_INIT(ID_MAX);
	struct blob b;

	ck_assert_int_eq(session_get(s, TEST_TENANT, id, &v), 0);
	if (strcmp(v.status, SESSION_COMPLETED)) {
		ck_assert_int_eq(v.has_profile, 0);
		return false;
	}
	ck_assert_int_eq(blob_of_session(s, id, BLOB_PPROF, &b), 0);
	ck_assert_int_eq(blob_read(s, &b, &text), 0);
	ck_assert_str_eq(buf_str(&text), id);
	return true;
}

static void
check_all(struct store *s, const struct ids *accepted,
          const struct ids *finished)
{
	for (size_t i = 0; i < accepted->n; i++)
		is_complete(s, accepted->p[i]);
	for (size_t i = 0; i < finished->n; i++)
		ck_assert(is_complete(s, finished->p[i]));
}

TEST(killed_writers_lose_nothing_and_leave_nothing_half)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct ids accepted = {0}, finished = {0};

	/* no connection of the parent may pass through fork() */
	store_close(&t.s);
	for (int round = 0; round < ROUNDS; round++) {
		struct writer api = start(&t, round, false);
		struct writer worker = start(&t, round, true);

		listen_and_kill(api, ACCEPTED, round * 7 % LATE_MS, &accepted);
		listen_and_kill(worker, FINISHED, round * 3 % LATE_MS,
		                &finished);
	}
	ck_assert_uint_ge(accepted.n, ROUNDS * ACCEPTED);
	ck_assert_uint_ge(finished.n, ROUNDS * FINISHED);
	t.s = test_store_again(&t, true);
	check_all(&t.s, &accepted, &finished);
	ck_assert_int_ge(blob_sweep(&t.s, BYTES_FILE), 0);
	check_all(&t.s, &accepted, &finished);
	free(accepted.p);
	free(finished.p);
}
END

SUITE("kill", .seconds = 60);
