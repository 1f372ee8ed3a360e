#include "store/symbolize.h"

#include "store/session.h"
#include "store/worker.h"

#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/job.h"

#include <errno.h>
#include <string.h>

/* Adds a finished capture of a tenant; returns its id. */
static void
captured_of(struct test_store *t, const char *tenant, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	struct session_result result = {.top_functions = "[]",
	                                .quality = "{\"frames\":9}"};
	CLEANUP_JOB struct job j = {0};

	ask.tenant = tenant;
	ck_assert_int_eq(job_enqueue(&t->s, &ask, TEST_HOST, id), 0);
	test_claim(&t->s, &j);
	test_finish(&t->s, &j, &result, NULL);
}

static void
captured(struct test_store *t, char id[static ID_MAX])
{
	captured_of(t, TEST_TENANT, id);
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
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0}, none = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_get(&t.s, TEST_TENANT, id, &y), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	expect(&t, id, "queued");
	ck_assert_int_eq(symbolize_claim(&t.s, "other", &none), -ENOENT);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_str_eq(y.session, id);
	ck_assert_str_eq(y.quality, "{\"frames\":9}");
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &none), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	expect(&t, id, "running");
}
END

/* Claims a request and fails it; returns whether the request was for this
 * session. */
static bool
ends(struct test_store *t, const char *id)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};

	ck_assert_int_eq(symbolize_claim(&t->s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_fail(&t->s, &y, "no"), 0);
	return !strcmp(y.session, id);
}

TEST(a_tenant_with_many_requests_keeps_no_other_waiting)
{
	static const char *const others[] = {"a", "zz"}; /* either side */

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		char id[ID_MAX];

		for (int k = 0; k < 4; k++) {
			captured(&t, id);
			db_skew_clock(t.s.db, 1000 * k);
			ck_assert_int_eq(
				symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST),
				0);
		}
		ck_assert(!ends(&t, id));
		test_tenant(&t.s, others[i]);
		captured_of(&t, others[i], id);
		ck_assert_int_eq(symbolize_ask(&t.s, others[i], id, TEST_HOST),
		                 0);
		ck_assert(ends(&t, id));
		ck_assert(!ends(&t, id));
	}
}
END

TEST(tenants_take_turns_on_each_host_separately)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize there = {0};
	char id[ID_MAX];

	test_tenant(&t.s, "zz");
	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert(ends(&t, id));
	db_skew_clock(t.s.db, 1000);
	captured_of(&t, "zz", id);
	ck_assert_int_eq(symbolize_ask(&t.s, "zz", id, "host2"), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, "host2", &there), 0);
	ck_assert_int_eq(symbolize_fail(&t.s, &there, "no"), 0);
	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	captured_of(&t, "zz", id);
	ck_assert_int_eq(symbolize_ask(&t.s, "zz", id, TEST_HOST), 0);
	ck_assert(ends(&t, id));
}
END

TEST(other_tenants_and_unknown_sessions_are_not_found)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, "nobody", id, TEST_HOST), -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, "sess-a", TEST_HOST),
	                 -ENOENT);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert_int_eq(symbolize_ask(&t.s, "nobody", id, TEST_HOST), -ENOENT);
	ck_assert_int_eq(symbolize_get(&t.s, "nobody", id, &y), -ENOENT);
}
END

TEST(what_is_queued_again_is_claimed_again_however_often)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	for (int i = 0; i < 2 * SYMBOLIZE_TRIES; i++) {
		CLEANUP_SYMBOLIZE struct symbolize y = {0};

		ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
		ck_assert_int_eq(symbolize_again(&t.s, &y), 0);
		ck_assert_int_eq(symbolize_again(&t.s, &y), -ESTALE);
	}
	ck_assert_int_eq(symbolize_take_over(&t.s, TEST_HOST), 0);
	expect(&t, id, "queued");
}
END

TEST(an_attempt_that_was_taken_over_is_not_queued_again)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize old = {0}, now = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &old), 0);
	ck_assert_int_eq(symbolize_take_over(&t.s, TEST_HOST), 1);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &now), 0);
	ck_assert_int_eq(symbolize_again(&t.s, &old), -ESTALE);
	expect(&t, id, "running");
}
END

TEST(the_new_profile_takes_the_old_ones_place)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	CLEANUP_SESSION struct session s = {0};
	struct blob b, found;
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	b = new_blob(&t);
	ck_assert_int_eq(symbolize_finish(&t.s, &y, "[1]", "{\"a\":1}", &b), 0);
	expect(&t, id, "done");
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &s), 0);
	ck_assert_str_eq(s.top_functions, "[1]");
	ck_assert_str_eq(s.quality, "{\"a\":1}");
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &found), 0);
	ck_assert_str_eq(found.id, b.id);
}
END

static void
uploaded(struct test_store *t, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	struct session_result result = {.top_functions = "[]",
	                                .quality = "{\"notes\":[]}"};
	struct blob b = new_blob(t);

	ask.origin = SESSION_UPLOAD;
	ck_assert_int_eq(session_upload(&t->s, &ask, &result, &b, id), 0);
}

