/*
 * The scheduler in a separate process, with a real store. The test plays the
 * opener and the analyser.
 */
#include "worker/scheduler/scheduler.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/snapshot.h"
#include "lib/programs.h"
#include "lib/store.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 10000

struct rig {
	struct test_store store;
	struct conf conf;
	pid_t scheduler;
	int ask, events, analyser; /* our ends */
	int blame;
	struct msg_start started; /* the last START */
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
service_of_this_test(struct store *s)
{
	struct service v = test_no_match(TEST_TENANT, "self");
	CLEANUP_FREE char *path = NULL;
	FILE *f;

	ck_assert_int_gt(asprintf(&path, "%s/pid", s->dir), 0);
	ck_assert_ptr_nonnull(f = fopen(path, "w"));
	fprintf(f, "%d\n", getpid());
	fclose(f);
	v.kind = "auto";
	v.match_kind = "pidFile";
	v.match_value = path;
	ck_assert_int_eq(service_add(s, &v), 0);
}

static void
start_scheduler(struct rig *r)
{
	int ask[2], events[2];

	ck_assert_int_eq(msg_pair(ask) | msg_pair(events), 0);
	r->scheduler = fork();
	ck_assert_int_ge(r->scheduler, 0);
	if (!r->scheduler) {
		struct worker_sockets io = {ask[1], events[1]};

		close(ask[0]);
		close(events[0]);
		_exit(scheduler_run(&r->conf, &io));
	}
	close(ask[1]);
	close(events[1]);
	r->ask = ask[0];
	r->events = events[0];
}

static void
start_analyser(struct rig *r)
{
	struct msg_analyser m = {MSG_ANALYSER, getpid(), 1};
	struct blame none = {.current = WORKER_MAX_CAPTURES};
	int pair[2], fds[2];

	ck_assert_int_eq(msg_pair(pair), 0);
	r->analyser = pair[0];
	r->blame = memfd_create("blame", MFD_CLOEXEC);
	ck_assert_int_eq(pwrite(r->blame, &none, sizeof(none), 0),
	                 sizeof(none));
	fds[0] = pair[1];
	fds[1] = r->blame;
	ck_assert_int_eq(msg_send(r->events, &m, sizeof(m), fds, 2), 0);
	close(pair[1]);
}

static struct rig
rig(const char *uids)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE char *text = NULL;
	struct rig r = {.store = test_store()};

	service_of_this_test(&r.store.s);
	ck_assert_int_gt(asprintf(&text,
	                          "[store]\ndir = %s\n"
	                          "[worker]\nhost = " TEST_HOST "\n"
	                          "[scope." TEST_TENANT "]\nuids = %s\n",
	                          r.store.dir, uids),
	                 0);
	ck_assert_msg(!conf_parse("test", text, &r.conf, &why), "%s",
	              buf_str(&why));
	start_scheduler(&r);
	start_analyser(&r);
	return r;
}

static void
kill_scheduler(struct rig *r, int signal, int expected)
{
	int status;

	kill(r->scheduler, signal);
	ck_assert_int_eq(waitpid(r->scheduler, &status, 0), r->scheduler);
	r->scheduler = 0;
	close(r->ask);
	close(r->events);
	ck_assert_int_eq(status, expected);
}

static void
rig_done(struct rig *r)
{
	if (r->scheduler)
		kill_scheduler(r, SIGKILL, SIGKILL);
	close(r->analyser);
	close(r->blame);
	conf_done(&r->conf);
	test_store_done(&r->store);
}

/* --- what the analyser hears and says ------------------------------------- */

union heard {
	uint32_t type;
	struct msg_start start;
	struct msg_capture capture;
};

/* Answers what the opener is asked. It has nothing but the names of programs
 * and, if a pid file is to be read, this process. */
static void
answer(struct rig *r)
{
	CLEANUP_BUF struct buf rows =
		BUF_INIT(HOST_MAX_PROGRAMS * HOST_PROGRAM_BYTES);
	struct host_reply reply = {.error = -ESRCH};
	CLEANUP_FD int proc_fd = -1, fd = -1;
	struct host_ask ask;
	size_t none = 0;

	ck_assert_int_eq(msg_recv(r->ask, &ask, sizeof(ask), NULL, &none),
	                 sizeof(ask));
	if (ask.op == HOST_PROGRAMS) {
		reply.error = 0;
		proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		test_programs(proc_fd, "/usr/bin/any", ask.list, ask.count,
		              &rows);
		fd = memfd_create("rows", MFD_CLOEXEC);
		ck_assert_int_eq(fd_write_all(fd, rows.p, rows.len), 0);
		lseek(fd, 0, SEEK_SET);
	} else if (ask.op == HOST_PID_FILE) {
		reply.error = 0;
		reply.value = (uint32_t)getpid();
	}
	ck_assert_int_eq(msg_send(r->ask, &reply, sizeof(reply), &fd, fd >= 0),
	                 0);
}

