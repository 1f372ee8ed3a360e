/* The watcher of probes: the messages it receives, when it ends, and how long
 * it spares a process whose probes cost too much. */
#include "capture/host/probe_watch.h"

#include "base/clock.h"
#include "base/msg.h"
#include "capture/inuse.h"
#include "lib/test.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A watcher that looks once at each process, and notes which one it forgot. */
struct seen {
	struct probe_watch watch;
	int32_t forgotten; /* the last one */
	unsigned looks, forgets;
};

static void
look(void *arg, uint32_t slot)
{
	struct seen *s = arg;

	ck_assert_int_ge(s->watch.targets[slot].file, 0);
	s->watch.targets[slot].next_ns = INT64_MAX;
	s->looks++;
}

static void
forget(void *arg, uint32_t slot)
{
	struct seen *s = arg;

	s->forgotten = s->watch.targets[slot].of.pid;
	s->forgets++;
	probe_forget(&s->watch, &s->watch.targets[slot]);
}

static bool
is_spare(void *arg, uint32_t slot)
{
	(void)arg;
	return slot == 3;
}

static void
say_of(int socket, uint32_t group, int32_t pid, uint32_t n)
{
	static const struct allocs_of none;
	CLEANUP_FD int file = memfd_create("file", MFD_CLOEXEC);
	struct allocs_of m = none;

	m.pid = pid;
	m.n = n;
	m.group = group;
	ck_assert_int_eq(msg_send(socket, &m,
	                          n <= ALLOCS_MAX_PLACES ? allocs_of_bytes(n)
	                                                 : sizeof(m),
	                          &file, n > 0),
	                 0);
}

/* Sends a message whose last place is missing. */
static void
say_part(int socket, int32_t pid)
{
	CLEANUP_FD int file = memfd_create("file", MFD_CLOEXEC);
	const struct allocs_of m = {.pid = pid, .n = 2};

	ck_assert_int_eq(msg_send(socket, &m, allocs_of_bytes(1), &file, 1), 0);
}

static void
say(int socket, int32_t pid, uint32_t n)
{
	say_of(socket, 0, pid, n);
}

/* Runs the watcher until the child that sends its messages has ended. */
static void
watch(struct seen *s, void (*tell)(int socket),
      bool (*spare)(void *arg, uint32_t slot))
{
	const struct probe_watcher by = {
		.look = look, .forget = forget, .is_spare = spare, .arg = s};
	int pair[2], hold[2];
	pid_t teller;

	ck_assert_int_eq(msg_pair(pair) | pipe(hold), 0);
	teller = fork();
	if (!teller) {
		close(pair[1]);
		tell(pair[0]);
		_exit(0);
	}
	close(pair[0]);
	probe_watch_run(&s->watch, &by, pair[1], hold[0]);
	ck_assert_int_eq(waitpid(teller, NULL, 0), teller);
	close(pair[1]);
	close(hold[0]);
	close(hold[1]);
}

static struct seen *
seen_new(void)
{
	struct seen *s = calloc(1, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	s->watch.calls_fd = s->watch.locks_fd = s->watch.own_link = -1;
	return s;
}

static void
tell_two(int socket)
{
	say(socket, 7, 1);
	say(socket, 8, 1);
	say(socket, 0, 1); /* these messages make no sense */
	say(socket, 9, ALLOCS_MAX_PLACES + 1);
	say_part(socket, 9);
	ck_assert_int_eq(msg_send(socket, "?", 1, NULL, 0), 0);
	say(socket, 7, 0);
	say(socket, 10, 0); /* nobody knows it */
}

TEST(processes_are_watched_and_left_as_told_until_the_teller_is_gone)
{
	CLEANUP_FREE struct seen *s = seen_new();

	watch(s, tell_two, NULL);
	ck_assert_int_eq(s->watch.targets[0].of.pid, 0);
	ck_assert_int_eq(s->watch.targets[1].of.pid, 8);
	ck_assert_int_eq(s->watch.targets[2].of.pid, 0);
	ck_assert_int_eq(s->forgotten, 7);
	ck_assert_uint_eq(s->forgets, 1);
}
END

/* Messages, and whether they can be followed. The first place may be of another
 * kind than the others. */
static const struct {
	uint32_t n, group;
	int32_t pid;
	bool first_static, others_static, followed;
} messages[] = {
	{1, 0, 1, false, false, true},
	{1, 0, -1, false, false, false},
	{ALLOCS_MAX_PLACES, 0, 2, false, false, true},
	{1, ALLOCS_GROUPS - 1, 3, false, false, true},
	{1, ALLOCS_GROUPS, 4, false, false, false},
	{ALLOCS_MOST_STATIC, 0, 5, true, true, true},
	{ALLOCS_MOST_STATIC + 1, 0, 6, true, true, false},
	{2, 0, 7, true, false, false},
	{2, 0, 8, false, true, false},
};

static void
tell_messages(int socket)
{
	for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
		CLEANUP_FD int file = memfd_create("file", MFD_CLOEXEC);
		struct allocs_of m = {.pid = messages[i].pid,
		                      .n = messages[i].n,
		                      .group = messages[i].group};

		for (uint32_t k = 0; k < m.n; k++)
			m.places[k].is_static = k ? messages[i].others_static
			                          : messages[i].first_static;
		ck_assert_int_eq(
			msg_send(socket, &m, allocs_of_bytes(m.n), &file, 1),
			0);
	}
}

