#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

static const struct job_state half = {0.5, "capturing", 50};

static void
expect(struct store *s, const char *id, const char *status, const char *phase)
{
	CLEANUP_SESSION struct session v = {0};

	ck_assert_int_eq(session_get(s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.status, status);
	ck_assert_str_eq(v.phase, phase);
}

static void
expect_error(struct store *s, const char *id, const char *code)
{
	CLEANUP_SESSION struct session v = {0};

	ck_assert_int_eq(session_get(s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.error_code, code);
}

TEST(an_accepted_job_waits_for_its_host)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	expect(&t.s, id, SESSION_RUNNING, "queued");
	ck_assert_int_eq(job_claim(&t.s, "other", TEST_LEASE_MS, 8, &j),
	                 -ENOENT);
	test_claim(&t.s, &j);
	ck_assert_str_eq(j.session, id);
	ck_assert_int_eq(j.attempt, 1);
	expect(&t.s, id, SESSION_RUNNING, "capturing");
}
END

TEST(an_older_job_of_another_host_stays_for_it)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	struct session_ask ask = test_ask();
	char older[ID_MAX], id[ID_MAX];

	test_enqueue(&t.s, 0, older);
	db_skew_clock(t.s.db, 10);
	ck_assert_int_eq(job_enqueue(&t.s, &ask, "other", id), 0);
	ck_assert_int_eq(job_claim(&t.s, "other", TEST_LEASE_MS, 8, &j), 0);
	ck_assert_str_eq(j.session, id);
	expect(&t.s, older, SESSION_RUNNING, "queued");
}
END

TEST(jobs_are_claimed_in_the_order_they_came)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char ids[3][ID_MAX];

	for (int i = 0; i < 3; i++) {
		db_skew_clock(t.s.db, i * 10);
		test_enqueue(&t.s, i, ids[i]);
	}
	for (int i = 0; i < 3; i++) {
		CLEANUP_JOB struct job j = {0};

		test_claim(&t.s, &j);
		ck_assert_str_eq(j.session, ids[i]);
	}
}
END

/* Claims a job of a host with room for this many; returns its tenant, "" if
 * there is none. */
static const char *
claimed(struct test_store *t, int64_t room)
{
	static char tenant[STORE_TENANT_MAX];
	CLEANUP_JOB struct job j = {0};
	int rc = job_claim(&t->s, TEST_HOST, TEST_LEASE_MS, room, &j);

	ck_assert(!rc || rc == -ENOENT);
	snprintf(tenant, sizeof(tenant), "%s", rc ? "" : j.tenant);
	return tenant;
}

/* Enqueues a capture of another tenant. */
static void
enqueue_of(struct test_store *t, const char *tenant)
{
	struct session_ask ask = test_ask();
	char id[ID_MAX];

	ask.tenant = tenant;
	ck_assert_int_eq(job_enqueue(&t->s, &ask, TEST_HOST, id), 0);
}

TEST(a_tenant_with_many_jobs_keeps_no_other_waiting)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	for (int i = 0; i < 4; i++)
		test_enqueue(&t.s, i, id);
	ck_assert_str_eq(claimed(&t, 8), TEST_TENANT);
	test_tenant(&t.s, "other");
	db_skew_clock(t.s.db, 10);
	enqueue_of(&t, "other");
	ck_assert_str_eq(claimed(&t, 7), "other");
	ck_assert_str_eq(claimed(&t, 6), TEST_TENANT);
}
END

static void
put_process(struct test_store *t, const char *host, const char *tenant)
{
	const struct worker_process p = test_process(host, tenant, 7);

	ck_assert_int_eq(process_put(&t->s, &p), 0);
}

TEST(places_are_kept_for_tenants_with_processes_there)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 0);
	for (int i = 0; i < 8; i++)
		test_enqueue(&t.s, i, id);
	test_tenant(&t.s, "other");
	put_process(&t, TEST_HOST, TEST_TENANT);
	for (int64_t room = 4; room > 1; room--)
		ck_assert_str_eq(claimed(&t, room), TEST_TENANT);
	/* none of four places is kept for a tenant without processes */
	ck_assert_str_eq(claimed(&t, 1), TEST_TENANT);
	put_process(&t, TEST_HOST, "other");
	ck_assert_str_eq(claimed(&t, 1), "");
	ck_assert_str_eq(claimed(&t, 2), TEST_TENANT);
	enqueue_of(&t, "other");
	ck_assert_str_eq(claimed(&t, 1), "other");
	ck_assert_str_eq(claimed(&t, 1), TEST_TENANT);
}
END

