#include "store/symbolize.h"

#include "lib/store.h"
#include "store/job.h"

#include <errno.h>
#include <string.h>

/* A finished capture; its id. */
static void
captured(struct test_store *t, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	struct session_result result = {.top_functions = "[]",
	                                .quality = "{\"frames\":9}"};
	struct job_end end = {"done", "", "", &result, NULL, NULL};
	CLEANUP_JOB struct job j = {0};
	struct job_ref ref;

	ck_assert_int_eq(job_enqueue(&t->s, &ask, TEST_HOST, id), 0);
	test_claim(&t->s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(job_finish(&t->s, &ref, &end), 0);
}

static void
expect(struct test_store *t, const char *id, const char *state)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};

	ck_assert_int_eq(symbolize_get(&t->s, TEST_TENANT, id, &y), 0);
	ck_assert_str_eq(y.state, state);
}

static struct blob
new_blob(struct test_store *t)
{
	struct blob b;

	test_blob(&t->s, "new", &b);
	return b;
}

TEST(what_is_asked_is_claimed_once_by_its_host)
{
	struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0}, none = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_get(&t.s, TEST_TENANT, id, &y), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	expect(&t, id, "queued");
	ck_assert_int_eq(symbolize_claim(&t.s, "other", &none), -ENOENT);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_str_eq(y.session, id);
	ck_assert_str_eq(y.quality, "{\"frames\":9}");
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &none), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	expect(&t, id, "running");
	test_store_done(&t);
}
END

TEST(other_tenants_and_unknown_sessions_are_not_found)
{
	struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, "nobody", id), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, "sess-a"), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(symbolize_ask(&t.s, "nobody", id), -ENOENT);
	ck_assert_int_eq(symbolize_get(&t.s, "nobody", id, &y), -ENOENT);
	test_store_done(&t);
}
END

TEST(the_new_profile_takes_the_old_ones_place)
{
	struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	CLEANUP_SESSION struct session s = {0};
	struct blob b, found;
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	b = new_blob(&t);
	ck_assert_int_eq(symbolize_finish(&t.s, &y, "[1]", "{\"a\":1}", &b), 0);
	expect(&t, id, "done");
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &s), 0);
	ck_assert_str_eq(s.top_functions, "[1]");
	ck_assert_str_eq(s.quality, "{\"a\":1}");
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &found), 0);
	ck_assert_str_eq(found.id, b.id);
	test_store_done(&t);
}
END

TEST(a_worker_that_was_given_up_changes_nothing)
{
	struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0}, again = {0};
	struct blob b, found;
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_take_over(&t.s, TEST_HOST), 1);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &again), 0);
	b = new_blob(&t);
	ck_assert_int_eq(symbolize_finish(&t.s, &y, "[]", "{}", &b), -ESTALE);
	ck_assert_int_eq(symbolize_fail(&t.s, &y, "late"), -ESTALE);
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &found),
	                 -ENOENT);
	expect(&t, id, "running");
	test_store_done(&t);
}
END

TEST(what_kills_workers_is_not_tried_for_ever)
{
	struct test_store t = test_store();
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	for (int i = 1; i <= SYMBOLIZE_TRIES; i++) {
		CLEANUP_SYMBOLIZE struct symbolize y = {0};

		ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
		ck_assert_int_eq(symbolize_take_over(&t.s, TEST_HOST), 1);
		expect(&t, id, i < SYMBOLIZE_TRIES ? "queued" : "failed");
	}
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	expect(&t, id, "queued");
	test_store_done(&t);
}
END

TEST(a_worker_takes_over_its_own_hosts_requests_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_take_over(&t.s, "host2"), 0);
	expect(&t, id, "running");
}
END

TEST(a_deleted_session_takes_its_row_along)
{
	struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	struct blob b;
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), 0);
	b = new_blob(&t);
	ck_assert_int_eq(symbolize_finish(&t.s, &y, "[]", "{}", &b), -ESTALE);
	test_store_done(&t);
}
END

SUITE("symbolize", what_is_asked_is_claimed_once_by_its_host,
      other_tenants_and_unknown_sessions_are_not_found,
      the_new_profile_takes_the_old_ones_place,
      a_worker_that_was_given_up_changes_nothing,
      what_kills_workers_is_not_tried_for_ever,
      a_worker_takes_over_its_own_hosts_requests_only,
      a_deleted_session_takes_its_row_along)
