#include "worker/captures/runs.h"

#include "base/clock.h"
#include "capture/recorder.h"
#include "lib/store.h"
#include "profile/types.h"
#include "store/db/db_test.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

struct rig {
	struct test_store store;
	struct runs c;
	int analyser;
	char id[ID_MAX];
	int64_t now_ns;
};
#define CLEANUP_RIG CLEANUP(rig_done)

union heard {
	uint32_t type;
	struct msg_start start;
	struct msg_capture capture;
};

static int
hear(struct rig *r, uint32_t type)
{
	int fds[] = {-1, -1};
	size_t nfds = ARRAY_LEN(fds);
	union heard m;

	ck_assert_int_gt(msg_recv(r->analyser, &m, sizeof(m), fds, &nfds), 0);
	ck_assert_uint_eq(m.type, type);
	close_ptr(&fds[1]); /* the file of the timeline */
	return fds[0];
}

/* A capture that runs, whose START was received. */
static void
rig_init(struct rig *r, int64_t seconds)
{
	struct session_ask ask = test_ask();
	const struct followed now = {.n = 1, .pids = {getpid()}};
	struct job j;
	int pair[2];

	*r = (struct rig){.store = test_store(), .now_ns = clock_mono_ns()};
	ck_assert_int_eq(msg_pair(pair), 0);
	r->analyser = pair[0];
	ck_assert_int_eq(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	r->c = (struct runs){.store = &r->store.s,
	                     .analyser = pair[1],
	                     .fetcher = -1,
	                     .lease_ms = TEST_LEASE_MS,
	                     .max = 8};
	ask.seconds = seconds;
	ck_assert_int_eq(job_enqueue(&r->store.s, &ask, TEST_HOST, r->id), 0);
	test_claim(&r->store.s, &j);
	ck_assert_int_eq(runs_start(&r->c, &j, ways_outside("auto", j.type), 0,
	                            &now, r->now_ns),
	                 0);
	close(hear(r, MSG_START));
}

static void
rig_done(struct rig *r)
{
	runs_done(&r->c);
	close(r->analyser);
	test_store_done(&r->store);
}

static void
pass(struct rig *r, int64_t ns)
{
	r->now_ns += ns;
	ck_assert_int_eq(runs_tick(&r->c, r->now_ns), 0);
}

static bool
is_silent(struct rig *r)
{
	union heard m;
	size_t none = 0;

	return msg_recv(r->analyser, &m, sizeof(m), NULL, &none) == -EAGAIN;
}

static void
say_done_of(struct rig *r, uint32_t attempt, uint32_t checkpoint,
            uint32_t error)
{
	struct msg_done m = {.type = MSG_DONE,
	                     .checkpoint = checkpoint,
	                     .error = error,
	                     .attempt = attempt,
	                     .quality = {.kept = 7}};
	int fd = memfd_create("summary", MFD_CLOEXEC);

	strcpy(m.id, r->id);
	ck_assert_int_gt(dprintf(fd, "{\"top\":[],\"unnamed\":[]}"), 0);
	ck_assert_int_eq(msg_send(r->analyser, &m, sizeof(m), &fd, 1), 0);
	close(fd);
	ck_assert_int_eq(runs_receive(&r->c), 0);
}

static void
say_done(struct rig *r, uint32_t checkpoint, uint32_t error)
{
	say_done_of(r, 1, checkpoint, error);
}

static void
expect(struct rig *r, const char *status, int64_t samples, const char *code)
{
	CLEANUP_SESSION struct session v = {0};

	ck_assert_int_eq(session_get(&r->store.s, TEST_TENANT, r->id, &v), 0);
	ck_assert_str_eq(v.status, status);
	ck_assert_int_eq(v.sample_count, samples);
	ck_assert_str_eq(v.error_code, code);
}

TEST(long_captures_are_saved_every_while)
{
	CLEANUP_RIG struct rig r;
	int fd;

	rig_init(&r, 60);
	pass(&r, CHECKPOINT_NS - 1);
	ck_assert(is_silent(&r));
	pass(&r, RENEW_NS);
	fd = hear(&r, MSG_CHECKPOINT);
	ck_assert_int_eq(write(fd, "part", 4), 4);
	close(fd);
	pass(&r, 2 * CHECKPOINT_NS); /* one checkpoint at a time */
	ck_assert(is_silent(&r));
	say_done(&r, 1, 0);
	expect(&r, SESSION_RUNNING, 7, "");
	pass(&r, CHECKPOINT_NS);
	close(hear(&r, MSG_CHECKPOINT));
	runs_lost(&r.c, "");
	expect(&r, SESSION_FAILED, 7, "WorkerDied");
	{
		CLEANUP_BUF struct buf text = BUF_INIT(100);
		struct blob b;

		ck_assert_int_eq(
			blob_of_session(&r.store.s, r.id, BLOB_PPROF, &b), 0);
		ck_assert_int_eq(blob_read(&r.store.s, &b, &text), 0);
		ck_assert_str_eq(buf_str(&text), "part");
	}
	ck_assert_int_eq(blob_sweep(&r.store.s, BYTES_FILE), 0); /* no rest */
}
END

/* A finisher outlives its attempt, and reports to the next attempt, whose files
 * are still empty. */
TEST(the_answer_of_an_earlier_attempt_is_not_taken_for_this_one_s)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 5);
	say_done_of(&r, 0, 0, 0);
	expect(&r, SESSION_RUNNING, 0, "");
	say_done_of(&r, 0, 0, CAPTURE_NO_MEMORY);
	expect(&r, SESSION_RUNNING, 0, "");
	ck_assert_uint_eq(r.c.n, 1);
	say_done(&r, 0, 0);
	expect(&r, SESSION_COMPLETED, 7, "");
}
END