TEST(an_upload_is_named_by_a_worker_of_the_store)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	CLEANUP_FREE char *host = NULL;
	const struct worker fleet = {.host = (char *)"apart",
	                             .boot_id = (char *)"b",
	                             .version = (char *)"1",
	                             .capabilities = (char *)"{}",
	                             .tenants = TEST_TENANT};
	char id[ID_MAX];

	uploaded(&t, id);
	ck_assert_int_eq(worker_heartbeat(&t.s, &fleet, TEST_LEASE_MS), 0);
	ck_assert_int_eq(symbolize_host(&t.s, TEST_TENANT, "svc", "", &host),
	                 -ENOENT);
	test_heartbeat(&t.s, TEST_HOST, 0);
	ck_assert_int_eq(
		symbolize_host(&t.s, TEST_TENANT, "svc", "apart", &host), 0);
	ck_assert_str_eq(host, TEST_HOST);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, host), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_str_eq(y.origin, SESSION_UPLOAD);
}
END

TEST(a_capture_is_named_by_the_worker_that_took_it)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_FREE char *host = NULL;

	test_heartbeat(&t.s, "first", 0);
	test_heartbeat(&t.s, "second", 0);
	test_heartbeat(&t.s, "third", 0);
	ck_assert_int_eq(
		symbolize_host(&t.s, TEST_TENANT, "svc", "second", &host), 0);
	ck_assert_str_eq(host, "second");
}
END

TEST(an_upload_is_named_where_its_tenants_service_runs)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	static const struct {
		const char *host, *tenant;
	} rows[] = {{"first", TEST_TENANT}, {"second", "other"}, {"third", ""}};

	test_tenant(&t.s, "other");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct worker_process p =
			test_process(rows[i].host, rows[i].tenant, 7);

		db_skew_clock(t.s.db, 1000 * (int64_t)i);
		test_heartbeat(&t.s, rows[i].host, 7);
		if (*rows[i].tenant)
			ck_assert_int_eq(process_put(&t.s, &p), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		CLEANUP_FREE char *host = NULL;

		ck_assert_int_eq(symbolize_host(&t.s, rows[i].tenant,
		                                TEST_SERVICE, "", &host),
		                 0);
		ck_assert_str_eq(host, rows[i].host);
	}
}
END

/* Asserts that the report has exactly these notes. */
static void
expect_notes(const json_t *report, const char *const *notes, size_t n)
{
	const json_t *are = json_object_get(report, "notes");

	ck_assert_uint_eq(json_array_size(are), n);
	for (size_t i = 0; i < n; i++)
		ck_assert_ptr_nonnull(strstr(
			json_string_value(json_array_get(are, i)), notes[i]));
}

TEST(the_report_of_an_upload_counts_names)
{
	static const char *const kept[] = {"kept"};
	static const char *const yet[] = {"kept", "7 of 9 frames have no "
	                                          "function name yet"};
	static const char *const later[] = {
		"kept",
		"3 of 9 frames were named after the upload, from debug files",
		"4 of 9 frames have no function name: no debug file"};
	CLEANUP_JSON json_t *j = json_loads("{\"notes\":[\"kept\"]}", 0, NULL);

	ck_assert_int_eq(symbolize_report(j, 9, 9, true), 0);
	expect_notes(j, kept, 1);
	ck_assert_int_eq(symbolize_report(j, 9, 2, false), 0);
	expect_notes(j, yet, 2);
	ck_assert_int_eq(symbolize_report(j, 9, 5, true), 0);
	expect_notes(j, later, 3);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "framesNamed")),
	                 5);
	ck_assert_int_eq(symbolize_report(j, 9, 5, true), 0);
	expect_notes(j, later, 3);
}
END

TEST(a_worker_that_was_given_up_changes_nothing)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0}, again = {0};
	struct blob b, found;
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_take_over(&t.s, TEST_HOST), 1);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &again), 0);
	b = new_blob(&t);
	ck_assert_int_eq(symbolize_finish(&t.s, &y, "[]", "{}", &b), -ESTALE);
	ck_assert_int_eq(symbolize_fail(&t.s, &y, "late"), -ESTALE);
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_PPROF, &found),
	                 -ENOENT);
	expect(&t, id, "running");
}
END

TEST(what_kills_workers_is_not_tried_for_ever)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	for (int i = 1; i <= SYMBOLIZE_TRIES; i++) {
		CLEANUP_SYMBOLIZE struct symbolize y = {0};

		ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
		ck_assert_int_eq(symbolize_take_over(&t.s, TEST_HOST), 1);
		expect(&t, id, i < SYMBOLIZE_TRIES ? "queued" : "failed");
	}
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	expect(&t, id, "queued");
}
END

TEST(a_worker_takes_over_its_own_hosts_requests_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_take_over(&t.s, "host2"), 0);
	expect(&t, id, "running");
}
END

TEST(a_deleted_session_takes_its_row_along)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	struct blob b;
	char id[ID_MAX];

	captured(&t, id);
	ck_assert_int_eq(symbolize_ask(&t.s, TEST_TENANT, id, TEST_HOST), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), 0);
	b = new_blob(&t);
	ck_assert_int_eq(symbolize_finish(&t.s, &y, "[]", "{}", &b), -ESTALE);
}
END

SUITE("symbolize");
