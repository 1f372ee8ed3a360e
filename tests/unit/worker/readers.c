/* The questions that the opener's readers refuse after one was held up. */
#include "worker/opener/opener.h"

#include "base/clock.h"
#include "lib/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Lets the opener have a reader that this process has held up. */
static void
hold(struct opener *o, pid_t pid, uint64_t start_time)
{
	o->self = getpid();
	o->readers.held[3] = (struct reader_held){
		.of = {.pid = pid, .start_time = start_time},
		.until_ns = clock_mono_ns() + 600 * NS_PER_S,
	};
}

/* Asks for something of the process that no reader answers; then the reader
 * ends. */
static int
ask_about(struct opener *o, pid_t pid)
{
	const struct host_ask ask = {.op = HOST_OPS, .pid = pid};
	int rc = readers_ask(o, 7, &ask, -1);

	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++)
		if (o->readers.rows[i].pid) {
			close(o->readers.rows[i].socket);
			waitpid(o->readers.rows[i].pid, NULL, 0);
		}
	return rc;
}

static const struct {
	uint64_t later; /* start of the held process minus this one's */
	int32_t number; /* its pid minus this one's */
	int rc;
} held[] = {
	{0, 0, -ETIMEDOUT},
	{1, 0, 0}, /* it has ended, and another process has its number */
	{0, 1, 0},
};

TEST(a_process_that_made_one_wait_is_held_and_not_the_next_of_its_number)
{
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		struct opener *o = calloc(1, sizeof(*o));

		ck_assert_ptr_nonnull(o);
		hold(o, getpid() + held[i].number,
		     proc_start_time(getpid()) + held[i].later);
		ck_assert_msg(ask_about(o, getpid()) == held[i].rc, "row %zu",
		              i);
		free(o);
	}
}
END

/* Makes a reader that works for a process late, so that it is given up. */
static void
be_late(struct opener *o, pid_t target, bool stopped)
{
	struct reader *row = &o->readers.rows[0];
	int pair[2];
	pid_t pid = fork();

	if (!pid && stopped)
		raise(SIGSTOP);
	if (!pid)
		pause();
	if (stopped)
		ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	ck_assert_int_eq(msg_pair(pair), 0);
	*row = (struct reader){
		.pid = pid,
		.socket = pair[0],
		.client = -1,
		.busy = true,
		.op = HOST_FILE,
		.since_ns = clock_mono_ns() - READERS_SLOW_S * NS_PER_S,
		.of = {.pid = target},
	};
	(void)readers_expire(o);
	ck_assert(!row->busy);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	readers_child_ended(&o->readers, pid);
	close(pair[1]);
}

TEST(a_process_is_left_alone_for_longer_each_time_up_to_an_hour)
{
	static const int want[] = {60, 120, 240, 480, 960, 1920, 3600, 3600};
	struct opener *o = calloc(1, sizeof(*o));
	const struct reader_held *h;

	ck_assert_ptr_nonnull(o);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		int64_t before = clock_mono_ns();

		be_late(o, getpid(), false);
		h = &o->readers.held[0];
		ck_assert_int_eq(h->seconds, want[i]);
		ck_assert_int_ge(h->until_ns, before + want[i] * NS_PER_S);
	}
	ck_assert_int_eq(o->readers.held[1].seconds, 0);
	/* it has answered in time for an hour */
	o->readers.held[0].until_ns = clock_mono_ns() - 3600 * NS_PER_S;
	be_late(o, getpid(), false);
	ck_assert_int_eq(o->readers.held[0].seconds, 60);
	free(o);
}
END

TEST(a_process_is_read_although_an_earlier_one_with_its_pid_was_slow)
{
	struct opener *o = calloc(1, sizeof(*o));

	ck_assert_ptr_nonnull(o);
	hold(o, getpid(), proc_start_time(getpid()) - 1);
	o->readers.held[3].seconds = 1920;
	be_late(o, getpid(), false);
	ck_assert_int_eq(o->readers.held[0].seconds, 60);
	ck_assert_int_eq(o->readers.held[3].seconds, 1920);
	free(o);
}
END

TEST(a_process_is_not_left_alone_since_its_reader_was_stopped)
{
	struct opener *o = calloc(1, sizeof(*o));

	ck_assert_ptr_nonnull(o);
	be_late(o, getpid(), true);
	ck_assert_int_eq(o->readers.held[0].seconds, 0);
	free(o);
}
END

static pid_t
start_idle(uid_t user)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!user || !setresuid(user, user, user))
			raise(SIGSTOP);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void