TEST(short_captures_are_not)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, JOB_RERUN_SECONDS);
	pass(&r, 2 * CHECKPOINT_NS);
	ck_assert(is_silent(&r));
}
END

TEST(a_checkpoint_that_failed_leaves_the_capture_running)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 60);
	pass(&r, CHECKPOINT_NS);
	close(hear(&r, MSG_CHECKPOINT));
	say_done(&r, 1, CAPTURE_NO_MEMORY);
	expect(&r, SESSION_RUNNING, 0, "");
	say_done(&r, 0, 0);
	expect(&r, SESSION_COMPLETED, 7, "");
	ck_assert_uint_eq(r.c.n, 0);
}
END

TEST(progress_is_shown_and_bounded)
{
	static const struct {
		uint64_t elapsed, duration;
		double least, most;
	} rows[] = {
		{0, 5000, 0, 0},
		{2500, 5000, 0.4, 0.5},
		{9000, 5000, 0.9, 0.99},
		{UINT64_MAX, 0, 0.9, 0.99},
	};
	CLEANUP_RIG struct rig r;

	rig_init(&r, 5);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_SESSION struct session v = {0};
		struct msg_progress m = {.type = MSG_PROGRESS,
		                         .phase = WORKER_FINISHING,
		                         .elapsed_ms = rows[i].elapsed,
		                         .duration_ms = rows[i].duration};

		strcpy(m.id, r.id);
		ck_assert_int_eq(msg_send(r.analyser, &m, sizeof(m), NULL, 0),
		                 0);
		ck_assert_int_eq(runs_receive(&r.c), 0);
		pass(&r, RENEW_NS);
		ck_assert_int_eq(session_get(&r.store.s, TEST_TENANT, r.id, &v),
		                 0);
		ck_assert(v.progress >= rows[i].least &&
		          v.progress <= rows[i].most);
		ck_assert_str_eq(v.phase, "symbolizing");
	}
}
END

TEST(a_capture_that_was_given_up_is_stopped_and_stores_nothing)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 5);
	ck_assert_int_eq(job_take_over(&r.store.s, TEST_HOST), 1);
	pass(&r, RENEW_NS);
	ck_assert_int_eq(hear(&r, MSG_STOP), -1);
	ck_assert_uint_eq(r.c.n, 0);
	say_done(&r, 0, 0); /* too late */
	expect(&r, SESSION_RUNNING, 0, "");
	ck_assert_int_eq(blob_sweep(&r.store.s, BYTES_FILE), 0);
}
END

TEST(a_result_for_a_session_deleted_meanwhile_leaves_no_file)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 5);
	ck_assert_int_eq(service_delete(&r.store.s, TEST_TENANT, TEST_SERVICE),
	                 0);
	say_done(&r, 0, 0);
	ck_assert_uint_eq(r.c.n, 0);
	ck_assert_int_eq(blob_sweep(&r.store.s, BYTES_FILE), 0);
}
END

TEST(an_analyser_that_hangs_fails_the_capture)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 5);
	pass(&r, 5 * NS_PER_S + OVERDUE_NS);
	ck_assert_uint_eq(r.c.n, 1);
	pass(&r, RENEW_NS);
	ck_assert_uint_eq(r.c.n, 0);
	expect(&r, SESSION_FAILED, 0, "WorkerBusy");
}
END