/* Takes the next message to the analyser; returns its descriptor, or -1. Closes
 * the file of a timeline. A capture that takes long on a busy machine is asked
 * for checkpoints, too. */
static int
hear(struct rig *r, uint32_t type, union heard *out)
{
	int64_t end = clock_mono_ns() + WAIT_MS * NS_PER_MS;
	int fds[] = {-1, -1};
	size_t nfds = ARRAY_LEN(fds);

	for (;;) {
		struct pollfd p[] = {{r->analyser, POLLIN, 0},
		                     {r->ask, POLLIN, 0}};
		int64_t left = (end - clock_mono_ns()) / NS_PER_MS;

		ck_assert_int_gt(poll(p, 2, left > 0 ? (int)left : 0), 0);
		if (p[1].revents)
			answer(r);
		if (p[0].revents)
			break;
	}
	ck_assert_int_gt(msg_recv(r->analyser, out, sizeof(*out), fds, &nfds),
	                 0);
	close_ptr(&fds[1]);
	if (out->type == MSG_CHECKPOINT && type != MSG_CHECKPOINT) {
		close_ptr(&fds[0]);
		return hear(r, type, out);
	}
	ck_assert_uint_eq(out->type, type);
	if (type == MSG_START)
		r->started = out->start;
	return fds[0];
}

static void
say_done(struct rig *r, const char *id, const char *top, uint32_t error)
{
	struct msg_done m = {
		.type = MSG_DONE,
		.error = error,
		.attempt = strcmp(r->started.id, id) ? 1 : r->started.attempt,
		.quality = {.kept = 500,
	                    .duration_ms = 5000,
	                    .achieved_rate = 99000}};
	int fd = memfd_create("summary", MFD_CLOEXEC);

	snprintf(m.id, sizeof(m.id), "%s", id);
	ck_assert_int_gt(dprintf(fd, "{\"top\":%s,\"unnamed\":[]}", top), 0);
	ck_assert_int_eq(msg_send(r->analyser, &m, sizeof(m), &fd, !error), 0);
	close(fd);
}

/* --- what clients do ------------------------------------------------------ */

static void
ask_for(struct rig *r, const char *service, const char *type, int64_t seconds,
        char id[static ID_MAX])
{
	struct session_ask ask = test_ask();

	ask.service = service;
	ask.type = type;
	ask.seconds = seconds;
	ck_assert_int_eq(job_enqueue(&r->store.s, &ask, TEST_HOST, id), 0);
}

/* Waits for the end of a session; its error code goes to out. */
static void
wait_for_end(struct rig *r, const char *id, char out[static 64])
{
	int64_t end = clock_mono_ns() + WAIT_MS * NS_PER_MS;

	while (clock_mono_ns() < end) {
		CLEANUP_SESSION struct session v = {0};
		struct pollfd p = {r->ask, POLLIN, 0};

		ck_assert_int_eq(session_get(&r->store.s, TEST_TENANT, id, &v),
		                 0);
		snprintf(out, 64, "%s", v.error_code);
		if (v.completed_ms)
			return;
		if (poll(&p, 1, 5) > 0)
			answer(r);
	}
	ck_abort_msg("%s does not end", id);
}