TEST(a_process_is_watched_at_as_many_places_as_there_may_be_of_one_kind)
{
	CLEANUP_FREE struct seen *s = seen_new();
	uint32_t n = 0;

	watch(s, tell_messages, NULL);
	for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
		if (!messages[i].followed)
			continue;
		ck_assert_int_eq(s->watch.targets[n].of.pid, messages[i].pid);
		n++;
	}
	ck_assert_int_eq(s->watch.targets[n].of.pid, 0);
}
END

static void
tell_many(int socket)
{
	for (int32_t pid = 1; pid <= EMIT_SLOTS + 1; pid++)
		say(socket, pid, 1);
}

TEST(a_process_that_ended_makes_room_for_another_one)
{
	CLEANUP_FREE struct seen *s = seen_new();

	watch(s, tell_many, is_spare);
	ck_assert_int_eq(s->forgotten, 4);
	ck_assert_int_eq(s->watch.targets[3].of.pid, EMIT_SLOTS + 1);
	ck_assert_int_eq(s->watch.targets[EMIT_SLOTS - 1].of.pid, EMIT_SLOTS);
}
END

TEST(no_process_makes_room_that_still_runs)
{
	CLEANUP_FREE struct seen *s = seen_new();

	watch(s, tell_many, NULL);
	ck_assert_uint_eq(s->forgets, 0);
	ck_assert_int_eq(s->watch.targets[3].of.pid, 4);
}
END

static void
tell_many_and_two_of_another_group(int socket)
{
	for (int32_t pid = 1; pid <= EMIT_SLOTS; pid++)
		say(socket, pid, 1);
	say_of(socket, 1, 1001, 1);
	say_of(socket, 1, 1002, 1);
}

TEST(a_large_group_makes_room_for_another_one)
{
	CLEANUP_FREE struct seen *s = seen_new();
	unsigned n = 0;

	watch(s, tell_many_and_two_of_another_group, NULL);
	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		n += s->watch.targets[i].of.group == 1;
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(s->forgets, 2);
}
END

/* Of 256 slots, group 0 has one more than group 1, and would have as many as it
 * has now if it gave one. */
static void
tell_groups_of_about_one_size(int socket)
{
	for (int32_t pid = 1; pid <= EMIT_SLOTS; pid++)
		say_of(socket, pid == 1 ? 2 : pid % 2, pid, 1);
	say_of(socket, 1, 1001, 1);
}

TEST(a_group_that_has_hardly_more_makes_no_room)
{
	CLEANUP_FREE struct seen *s = seen_new();

	watch(s, tell_groups_of_about_one_size, NULL);
	ck_assert_uint_eq(s->forgets, 0);
}
END

/* A watcher whose probes take 50 ms of CPU time for each process. At the second
 * look, another group comes. */
struct slow {
	struct probe_watch watch;
	int socket;
	uint32_t groups[8]; /* of processes, in the order of their turns */
	int64_t at_ns[8];
	unsigned n;
	pid_t teller; /* ended after the last of them */
};