TEST(at_most_half_of_the_places_are_kept)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char name[16], id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 0);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "other%d", i);
		test_tenant(&t.s, name);
		put_process(&t, TEST_HOST, name);
		test_enqueue(&t.s, i, id);
	}
	for (int64_t room = 8; room > 4; room--)
		ck_assert_str_eq(claimed(&t, room), TEST_TENANT);
	ck_assert_str_eq(claimed(&t, 4), "");
	enqueue_of(&t, "other3");
	ck_assert_str_eq(claimed(&t, 1), "other3");
}
END

/* Makes a tenant with a capture that runs on host "far". */
static void
busy_elsewhere(struct test_store *t, const char *tenant)
{
	struct session_ask ask = test_ask();
	CLEANUP_JOB struct job j = {0};
	char id[ID_MAX];

	test_tenant(&t->s, tenant);
	ask.tenant = tenant;
	ck_assert_int_eq(job_enqueue(&t->s, &ask, "far", id), 0);
	ck_assert_int_eq(job_claim(&t->s, "far", TEST_LEASE_MS, 8, &j), 0);
}

TEST(a_host_is_shared_whatever_happens_on_others)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct worker w[] = {{.host = (char *)TEST_HOST,
	                            .boot_id = (char *)"boot",
	                            .version = (char *)"1",
	                            .capabilities = (char *)"{}"},
	                           {.host = (char *)"far",
	                            .boot_id = (char *)"boot",
	                            .version = (char *)"1",
	                            .capabilities = (char *)"{}"}};
	char id[ID_MAX];

	for (size_t i = 0; i < ARRAY_LEN(w); i++)
		ck_assert_int_eq(worker_heartbeat(&t.s, &w[i], TEST_LEASE_MS),
		                 0);
	busy_elsewhere(&t, "first");
	test_tenant(&t.s, "other");
	put_process(&t, "far", "other");
	enqueue_of(&t, "first");
	db_skew_clock(t.s.db, 10);
	for (int i = 0; i < 3; i++)
		test_enqueue(&t.s, i, id);
	/* a capture elsewhere does not make a tenant wait */
	ck_assert_str_eq(claimed(&t, 3), "first");
	ck_assert_str_eq(claimed(&t, 2), TEST_TENANT);
	/* nor does a process elsewhere keep a place */
	ck_assert_str_eq(claimed(&t, 1), TEST_TENANT);
	/* a capture elsewhere uses neither a share nor a place of this host */
	busy_elsewhere(&t, "second");
	put_process(&t, TEST_HOST, "second");
	ck_assert_str_eq(claimed(&t, 1), "");
}
END

TEST(no_capture_elsewhere_is_counted_among_the_places)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 0);
	busy_elsewhere(&t, "first");
	busy_elsewhere(&t, "second");
	put_process(&t, TEST_HOST, "first");
	put_process(&t, TEST_HOST, "second");
	for (int i = 0; i < 2; i++)
		test_enqueue(&t.s, i, id);
	ck_assert_str_eq(claimed(&t, 3), TEST_TENANT);
	ck_assert_str_eq(claimed(&t, 2),
	                 TEST_TENANT); /* one of three places is kept */
}
END

TEST(a_second_capture_of_service_and_type_is_refused_with_the_first_ones_id)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct session_ask ask = test_ask();
	char first[ID_MAX], second[ID_MAX];

	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, first), 0);
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, second), -EEXIST);
	ck_assert_str_eq(second, first);
	ask.origin = "samply"; /* may wait beside others */
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, second), 0);
}
END

TEST(a_refusal_leaves_the_callers_transaction_alive)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct session_ask ask = test_ask();
	char first[ID_MAX], second[ID_MAX];

	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, first), 0);
	ck_assert_int_eq(store_begin(&t.s), 0);
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, second), -EEXIST);
	ck_assert_int_eq(store_commit(&t.s), 0);
}
END

TEST(a_job_of_an_unknown_service_is_refused)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct session_ask ask = test_ask();
	char id[ID_MAX];

	ask.service = "nosuch";
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, id), -ENOENT);
}
END

