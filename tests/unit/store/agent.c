/* Jobs and services of a centre, in the store of a host. */
#include "store/agent.h"

#include "lib/store.h"
#include "store/blob.h"

#include <errno.h>
#include <string.h>

#define HOST "host1"

static struct agent_job
job_of(const char *session)
{
	return (struct agent_job){
		.session = (char *)session,
		.tenant = (char *)TEST_TENANT,
		.service = (char *)TEST_SERVICE,
		.type = (char *)"cpu",
		.origin = (char *)SESSION_CAPTURE,
		.labels = (char *)"{}",
		.created_by = (char *)"tok-x",
		.attempt = 3,
		.ordinal = SESSION_ALL_ORDINALS,
		.asked_seconds = 5,
		.asked_rate = 100,
	};
}

static size_t
held_of(struct store *s)
{
	CLEANUP_HELD struct agent_held_list l = {0};

	ck_assert_int_eq(agent_held(s, &l), 0);
	return l.n;
}

TEST(a_job_that_is_taken_is_run_here_under_its_own_id)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job j = job_of("sess-centre");
	CLEANUP_JOB struct job got = {0};

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(job_claim(&t.s, HOST, TEST_LEASE_MS, &got), 0);
	ck_assert_str_eq(got.session, "sess-centre");
	ck_assert_int_eq(got.attempt, 1); /* of this store */
	ck_assert_int_eq(got.asked_seconds, 5);
}
END

TEST(a_job_that_is_given_again_is_taken_once_and_has_the_last_attempt)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct agent_job j = job_of("sess-centre");
	CLEANUP_HELD struct agent_held_list l = {0};

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	j.attempt = 4;
	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(agent_held(&t.s, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].attempt, 4);
	ck_assert_str_eq(l.items[0].status, SESSION_RUNNING);
}
END

TEST(a_job_waits_for_another_capture_of_its_service_and_type)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job first = job_of("sess-one"),
			       second = job_of("sess-two");

	ck_assert_int_eq(agent_take(&t.s, HOST, &first), 0);
	ck_assert_int_eq(agent_take(&t.s, HOST, &second), -EEXIST);
	ck_assert_uint_eq(held_of(&t.s), 1);
}
END

TEST(a_job_without_its_service_is_not_taken)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct agent_job j = job_of("sess-centre");

	j.service = (char *)"none";
	ck_assert_int_eq(agent_take(&t.s, HOST, &j), -ENOENT);
	ck_assert_uint_eq(held_of(&t.s), 0);
}
END

TEST(a_result_stays_until_it_is_forgotten)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job j = job_of("sess-centre");
	const struct session_result result = test_result();
	CLEANUP_HELD struct agent_held_list l = {0};
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_JOB struct job got = {0};
	struct blob blob, found;
	struct job_end end = {"done", "", "", &result, &blob, NULL};
	struct job_ref ref;

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(job_claim(&t.s, HOST, TEST_LEASE_MS, &got), 0);
	ref = job_ref(&got);
	test_blob(&t.s, "profile", &blob);
	ck_assert_int_eq(job_finish(&t.s, &ref, &end), 0);
	ck_assert_int_eq(agent_held(&t.s, &l), 0);
	ck_assert_str_eq(l.items[0].status, SESSION_COMPLETED);
	ck_assert_str_eq(l.items[0].state, "done");
	ck_assert_int_eq(agent_forget(&t.s, &l.items[0], false), 0);
	ck_assert_uint_eq(held_of(&t.s), 0);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, "sess-centre", &s),
	                 -ENOENT);
	ck_assert_int_eq(
		blob_of_session(&t.s, "sess-centre", BLOB_PPROF, &found),
		-ENOENT);
}
END

TEST(a_job_that_is_dropped_is_cancelled_and_told_as_such)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job j = job_of("sess-centre");
	CLEANUP_HELD struct agent_held_list l = {0};

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(agent_drop(&t.s, TEST_TENANT, "sess-centre"), 0);
	ck_assert_int_eq(agent_held(&t.s, &l), 0);
	ck_assert_int_eq(l.items[0].dropped, 1);
	ck_assert_str_eq(l.items[0].state, "cancelled");
}
END

static struct service
service_of(const char *name, const char *exe)
{
	return (struct service){
		.tenant = (char *)TEST_TENANT,
		.name = (char *)name,
		.kind = (char *)"auto",
		.host = (char *)"",
		.match_kind = (char *)"exe",
		.match_value = (char *)exe,
		.pprof_url = (char *)"",
		.source = (char *)"auto",
		.allow = (char *)"{}",
		.labels = (char *)"{}",
		.description = (char *)"",
	};
}

static void
put(struct store *s, struct service *items, size_t n)
{
	const struct service_list l = {.items = items, .n = n};
	const struct continuous none[8] = {{0}};

	ck_assert_uint_le(n, ARRAY_LEN(none));
	ck_assert_int_eq(agent_services_put(s, &l, none), 0);
}

static int
exe_of(struct store *s, const char *name, char out[static 64])
{
	CLEANUP_SERVICE struct service v = {0};
	int rc = service_get(s, TEST_TENANT, name, &v);

	if (!rc)
		snprintf(out, 64, "%s", v.match_value);
	return rc;
}

TEST(services_are_added_replaced_and_removed_as_the_centre_has_them)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct service both[] = {service_of("one", "/bin/one"),
	                         service_of("two", "/bin/two")};
	struct service later = service_of("one", "/bin/other");
	char exe[64];

	put(&t.s, both, 2);
	ck_assert_int_eq(exe_of(&t.s, "two", exe), 0);
	ck_assert_str_eq(exe, "/bin/two");
	put(&t.s, &later, 1);
	ck_assert_int_eq(exe_of(&t.s, "one", exe), 0);
	ck_assert_str_eq(exe, "/bin/other");
	ck_assert_int_eq(exe_of(&t.s, "two", exe), -ENOENT);
}
END

/* A host that was one of its own keeps what it had. */
TEST(a_service_that_was_here_before_is_not_removed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct service known = service_of(TEST_SERVICE, "/bin/known");
	char exe[64];

	put(&t.s, &known, 1);
	put(&t.s, NULL, 0);
	ck_assert_int_eq(exe_of(&t.s, TEST_SERVICE, exe), 0);
	ck_assert_str_eq(exe, "/bin/known");
}
END

SUITE("agent", a_job_that_is_taken_is_run_here_under_its_own_id,
      a_job_that_is_given_again_is_taken_once_and_has_the_last_attempt,
      a_job_waits_for_another_capture_of_its_service_and_type,
      a_job_without_its_service_is_not_taken,
      a_result_stays_until_it_is_forgotten,
      a_job_that_is_dropped_is_cancelled_and_told_as_such,
      services_are_added_replaced_and_removed_as_the_centre_has_them,
      a_service_that_was_here_before_is_not_removed)