static void
link_slowly(void *arg, uint32_t slot)
{
	struct slow *s = arg;
	int64_t until = clock_cpu_ns() + 50 * NS_PER_MS;

	if (s->n == 1) {
		for (int32_t pid = 21; pid <= 23; pid++)
			say_of(s->socket, 1, pid, 1);
		close(s->socket);
	}
	if (s->n < ARRAY_LEN(s->groups)) {
		s->groups[s->n] = s->watch.targets[slot].of.group;
		s->at_ns[s->n++] = clock_mono_ns();
		while (clock_cpu_ns() < until)
			;
	} else {
		kill(s->teller, SIGKILL);
	}
	s->watch.targets[slot].next_ns = INT64_MAX;
}

TEST(groups_take_turns_at_probes_which_take_a_part_of_a_cpu)
{
	CLEANUP_FREE struct slow *s = calloc(1, sizeof(*s));
	const struct probe_watcher by = {.look = link_slowly, .arg = s};
	int pair[2], hold[2], turns = 0;

	ck_assert_ptr_nonnull(s);
	s->watch.calls_fd = s->watch.locks_fd = s->watch.own_link = -1;
	ck_assert_int_eq(msg_pair(pair) | pipe(hold), 0);
	for (int32_t pid = 1; pid <= 20; pid++)
		say(pair[0], pid, 1);
	s->socket = pair[0];
	s->teller = fork();
	if (!s->teller) {
		pause();
		_exit(0);
	}
	probe_watch_run(&s->watch, &by, pair[1], hold[0]);
	ck_assert_int_eq(waitpid(s->teller, NULL, 0), s->teller);
	ck_assert_uint_eq(s->n, ARRAY_LEN(s->groups));
	/* the group that came later has no turns in advance */
	ck_assert(s->groups[2] == 0 || s->groups[3] == 0);
	for (unsigned i = 0; i < s->n; i++)
		turns += s->groups[i] == 1;
	ck_assert_int_eq(turns, 3);
	/* 350 ms were taken, of which 200 are given at once. */
	ck_assert_int_ge(s->at_ns[7] - s->at_ns[0], 700 * NS_PER_MS);
	close(pair[1]);
	close(hold[0]);
	close(hold[1]);
}
END

TEST(the_watching_ends_with_who_holds_it)
{
	CLEANUP_FREE struct seen *s = seen_new();
	const struct probe_watcher by = {
		.look = look, .forget = forget, .arg = s};
	int pair[2], hold[2];

	ck_assert_int_eq(msg_pair(pair) | pipe(hold), 0);
	close(hold[1]);
	probe_watch_run(&s->watch, &by, pair[1], hold[0]);
	ck_assert_uint_eq(s->looks + s->forgets, 0);
}
END

TEST(a_process_is_left_alone_until_it_has_earned_what_it_lacks)
{
	static const struct {
		int64_t credit_ns, wanted_ns;
		double earns;
		int64_t least_ns, most_ns;
	} rows[] = {
		{0, 0, 0.05, 0, 0},
		{100, 50, 0.05, 0, 0},
		{0, 50000, 0.05, 999000, 1000000},
		{-50000, 50000, 0.05, 1999000, 2000000},
		{0, 50000, 0, NS_PER_S, INT64_MAX}, /* it does nothing */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct probe_account a = {.credit_ns = rows[i].credit_ns,
		                                .earns = rows[i].earns};
		int64_t ns = probe_wait_ns(&a, rows[i].wanted_ns);

		ck_assert_msg(ns >= rows[i].least_ns && ns <= rows[i].most_ns,
		              "row %zu: %lld", i, (long long)ns);
	}
}
END

/* If a row were kept, it would count for the next process in that slot. */
TEST(no_row_is_kept_of_a_process_that_is_forgotten_and_all_of_others)
{
	struct inuse_set *sets = calloc(INUSE_SETS, sizeof(*sets));

	ck_assert_ptr_nonnull(sets);
	for (uint32_t i = 0; i < INUSE_ROWS; i++)
		sets[i / INUSE_WAYS].rows[i % INUSE_WAYS].key =
			INUSE_KEY(i / 3 % 4, 0x1000 + i);
	inuse_forget(sets, 2);
	for (uint32_t i = 0; i < INUSE_ROWS; i++)
		ck_assert_uint_eq(
			sets[i / INUSE_WAYS].rows[i % INUSE_WAYS].key,
			i / 3 % 4 == 2 ? 0 : INUSE_KEY(i / 3 % 4, 0x1000 + i));
	free(sets);
}
END

SUITE("probe_watch");