TEST(leases_are_renewed_while_it_runs)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 60);
	db_skew_clock(r.store.s.db, TEST_LEASE_MS - 1000);
	pass(&r, RENEW_NS);
	db_skew_clock(r.store.s.db, TEST_LEASE_MS + 1000);
	ck_assert_int_eq(job_expire(&r.store.s, 0), 0);
}
END

TEST(a_store_that_fails_for_a_moment_costs_no_capture)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, 5);
	db_fail_after(r.store.s.db, 1);
	r.now_ns += RENEW_NS;
	ck_assert_int_eq(runs_tick(&r.c, r.now_ns), -EIO);
	pass(&r, RENEW_NS);
	say_done(&r, 0, 0);
	expect(&r, SESSION_COMPLETED, 7, "");
}
END

static void
note_other(void *arg, const struct fetch_answer *a, int *body)
{
	*(uint64_t *)arg = a->id;
	(void)body;
}

TEST(an_answer_that_no_capture_waits_for_is_passed_on)
{
	CLEANUP_RIG struct rig r;
	const struct fetch_answer a = {.type = MSG_FETCHED, .id = 99};
	uint64_t other = 0;
	int pair[2];

	rig_init(&r, 60);
	ck_assert_int_eq(msg_pair(pair), 0);
	r.c.fetcher = pair[1];
	r.c.other_fetched = note_other;
	r.c.other_arg = &other;
	ck_assert_int_eq(msg_send(pair[0], &a, sizeof(a), NULL, 0), 0);
	ck_assert_int_eq(runs_fetched(&r.c), 0);
	ck_assert_uint_eq(other, 99);
	close(pair[0]);
}
END

/* Gives the scheduler the page that it had asked the fetcher for. */
static void
give_page(struct rig *r, int fetcher)
{
	struct fetch_answer a = {.type = MSG_FETCHED, .status = 200};
	struct fetch_ask asked;
	int body = memfd_create("body", MFD_CLOEXEC);

	ck_assert_int_eq(msg_recv(fetcher, &asked, sizeof(asked), NULL, NULL),
	                 sizeof(asked));
	a.id = asked.id;
	ck_assert_int_eq(msg_send(fetcher, &a, sizeof(a), &body, 1), 0);
	close(body);
	ck_assert_int_eq(runs_fetched(&r->c), 0);
}

/* Returns the file into which a finisher is to write the profile. */
static int
hear_pull(struct rig *r)
{
	int fds[2];
	size_t nfds = ARRAY_LEN(fds);
	struct msg_pull m;

	ck_assert_int_eq(msg_recv(r->analyser, &m, sizeof(m), fds, &nfds),
	                 sizeof(m));
	ck_assert_uint_eq(m.type, MSG_PULL);
	ck_assert_uint_eq(nfds, ARRAY_LEN(fds));
	close(fds[1]);
	return fds[0];
}

/* Both sides of the limit for a profile made from a second page: a finisher
 * that was taken over can make its file longer than any disk. */
TEST(a_profile_of_a_second_page_is_as_long_as_a_profile_can_be)
{
	static const struct {
		int64_t bytes;
		const char *status, *code;
	} rows[] = {
		{BLOB_MAX_BYTES + 1, SESSION_FAILED, "StoreFailure"},
		{BLOB_MAX_BYTES << 20, SESSION_FAILED, "StoreFailure"},
		{4096, SESSION_COMPLETED, ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct service of = {
			.pprof_url = (char *)"http://127.0.0.1",
			.allow = (char *)"{}"};
		CLEANUP_RIG struct rig r;
		const struct conf conf = {.fetch_goroutines = 100};
		struct session_ask ask = test_ask();
		struct job j;
		int pair[2], fd;

		rig_init(&r, 60);
		ck_assert_int_eq(msg_pair(pair), 0);
		r.c.fetcher = pair[1];
		r.c.conf = &conf;
		ask.type = "goroutine";
		ck_assert_int_eq(job_enqueue(&r.store.s, &ask, TEST_HOST, r.id),
		                 0);
		test_claim(&r.store.s, &j);
		ck_assert_int_eq(runs_pull(&r.c, &j, &of, r.now_ns), 0);
		give_page(&r, pair[0]);
		close(hear_pull(&r));
		say_done(&r, 0, 0);
		give_page(&r, pair[0]);
		fd = hear_pull(&r);
		ck_assert_int_eq(ftruncate(fd, rows[i].bytes), 0);
		close(fd);
		say_done(&r, 0, 0);
		expect(&r, rows[i].status, *rows[i].code ? 0 : 7, rows[i].code);
		close(pair[0]);
	}
}
END

SUITE("runs");