TEST(finishing_stores_result_blob_and_state_together)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSION struct session v = {0};
	CLEANUP_JOB struct job j = {0};
	struct session_result r = test_result();
	struct blob b, found;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	test_blob(&t.s, "profile", &b);
	test_finish(&t.s, &j, &r, &b);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.status, SESSION_COMPLETED);
	ck_assert_int_eq(v.sample_count, 500);
	ck_assert(v.rate == 99.5 && v.progress == 1);
	ck_assert_str_eq(v.quality, r.quality);
	ck_assert_int_eq(v.has_profile, 1);
	ck_assert_int_ge(v.completed_ms, v.started_ms);
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &found), 0);
	ck_assert_str_eq(found.name, b.name);
}
END

#define HOUR_MS INT64_C(3600000)
#define SLOW_MS 60000 /* the test may take this long */

static const struct {
	int64_t age_ms;
	bool at_claim;
} ages[] = {
	{0, true}, /* not known */
	{1, false},
	{HOUR_MS - SLOW_MS, false},
	{HOUR_MS + SLOW_MS, true}, /* before the claim */
	{-5, true},
	{INT64_MAX, true},
	{INT64_MIN, true},
};

TEST(a_session_starts_when_its_sampling_began)
{
	for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP_SESSION struct session before = {0}, v = {0};
		CLEANUP_JOB struct job j = {0};
		struct session_result r = test_result();
		char id[ID_MAX];

		test_enqueue(&t.s, 0, id);
		test_claim(&t.s, &j);
		ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &before),
		                 0);
		db_skew_clock(t.s.db, HOUR_MS);
		r.age_ms = ages[i].age_ms;
		test_finish(&t.s, &j, &r, NULL);
		ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &v), 0);
		if (ages[i].at_claim) {
			ck_assert_int_eq(v.started_ms, before.started_ms);
			continue;
		}
		ck_assert_int_ge(v.started_ms,
		                 before.started_ms + HOUR_MS - ages[i].age_ms);
		ck_assert_int_le(v.started_ms, before.started_ms + HOUR_MS -
		                                       ages[i].age_ms +
		                                       SLOW_MS);
	}
}
END

TEST(an_attempt_that_was_given_up_changes_nothing)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job old = {0}, now = {0};
	struct session_result r = test_result();
	struct job_end end = {"done", "", "", &r, NULL, NULL, NULL};
	struct job_ref stale, live;
	struct blob b;
	int64_t cancel;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &old);
	ck_assert_int_eq(job_take_over(&t.s, TEST_HOST), 1);
	test_claim(&t.s, &now);
	ck_assert_int_eq(now.attempt, 2);
	stale = job_ref(&old);
	live = job_ref(&now);
	test_blob(&t.s, "old", &b);
	ck_assert_int_eq(job_progress(&t.s, &stale, 1000, &half, &cancel),
	                 -ESTALE);
	ck_assert_int_eq(job_checkpoint(&t.s, &stale, &r, &b), -ESTALE);
	ck_assert_int_eq(job_finish(&t.s, &stale, &end), -ESTALE);
	ck_assert_int_eq(job_requeue(&t.s, &stale), -ESTALE);
	expect(&t.s, id, SESSION_RUNNING, "capturing");
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &b), -ENOENT);
	ck_assert_int_eq(job_finish(&t.s, &live, &end), 0);
	ck_assert_int_eq(job_finish(&t.s, &live, &end), -ESTALE);
}
END

/* seconds asked, attempts already made, then what is expected */
static const struct {
	int64_t seconds;
	int deaths;
	const char *status, *phase, *error;
} takeovers[] = {
	{JOB_RERUN_SECONDS, 1, SESSION_RUNNING, "queued", ""},
	{JOB_RERUN_SECONDS + 1, 1, SESSION_FAILED, "failed", "WorkerDied"},
	{1, JOB_ATTEMPTS_MAX - 1, SESSION_RUNNING, "queued", ""},
	{1, JOB_ATTEMPTS_MAX, SESSION_FAILED, "failed", "WorkerDied"},
};