TEST(a_job_becomes_a_capture_and_its_profile_is_stored)
{
	CLEANUP_RIG struct rig r = rig("*");
	CLEANUP_SESSION struct session v = {0};
	CLEANUP_BUF struct buf text = BUF_INIT(100);
	char id[ID_MAX], code[64];
	union heard m;
	struct blob b;
	int fd;

	ask_for(&r, "self", "cpu", 5, id);
	fd = hear(&r, MSG_START, &m);
	ck_assert_str_eq(m.start.id, id);
	ck_assert_uint_eq(m.start.ways, ways_outside("auto", "cpu"));
	ck_assert_uint_eq(m.start.rate, 100);
	ck_assert_uint_eq(m.start.duration_ms, 5000);
	ck_assert_uint_eq(m.start.npids, 2); /* with its child */
	ck_assert_int_eq(m.start.pids[0], getpid());
	ck_assert_int_eq(m.start.pids[1], r.scheduler);
	ck_assert_int_eq(write(fd, "profile", 7), 7);
	close(fd);
	say_done(&r, id, "[{\"funcName\":\"main\"}]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "");
	ck_assert_int_eq(session_get(&r.store.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.status, SESSION_COMPLETED);
	ck_assert_int_eq(v.sample_count, 500);
	ck_assert(v.rate == 99.0);
	ck_assert_str_eq(v.top_functions, "[{\"funcName\":\"main\"}]");
	ck_assert_ptr_nonnull(strstr(v.quality, "\"samplesKept\":500"));
	ck_assert_int_eq(blob_of_session(&r.store.s, id, BLOB_PPROF, &b), 0);
	ck_assert_int_eq(blob_read(&r.store.s, &b, &text), 0);
	ck_assert_str_eq(buf_str(&text), "profile");
}
END

static bool
has(const struct msg_start *m, int32_t pid)
{
	for (uint32_t i = 0; i < m->npids; i++)
		if (m->pids[i] == pid)
			return true;
	return false;
}

/* Waits for the order to become another user, then for the order to end.
 */
static pid_t
start_child(int orders[static 2])
{
	pid_t pid;

	ck_assert_int_eq(pipe(orders), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		char order;

		close(orders[1]);
		if (read(orders[0], &order, 1) == 1 && !setuid(65534) &&
		    read(orders[0], &order, 1) >= 0)
			_exit(0);
		_exit(1);
	}
	close(orders[0]);
	return pid;
}

TEST(a_child_that_starts_meanwhile_is_followed_and_left_when_out_of_scope)
{
	CLEANUP_RIG struct rig r = rig("0");
	CLEANUP_SESSION struct session v = {0};
	char id[ID_MAX], code[64], *left;
	int orders[2], status;
	union heard m;
	pid_t child;

	if (getuid())
		SKIP("only root can become another user");
	ask_for(&r, "self", "cpu", 60, id);
	close(hear(&r, MSG_START, &m));
	child = start_child(orders);
	hear(&r, MSG_FOLLOW, &m);
	ck_assert_str_eq(m.start.id, id);
	ck_assert(has(&m.start, child) && has(&m.start, getpid()));
	ck_assert_int_eq(write(orders[1], "u", 1), 1);
	hear(&r, MSG_FOLLOW, &m);
	ck_assert(!has(&m.start, child));
	hear(&r, MSG_LEAVE, &m);
	ck_assert_str_eq(m.start.id, id);
	ck_assert(m.start.npids == 1 && m.start.pids[0] == child);
	close(orders[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_int_eq(session_get(&r.store.s, TEST_TENANT, id, &v), 0);
	left = strstr(v.quality, "\"descendantsOutOfScope\":1");
	ck_assert_msg(left != NULL, "%s", v.quality);
}
END

TEST(a_goroutine_job_becomes_a_snapshot)
{
	CLEANUP_RIG struct rig r = rig("*");
	char id[ID_MAX], code[64];
	union heard m;

	ask_for(&r, "self", "goroutine", 5, id);
	close(hear(&r, MSG_START, &m));
	ck_assert_str_eq(m.start.id, id);
	ck_assert_uint_eq(m.start.ways, ways_outside("auto", "goroutine"));
	ck_assert_int_eq(m.start.pids[0], getpid());
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "");
}
END

/* service, type, error of the session */
static const struct {
	const char *service, *type, *code;
} refused[] = {
	{"self", "heat", "ProfileTypeUnsupported"},
	{TEST_SERVICE, "cpu", "ServiceNotRunning"},
};

TEST(a_job_that_no_capture_can_do_fails_with_the_reason)
{
	CLEANUP_RIG struct rig r = rig("*");

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		char id[ID_MAX], code[64];

		ask_for(&r, refused[i].service, refused[i].type, 5, id);
		wait_for_end(&r, id, code);
		ck_assert_str_eq(code, refused[i].code);
	}
}
END

/* Rows of jobs may have been written by somebody else: are their time and rate
 * used for a capture? */
static const struct {
	int64_t seconds, rate;
	bool starts;
} bounds[] = {
	{0, 100, false}, {1, 100, true}, {3600, 100, true}, {3601, 100, false},
	{5, 0, false},   {5, 1, true},   {5, 10000, true},  {5, 10001, false},
};

TEST(no_job_captures_for_longer_or_more_often_than_it_may)
{
	CLEANUP_RIG struct rig r = rig("*");

	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		struct session_ask ask = test_ask();
		char id[ID_MAX], code[64];
		union heard m;

		ask.service = "self";
		ask.seconds = bounds[i].seconds;
		ask.rate = bounds[i].rate;
		ck_assert_int_eq(job_enqueue(&r.store.s, &ask, TEST_HOST, id),
		                 0);
		if (bounds[i].starts) {
			close(hear(&r, MSG_START, &m));
			ck_assert_uint_eq(m.start.rate, bounds[i].rate);
			ck_assert_uint_eq(m.start.duration_ms,
			                  1000 * bounds[i].seconds);
			say_done(&r, id, "[]", 0);
		}
		wait_for_end(&r, id, code);
		ck_assert_msg(!strcmp(code, bounds[i].starts
		                                    ? ""
		                                    : "InvalidParameter"),
		              "row %zu: %s", i, code);
	}
}
END

TEST(processes_are_published_for_the_api)
{
	CLEANUP_RIG struct rig r = rig("*");
	CLEANUP_PROCESSES struct process_list l = {0};
	char id[ID_MAX];
	union heard m;

	ask_for(&r, "self", "cpu", 5, id);
	close(hear(&r, MSG_START, &m));
	ck_assert_int_eq(process_list(&r.store.s, TEST_TENANT, "self", &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].pid, getpid());
	ck_assert_int_eq(l.items[0].ordinal, 0);
	ck_assert_ptr_nonnull(strstr(l.items[0].argv0, "scheduler"));
}
END

TEST(cancelling_stops_a_capture_and_keeps_what_there_is)
{
	CLEANUP_RIG struct rig r = rig("*");
	char id[ID_MAX], code[64];
	union heard m;
	struct blob b;

	ask_for(&r, "self", "cpu", 60, id);
	close(hear(&r, MSG_START, &m));
	ck_assert_int_eq(job_cancel(&r.store.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(hear(&r, MSG_STOP, &m), -1);
	ck_assert_str_eq(m.capture.id, id);
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "Cancelled");
	ck_assert_int_eq(blob_of_session(&r.store.s, id, BLOB_PPROF, &b), 0);
}
END

TEST(a_capture_that_a_client_completes_is_stored_as_any_other)
{
	CLEANUP_RIG struct rig r = rig("*");
	char id[ID_MAX], code[64];
	union heard m;

	ask_for(&r, "self", "cpu", 60, id);
	close(hear(&r, MSG_START, &m));
	ck_assert_int_eq(job_complete(&r.store.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(hear(&r, MSG_STOP, &m), -1);
	ck_assert_str_eq(m.capture.id, id);
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "");
}
END

static const struct {
	const char *top;
	uint32_t error;
	const char *code;
} bad_ends[] = {
	{"", CAPTURE_PERF_PARANOID, "PermissionDenied"},
	{"", CAPTURE_NO_PROCESS, "ServiceNotRunning"},
	{"", 4000000000u, "CaptureFailed"},
	{"not JSON", 0, "CaptureFailed"},
	{"{}", 0, "CaptureFailed"},
};

TEST(an_end_that_is_bad_or_makes_no_sense_fails_the_capture)
{
	CLEANUP_RIG struct rig r = rig("*");

	for (size_t i = 0; i < ARRAY_LEN(bad_ends); i++) {
		char id[ID_MAX], code[64];
		union heard m;

		ask_for(&r, "self", "cpu", 5, id);
		close(hear(&r, MSG_START, &m));
		say_done(&r, id, bad_ends[i].top, bad_ends[i].error);
		wait_for_end(&r, id, code);
		ck_assert_str_eq(code, bad_ends[i].code);
	}
}
END

TEST(messages_that_make_no_sense_are_passed_over)
{
	CLEANUP_RIG struct rig r = rig("*");
	struct msg_progress progress = {.type = MSG_PROGRESS};
	char id[ID_MAX], code[64];
	union heard m;

	ask_for(&r, "self", "cpu", 5, id);
	close(hear(&r, MSG_START, &m));
	memset(progress.id, 'x', sizeof(progress.id)); /* never ends */
	ck_assert_int_eq(
		msg_send(r.analyser, &progress, sizeof(progress), NULL, 0), 0);
	ck_assert_int_eq(msg_send(r.analyser, "?", 1, NULL, 0), 0);
	say_done(&r, "sess-unknown", "[]", 0);
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "");
}
END

TEST(a_dead_analyser_fails_the_capture_it_worked_on_and_no_other)
{
	CLEANUP_RIG struct rig r = rig("*");
	char guilty[ID_MAX], other[ID_MAX], code[64];
	struct blame b = {.current = 3};
	union heard m;

	ask_for(&r, "self", "cpu", 5, guilty);
	close(hear(&r, MSG_START, &m));
	{
		struct session_ask ask = test_ask();

		ask.service = "self";
		ask.origin = "samply"; /* may run beside others */
		ck_assert_int_eq(
			job_enqueue(&r.store.s, &ask, TEST_HOST, other), 0);
	}
	close(hear(&r, MSG_START, &m));
	memcpy(b.ids[3], guilty, ID_MAX);
	ck_assert_int_eq(pwrite(r.blame, &b, sizeof(b), 0), sizeof(b));
	close(r.analyser);
	close(r.blame);
	wait_for_end(&r, guilty, code);
	ck_assert_str_eq(code, "CaptureFailed");
	start_analyser(&r); /* the next analyser gets the other one again */
	close(hear(&r, MSG_START, &m));
	ck_assert_str_eq(m.start.id, other);
	say_done(&r, other, "[]", 0);
	wait_for_end(&r, other, code);
	ck_assert_str_eq(code, "");
}
END

TEST(a_killed_scheduler_is_followed_by_one_that_runs_its_job_again)
{
	CLEANUP_RIG struct rig r = rig("*");
	char id[ID_MAX], code[64];
	union heard m;

	ask_for(&r, "self", "cpu", 5, id);
	close(hear(&r, MSG_START, &m));
	kill_scheduler(&r, SIGKILL, SIGKILL);
	close(r.analyser);
	close(r.blame);
	start_scheduler(&r);
	start_analyser(&r);
	close(hear(&r, MSG_START, &m));
	ck_assert_str_eq(m.start.id, id);
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "");
}
END

TEST(a_told_scheduler_gives_short_captures_back_and_is_gone)
{
	CLEANUP_RIG struct rig r = rig("*");
	CLEANUP_SESSION struct session v = {0};
	char *none = NULL, id[ID_MAX];
	union heard m;

	ask_for(&r, "self", "cpu", JOB_RERUN_SECONDS, id);
	close(hear(&r, MSG_START, &m));
	kill_scheduler(&r, SIGTERM, 0);
	ck_assert_int_eq(session_get(&r.store.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.phase, "queued");
	ck_assert_int_eq(
		worker_for(&r.store.s, TEST_TENANT, TEST_SERVICE, "", &none),
		-EHOSTDOWN);
}
END

TEST(a_told_scheduler_ends_long_captures_with_what_there_is)
{
	CLEANUP_RIG struct rig r = rig("*");
	CLEANUP_SESSION struct session v = {0};
	char id[ID_MAX];
	union heard m;

	ask_for(&r, "self", "cpu", JOB_RERUN_SECONDS + 1, id);
	close(hear(&r, MSG_START, &m));
	kill(r.scheduler, SIGTERM);
	ck_assert_int_eq(hear(&r, MSG_STOP, &m), -1);
	say_done(&r, id, "[]", 0);
	kill_scheduler(&r, 0, 0);
	ck_assert_int_eq(session_get(&r.store.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.status, SESSION_COMPLETED);
}
END

/* Gives the scheduler a fetcher, and returns our end of its socket. */
static int
give_fetcher(struct rig *r)
{
	const struct msg_fetcher m = {.type = MSG_FETCHER};
	int pair[2];

	ck_assert_int_eq(msg_pair(pair), 0);
	ck_assert_int_eq(msg_send(r->events, &m, sizeof(m), &pair[1], 1), 0);
	close(pair[1]);
	return pair[0];
}

TEST(a_new_fetcher_takes_the_place_of_the_old_one_and_captures_go_on)
{
	CLEANUP_RIG struct rig r = rig("*");
	CLEANUP_FD int old = give_fetcher(&r);
	CLEANUP_FD int new = give_fetcher(&r);
	struct pollfd gone = {old, 0, 0}, kept = {new, 0, 0};
	char id[ID_MAX], code[64];
	union heard m;

	ask_for(&r, "self", "cpu", 5, id);
	close(hear(&r, MSG_START, &m));
	ck_assert_int_eq(poll(&gone, 1, WAIT_MS), 1);
	ck_assert_int_eq(poll(&kept, 1, 0), 0);
	say_done(&r, id, "[]", 0);
	wait_for_end(&r, id, code);
	ck_assert_str_eq(code, "");
}
END

TEST(a_second_worker_of_a_host_is_refused)
{
	CLEANUP_RIG struct rig r = rig("*");
	struct rig second = r;
	char id[ID_MAX];
	union heard m;

	ask_for(&r, "self", "cpu", 5, id);
	close(hear(&r, MSG_START, &m)); /* the first one is running */
	start_scheduler(&second);
	kill_scheduler(&second, 0, 1 << 8);
}
END

SUITE("scheduler");
