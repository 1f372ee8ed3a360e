#include "upkeep/retention.h"

#include "base/clock.h"
#include "lib/store.h"
#include "store/clock_jump.h"
#include "store/db/db_test.h"

#include <errno.h>
#include <string.h>

static struct conf
limits(int64_t bytes, int64_t age_s)
{
	return (struct conf){.store_max_bytes = bytes,
	                     .store_max_age = age_s,
	                     .worker_lease = TEST_LEASE_MS / MS_PER_S};
}

TEST(old_and_surplus_profiles_go_with_their_bytes)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct conf conf = limits(9, 1000000);
	struct session_result result = test_result();
	struct session_ask ask = test_ask();
	struct retention r = {0};
	char id[2][ID_MAX];
	struct blob b[2];

	ask.origin = SESSION_UPLOAD;
	for (int i = 0; i < 2; i++) {
		db_skew_clock(t.s.db, i);
		test_blob(&t.s, "12345", &b[i]);
		ck_assert_int_eq(
			session_upload(&t.s, &ask, &result, &b[i], id[i]), 0);
	}
	retention_step(&r, &t.s, &conf, 0);
	ck_assert_int_eq(faccessat(t.s.profiles_fd, b[0].name, F_OK, 0), -1);
	ck_assert_int_eq(faccessat(t.s.profiles_fd, b[1].name, F_OK, 0), 0);
}
END

TEST(a_profile_is_kept_for_as_many_seconds_as_told)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct conf conf = limits(INT64_MAX, 1000);
	struct session_result result = test_result();
	struct session_ask ask = test_ask();
	struct retention r = {0};
	struct blob b;
	char id[ID_MAX];

	ask.origin = SESSION_UPLOAD;
	test_blob(&t.s, "12345", &b);
	ck_assert_int_eq(session_upload(&t.s, &ask, &result, &b, id), 0);
	db_skew_clock(t.s.db, 900 * MS_PER_S);
	retention_step(&r, &t.s, &conf, 0);
	ck_assert_int_eq(faccessat(t.s.profiles_fd, b.name, F_OK, 0), 0);
	db_skew_clock(t.s.db, 1001 * MS_PER_S);
	retention_step(&r, &t.s, &conf, LATER_NS);
	ck_assert_int_eq(faccessat(t.s.profiles_fd, b.name, F_OK, 0), -1);
}
END

/* Advances both clocks by ms; another process has set the database's by set_ms.
 * The host has a worker again: otherwise its jobs would end. */
static void
step_at(struct test_store *t, struct retention *r, int64_t ms, int64_t set_ms)
{
	struct conf conf = limits(INT64_MAX, 1000000);

	conf.worker_lease = TEST_LEASE_MS / MS_PER_S;
	db_skew_clock(t->s.db, ms + set_ms);
	test_heartbeat(&t->s, TEST_HOST, 2);
	retention_step(r, &t->s, &conf, ms * NS_PER_MS);
}

static void
expect_given_up(struct test_store *t, bool given_up)
{
	CLEANUP_JOB struct job again = {0};
	int rc = job_claim(&t->s, TEST_HOST, TEST_LEASE_MS, 8, &again);

	ck_assert_int_eq(rc, given_up ? 0 : -ENOENT);
	ck_assert(!given_up || again.attempt == 2);
}

TEST(jobs_of_silent_workers_are_given_up_one_lease_later)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	struct retention r = {0};
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	step_at(&t, &r, 0, 0);
	step_at(&t, &r, 2 * TEST_LEASE_MS - 1000, 0);
	expect_given_up(&t, false);
	step_at(&t, &r, 4 * TEST_LEASE_MS, 0);
	expect_given_up(&t, true);
}
END

TEST(leases_are_renewed_after_the_clock_was_set_before_they_run_out)
{
	enum { HOUR_MS = 3600000 };
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	struct retention r = {0};
	char id[ID_MAX];
	const int64_t start = 10 * TEST_LEASE_MS;

	step_at(&t, &r, 0, 0);
	step_at(&t, &r, start, 0);
	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	step_at(&t, &r, start + TEST_LEASE_MS, HOUR_MS);
	expect_given_up(&t, false);
	step_at(&t, &r, start + 3 * TEST_LEASE_MS, HOUR_MS);
	expect_given_up(&t, true);
}
END

/* Uploads a profile; returns whether it is left after two processes have read
 * the clock, the second one after it was set forward. */
static bool
is_left(int64_t forward_ms, int64_t later_ms)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct conf conf = limits(INT64_MAX, 1000);
	struct session_result result = test_result();
	struct session_ask ask = test_ask();
	struct retention r = {0}, again = {0};
	struct blob b;
	char id[ID_MAX];

	ask.origin = SESSION_UPLOAD;
	test_blob(&t.s, "12345", &b);
	ck_assert_int_eq(session_upload(&t.s, &ask, &result, &b, id), 0);
	retention_step(&r, &t.s, &conf, 0);
	db_skew_clock(t.s.db, forward_ms);
	retention_step(&again, &t.s, &conf, 0); /* another process */
	for (int64_t ms = 0; ms < later_ms; ms += 3600000) {
		db_skew_clock(t.s.db, forward_ms + ms);
		retention_step(&again, &t.s, &conf, 2 * ms * NS_PER_MS);
	}
	return !faccessat(t.s.profiles_fd, b.name, F_OK, 0);
}

TEST(nothing_goes_by_age_for_a_day_after_the_clock_has_jumped)
{
	const int64_t day_ms = CLOCK_JUMP_MS, hour_ms = 3600000;

	ck_assert(!is_left(day_ms - hour_ms, 0));
	ck_assert(is_left(day_ms + hour_ms, 0));
	ck_assert(is_left(40 * day_ms, day_ms - hour_ms));
	ck_assert(!is_left(40 * day_ms, day_ms + 2 * hour_ms));
}
END

TEST(a_clock_that_jumps_and_is_set_right_takes_nothing)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int64_t held_ms;

	ck_assert_int_eq(clock_jump_look(&t.s, &held_ms), 0);
	ck_assert_int_eq(held_ms, 0);
	db_skew_clock(t.s.db, 40 * CLOCK_JUMP_MS);
	ck_assert_int_eq(clock_jump_look(&t.s, &held_ms), 0);
	ck_assert_int_eq(held_ms, CLOCK_JUMP_MS);
	db_skew_clock(t.s.db, 0);
	ck_assert_int_eq(clock_jump_look(&t.s, &held_ms), 0);
	ck_assert_int_eq(held_ms, 0);
	db_skew_clock(t.s.db, -40 * CLOCK_JUMP_MS);
	ck_assert_int_eq(clock_jump_look(&t.s, &held_ms), 0);
	ck_assert_int_eq(held_ms, 0);
	db_skew_clock(t.s.db, 0);
	ck_assert_int_eq(clock_jump_look(&t.s, &held_ms), 0);
	ck_assert_int_eq(held_ms, CLOCK_JUMP_MS);
}
END

TEST(a_store_that_was_never_looked_at_asks_its_newest_session)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int64_t held_ms;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	db_skew_clock(t.s.db, 40 * CLOCK_JUMP_MS);
	ck_assert_int_eq(clock_jump_look(&t.s, &held_ms), 0);
	ck_assert_int_eq(held_ms, CLOCK_JUMP_MS);
}
END

SUITE("retention");