TEST(short_captures_run_again_and_long_ones_fail)
{
	for (size_t i = 0; i < ARRAY_LEN(takeovers); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		struct session_ask ask = test_ask();
		char id[ID_MAX];

		ask.seconds = takeovers[i].seconds;
		ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, id), 0);
		for (int n = 0; n < takeovers[i].deaths; n++) {
			CLEANUP_JOB struct job j = {0};

			test_claim(&t.s, &j);
			ck_assert_int_eq(job_take_over(&t.s, TEST_HOST), 1);
		}
		expect(&t.s, id, takeovers[i].status, takeovers[i].phase);
		expect_error(&t.s, id, takeovers[i].error);
	}
}
END

TEST(a_worker_takes_over_its_own_hosts_jobs_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	ck_assert_int_eq(job_take_over(&t.s, "other"), 0);
	expect(&t.s, id, SESSION_RUNNING, "capturing");
}
END

TEST(what_a_checkpoint_saved_outlives_the_worker)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSION struct session v = {0};
	CLEANUP_BUF struct buf text = BUF_INIT(100);
	CLEANUP_JOB struct job j = {0};
	struct session_result r = test_result();
	struct session_ask ask = test_ask();
	struct blob first, second, found;
	struct job_ref ref;
	char id[ID_MAX];

	ask.seconds = 60;
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, id), 0);
	test_claim(&t.s, &j);
	ref = job_ref(&j);
	test_blob(&t.s, "first", &first);
	test_blob(&t.s, "second", &second);
	ck_assert_int_eq(job_checkpoint(&t.s, &ref, &r, &first), 0);
	ck_assert_int_eq(job_checkpoint(&t.s, &ref, &r, &second), 0);
	ck_assert_int_eq(job_take_over(&t.s, TEST_HOST), 1);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.error_code, "WorkerDied");
	ck_assert_int_eq(v.sample_count, 500);
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &found), 0);
	ck_assert_int_eq(blob_read(&t.s, &found, &text), 0);
	ck_assert_str_eq(buf_str(&text), "second");
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 1); /* the first */
}
END

TEST(leases_run_out_by_the_databases_clock)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	int64_t cancel;
	struct job_ref ref;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	ref = job_ref(&j);
	db_skew_clock(t.s.db, TEST_LEASE_MS - 2000);
	ck_assert_int_eq(job_expire(&t.s, 0), 0);
	ck_assert_int_eq(
		job_progress(&t.s, &ref, TEST_LEASE_MS, &half, &cancel), 0);
	db_skew_clock(t.s.db, TEST_LEASE_MS + 2000);
	ck_assert_int_eq(job_expire(&t.s, 0), 0); /* it was renewed */
	db_skew_clock(t.s.db, 2 * TEST_LEASE_MS);
	ck_assert_int_eq(job_expire(&t.s, 0), 1);
	expect(&t.s, id, SESSION_RUNNING, "queued");
}
END

TEST(a_queued_job_fails_when_its_host_has_no_worker_for_long)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSION struct session v = {0};
	const int64_t margin_ms = 2000;
	char id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 1);
	test_enqueue(&t.s, 0, id);
	db_skew_clock(t.s.db, JOB_STRANDED_MS + margin_ms);
	test_heartbeat(&t.s, TEST_HOST, 1);
	ck_assert_int_eq(job_expire(&t.s, 0), 0); /* it is alive */
	ck_assert_int_eq(worker_stop(&t.s, TEST_HOST), 0);
	ck_assert_int_eq(job_expire(&t.s, 0), 0); /* it may be restarting */
	expect(&t.s, id, SESSION_RUNNING, "queued");
	db_skew_clock(t.s.db, 2 * (JOB_STRANDED_MS + margin_ms));
	ck_assert_int_eq(job_expire(&t.s, 0), 1);
	expect(&t.s, id, SESSION_FAILED, "failed");
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.error_code, "WorkerDied");
	ck_assert_int_eq(job_expire(&t.s, 0), 0);
}
END

TEST(a_queued_job_fails_when_its_host_was_removed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char first[ID_MAX], second[ID_MAX];

	test_enqueue(&t.s, 0, first);
	db_skew_clock(t.s.db, JOB_STRANDED_MS + 2000);
	test_enqueue(&t.s, 1, second);
	ck_assert_int_eq(job_expire(&t.s, 0), 1);
	expect(&t.s, first, SESSION_FAILED, "failed");
	expect(&t.s, second, SESSION_RUNNING, "queued");
}
END