end_idle(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(many_processes_of_one_user_that_made_readers_wait_hold_all_of_that_user)
{
	struct opener *o = calloc(1, sizeof(*o));
	pid_t pids[READERS_GROUP + 1], other = 0;
	const struct reader_held *h;
	int64_t until;

	ck_assert_ptr_nonnull(o);
	o->self = getpid();
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		pids[i] = start_idle(0);
	for (size_t i = 0; i < READERS_GROUP; i++) {
		ck_assert_int_eq(ask_about(o, pids[READERS_GROUP]), 0);
		memset(o->readers.rows, 0, sizeof(o->readers.rows));
		be_late(o, pids[i], false);
	}
	ck_assert_int_eq(ask_about(o, pids[READERS_GROUP]), -ETIMEDOUT);
	h = &o->readers.held[READERS_GROUP];
	ck_assert_int_eq(h->seconds, READERS_HELD_S);
	if (!geteuid()) {
		other = start_idle(65534);
		ck_assert_int_eq(ask_about(o, other), 0);
		memset(o->readers.rows, 0, sizeof(o->readers.rows));
		end_idle(other);
	}
	/* the next processes of that user hold it for longer */
	for (size_t i = 0; i < READERS_HELD; i++)
		o->readers.held[i].until_ns = clock_mono_ns() - 1;
	until = clock_mono_ns() + 2 * READERS_HELD_S * NS_PER_S;
	for (size_t i = 0; i < READERS_GROUP; i++)
		be_late(o, pids[i], false);
	ck_assert_int_eq(h->seconds, 2 * READERS_HELD_S);
	ck_assert_int_ge(h->until_ns, until);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		end_idle(pids[i]);
	free(o);
}
END

/* Asks the opener for the programs of processes. Returns the number that the
 * reader is asked for. */
static uint32_t
asked_for(struct opener *o, const int32_t *pids, uint32_t n)
{
	struct host_ask ask = {.op = HOST_PROGRAMS, .count = n}, got;
	struct reader *row = &o->readers.rows[0];
	int pair[2];

	memcpy(ask.list, pids, n * sizeof(*pids));
	ck_assert_int_eq(msg_pair(pair), 0);
	*row = (struct reader){.pid = 1, .socket = pair[0], .client = -1};
	ck_assert_int_eq(readers_ask(o, 7, &ask, -1), 0);
	ck_assert_int_ge(recv(pair[1], &got, sizeof(got), 0),
	                 (ssize_t)sizeof(got));
	close(pair[0]);
	close(pair[1]);
	*row = (struct reader){.pid = 0};
	return got.count;
}

TEST(held_processes_are_left_out_of_a_list)
{
	struct opener *o = calloc(1, sizeof(*o));
	const int32_t pids[] = {getppid(), getpid()};

	ck_assert_ptr_nonnull(o);
	ck_assert_uint_eq(asked_for(o, pids, 2), 2);
	hold(o, getpid(), proc_start_time(getpid()));
	ck_assert_uint_eq(asked_for(o, pids, 2), 1);
	ck_assert_uint_eq(asked_for(o, &pids[1], 1), 0);
	free(o);
}
END

TEST(a_list_that_is_not_read_in_time_holds_no_process)
{
	struct opener *o = calloc(1, sizeof(*o));

	ck_assert_ptr_nonnull(o);
	be_late(o, 0, false);
	for (size_t i = 0; i < READERS_HELD; i++)
		ck_assert_int_eq(o->readers.held[i].seconds, 0);
	free(o);
}
END

/* Questions with which a target, or the kernel, could hold up the opener. */
static const enum host_op slow[] = {HOST_SHARED,   HOST_MAPS,  HOST_FILE,
                                    HOST_PROGRAMS, HOST_TITLE, HOST_STACKS,
                                    HOST_FILTER,   HOST_WAITS, HOST_ALLOCS};

static int
pass_on(struct opener *o, int client, const struct host_ask *ask, int in)
{
	(void)o;
	(void)client;
	(void)ask;
	(void)in;
	return 0;
}

TEST(a_question_that_may_take_long_is_never_answered_by_the_opener_itself)
{
	struct opener *o = calloc(1, sizeof(*o));
	struct answer out;

	ck_assert_ptr_nonnull(o);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		const struct host_ask ask = {.op = slow[i],
		                             .pid = getpid(),
		                             .count = 2,
		                             .list = {getpid(), getppid()}};

		ck_assert_msg(
			!opener_answer(o, &ask, o->ask, -1, pass_on, &out),
			"%s", opener_name(slow[i]));
	}
	free(o);
}
END

TEST(a_loader_is_given_up_as_late_but_no_process_is_left_alone_for_it)
{
	struct opener *o = calloc(1, sizeof(*o));
	struct reader *row;
	pid_t pid = fork();

	if (!pid)
		pause();
	ck_assert_ptr_nonnull(o);
	row = &o->readers.rows[0];
	*row = (struct reader){
		.pid = pid,
		.socket = eventfd(0, EFD_CLOEXEC),
		.client = -1,
		.busy = true,
		.op = HOST_WAITS,
		.since_ns = clock_mono_ns() - (READERS_SLOW_S - 20) * NS_PER_S,
	};
	(void)readers_expire(o); /* the kernel takes its time */
	ck_assert(row->busy);
	row->since_ns -= 20 * NS_PER_S;
	(void)readers_expire(o);
	ck_assert(!row->busy);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(o->readers.held[0].seconds, 0);
	free(o);
}
END

SUITE("readers");