TEST(a_waiting_job_is_cancelled_at_once)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	ck_assert_int_eq(job_cancel(&t.s, "other", id), -ENOENT);
	ck_assert_int_eq(job_cancel(&t.s, TEST_TENANT, id), 0);
	expect(&t.s, id, SESSION_FAILED, "cancelled");
	ck_assert_int_eq(job_claim(&t.s, TEST_HOST, 1000, 8, &j), -ENOENT);
	ck_assert_int_eq(job_cancel(&t.s, TEST_TENANT, id), -EALREADY);
}
END

TEST(a_running_session_has_the_samples_that_its_worker_last_told)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSION struct session running = {0}, waiting = {0};
	CLEANUP_JOB struct job j = {0};
	struct job_ref ref;
	int64_t cancel;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(job_progress(&t.s, &ref, 1000, &half, &cancel), 0);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &running), 0);
	ck_assert_int_eq(running.sample_count, half.samples);
	ck_assert_int_eq(job_requeue(&t.s, &ref), 0);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &waiting), 0);
	ck_assert_int_eq(waiting.sample_count, 0);
}
END

TEST(a_running_job_is_completed_early_unless_it_is_cancelled)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	int64_t ending = -1;
	struct job_ref ref;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(job_complete(&t.s, "other", id), -ENOENT);
	ck_assert_int_eq(job_complete(&t.s, TEST_TENANT, id), 0);
	expect(&t.s, id, SESSION_RUNNING, "capturing");
	ck_assert_int_eq(job_progress(&t.s, &ref, 1000, &half, &ending), 0);
	ck_assert_int_eq(ending, JOB_COMPLETE);
	ck_assert_int_eq(job_cancel(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(job_complete(&t.s, TEST_TENANT, id), -EALREADY);
	ck_assert_int_eq(job_progress(&t.s, &ref, 1000, &half, &ending), 0);
	ck_assert_int_eq(ending, JOB_CANCEL);
}
END

TEST(a_job_that_was_to_be_complete_is_not_run_again)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	ck_assert_int_eq(job_complete(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(job_take_over(&t.s, TEST_HOST), 1);
	expect(&t.s, id, SESSION_FAILED, "failed");
}
END

TEST(a_running_job_learns_of_its_cancelling)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	int64_t cancel = -1;
	struct job_ref ref;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	test_claim(&t.s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(job_progress(&t.s, &ref, 1000, &half, &cancel), 0);
	ck_assert_int_eq(cancel, 0);
	ck_assert_int_eq(job_cancel(&t.s, TEST_TENANT, id), 0);
	expect(&t.s, id, SESSION_RUNNING, "capturing");
	ck_assert_int_eq(job_progress(&t.s, &ref, 1000, &half, &cancel), 0);
	ck_assert_int_eq(cancel, 1);
	ck_assert_int_eq(job_take_over(&t.s, TEST_HOST), 1);
	expect(&t.s, id, SESSION_FAILED, "cancelled");
}
END

TEST(counts_are_of_waiting_and_running)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	int64_t queued, running;
	char id[ID_MAX];

	for (int i = 0; i < 3; i++)
		test_enqueue(&t.s, i, id);
	test_claim(&t.s, &j);
	ck_assert_int_eq(job_counts(&t.s, &queued, &running), 0);
	ck_assert_int_eq(queued, 2);
	ck_assert_int_eq(running, 1);
}
END

TEST(a_store_call_that_fails_leaves_no_half_job)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	struct session_ask ask = test_ask();
	char id[ID_MAX];
	int n = 0;

	do {
		ck_assert_int_eq(job_claim(&t.s, TEST_HOST, 1000, 8, &j),
		                 -ENOENT);
		db_fail_after(t.s.db, ++n);
	} while (job_enqueue(&t.s, &ask, TEST_HOST, id) == -EIO);
	ck_assert_int_gt(n, 2);
	db_fail_after(t.s.db, 0);
	test_claim(&t.s, &j);
	ck_assert_str_eq(j.session, id);
}
END

TEST(a_claim_that_the_store_fails_is_told_and_leaves_the_job)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	struct session_ask ask = test_ask();
	char id[ID_MAX];
	int n = 0, rc;

	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, id), 0);
	do {
		db_fail_after(t.s.db, ++n);
		rc = job_claim(&t.s, TEST_HOST, 1000, 8, &j);
	} while (rc == -EIO);
	db_fail_after(t.s.db, 0);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_gt(n, 3);
	ck_assert_str_eq(j.session, id);
}
END

SUITE("job");
