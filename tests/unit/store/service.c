#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

static struct service
sample(const char *name)
{
	struct service v = test_no_match(TEST_TENANT, name);

	v.match_kind = "cmdline";
	v.match_value = "^x";
	v.description = "text";
	return v;
}

TEST(a_name_is_one_services_per_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SERVICE struct service got = {0};
	struct service v = sample("x");

	ck_assert_int_eq(service_add(&t.s, &v), 0);
	ck_assert_int_eq(service_add(&t.s, &v), -EEXIST);
	v.tenant = "other";
	ck_assert_int_eq(service_add(&t.s, &v), 0);
	ck_assert_int_eq(service_get(&t.s, TEST_TENANT, "x", &got), 0);
	ck_assert_str_eq(got.match_value, "^x");
	ck_assert_str_eq(got.description, "text");
}
END

TEST(replacing_keeps_the_name_and_needs_one)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SERVICE struct service got = {0};
	struct service v = sample("x");

	ck_assert_int_eq(service_replace(&t.s, &v), -ENOENT);
	ck_assert_int_eq(service_add(&t.s, &v), 0);
	v.match_kind = "exe";
	v.match_value = "/bin/x";
	ck_assert_int_eq(service_replace(&t.s, &v), 0);
	ck_assert_int_eq(service_get(&t.s, TEST_TENANT, "x", &got), 0);
	ck_assert_str_eq(got.match_kind, "exe");
	ck_assert_str_eq(got.match_value, "/bin/x");
	ck_assert_str_eq(got.description, "text");
}
END

TEST(services_are_listed_by_name_in_pages)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SERVICES struct service_list one = {0}, two = {0};
	struct service a = sample("a"), z = sample("z");

	ck_assert_int_eq(service_add(&t.s, &z), 0);
	ck_assert_int_eq(service_add(&t.s, &a), 0);
	ck_assert_int_eq(
		service_list(&t.s, TEST_TENANT, (struct page){2, ""}, &one), 0);
	ck_assert_str_eq(one.items[0].name, "a");
	ck_assert_str_eq(one.next, TEST_SERVICE);
	ck_assert_int_eq(service_list(&t.s, TEST_TENANT,
	                              (struct page){2, one.next}, &two),
	                 0);
	ck_assert_uint_eq(two.n, 1);
	ck_assert_str_eq(two.items[0].name, "z");
	ck_assert_ptr_null(two.next);
}
END

TEST(a_host_looks_for_its_own_services_and_for_those_of_none)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SERVICES struct service_list l = {0};
	struct service here = sample("here"), there = sample("there");
	struct service nothing = sample("nothing");

	here.host = TEST_HOST;
	there.host = "other";
	nothing.match_kind = nothing.match_value = "";
	ck_assert_int_eq(service_add(&t.s, &here), 0);
	ck_assert_int_eq(service_add(&t.s, &there), 0);
	ck_assert_int_eq(service_add(&t.s, &nothing), 0);
	ck_assert_int_eq(service_list_host(&t.s, TEST_HOST, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_str_eq(l.items[0].name, "here");
	ck_assert_str_eq(l.items[1].name, TEST_SERVICE);
}
END

TEST(deleting_takes_sessions_processes_and_bytes_along)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct worker_process p = {
		TEST_HOST, TEST_TENANT, TEST_SERVICE, "boot", "x", "x", 0, 1, 1,
		0};
	struct session_result r = test_result();
	struct session_ask ask = test_ask();
	struct process_list none;
	struct session gone;
	struct blob b;
	char id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 1);
	ck_assert_int_eq(process_put(&t.s, &p), 0);
	ask.origin = SESSION_UPLOAD;
	test_blob(&t.s, "x", &b);
	ck_assert_int_eq(session_upload(&t.s, &ask, &r, &b, id), 0);
	ck_assert_int_eq(service_delete(&t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &gone), -ENOENT);
	ck_assert_int_eq(process_list_host(&t.s, TEST_HOST, &none), 0);
	ck_assert_uint_eq(none.n, 0);
	ck_assert_int_eq(blob_reap(&t.s, BYTES_FILE), 1);
	ck_assert_int_eq(service_delete(&t.s, TEST_TENANT, TEST_SERVICE),
	                 -ENOENT);
}
END

TEST(one_worker_does_what_only_one_may)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_FREE char *first = NULL, *named = NULL, *where = NULL;
	const struct worker_process p = {
		"b", TEST_TENANT, TEST_SERVICE, "boot", "x", "x", 0, 42, 7, 0};
	char *none = NULL;

	ck_assert_int_eq(worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "", &none),
	                 -EHOSTDOWN);
	test_heartbeat(&t.s, "a", 1);
	test_heartbeat(&t.s, "b", 1);
	ck_assert_int_eq(
		worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "", &first), 0);
	ck_assert_str_eq(first, "a");
	ck_assert_int_eq(
		worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "c", &none),
		-EHOSTDOWN);
	ck_assert_int_eq(process_put(&t.s, &p), 0);
	ck_assert_int_eq(
		worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "", &where), 0);
	ck_assert_str_eq(where, "b");
	ck_assert_int_eq(
		worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "a", &named), 0);
	ck_assert_str_eq(named, "a");
}
END

TEST(hosts_are_listed_with_those_first_where_an_ordinal_runs)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SERVING struct serving_list any = {0}, second = {0}, one = {0};
	struct worker_process p = {"b", TEST_TENANT, TEST_SERVICE, "boot", "x",
	                           "x", 0,           42,           7,      0};

	test_heartbeat(&t.s, "a", 1);
	test_heartbeat(&t.s, "b", 1);
	test_heartbeat(&t.s, "c", 1);
	ck_assert_int_eq(process_put(&t.s, &p), 0);
	p.host = (char *)"c";
	p.ordinal = 1;
	ck_assert_int_eq(process_put(&t.s, &p), 0);
	test_tenant(&t.s, "another");
	p.host = (char *)"a";
	p.tenant = (char *)"another";
	ck_assert_int_eq(process_put(&t.s, &p), 0);
	ck_assert_int_eq(worker_serving(&t.s, TEST_TENANT, TEST_SERVICE, -1, "",
	                                50, &any),
	                 0);
	ck_assert_uint_eq(any.n, 3);
	ck_assert_str_eq(any.items[0].host, "b");
	ck_assert_str_eq(any.items[1].host, "c");
	ck_assert_int_eq(any.items[2].runs, 0);
	ck_assert_int_eq(worker_serving(&t.s, TEST_TENANT, TEST_SERVICE, 1, "",
	                                1, &second),
	                 0);
	ck_assert_uint_eq(second.n, 1);
	ck_assert_str_eq(second.items[0].host, "c");
	ck_assert_int_eq(worker_serving(&t.s, TEST_TENANT, TEST_SERVICE, -1,
	                                "a", 50, &one),
	                 0);
	ck_assert_uint_eq(one.n, 1);
	ck_assert_int_eq(one.items[0].runs, 0);
}
END

TEST(a_silent_worker_is_dead_and_its_processes_unseen)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_PROCESSES struct process_list seen = {0};
	struct worker_process p = {
		TEST_HOST,  TEST_TENANT, TEST_SERVICE, "boot", "x",
		"x --flag", 0,           42,           7,      0};
	struct process_list unseen;
	char *none = NULL;

	test_heartbeat(&t.s, TEST_HOST, 1);
	ck_assert_int_eq(process_put(&t.s, &p), 0);
	ck_assert_int_eq(process_list(&t.s, TEST_TENANT, TEST_SERVICE, &seen),
	                 0);
	ck_assert_uint_eq(seen.n, 1);
	ck_assert_int_eq(seen.items[0].pid, 42);
	ck_assert_str_eq(seen.items[0].cmdline, "x --flag");
	db_skew_clock(t.s.db, TEST_LEASE_MS + 1000);
	ck_assert_int_eq(worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "", &none),
	                 -EHOSTDOWN);
	ck_assert_int_eq(process_list(&t.s, TEST_TENANT, TEST_SERVICE, &unseen),
	                 0);
	ck_assert_uint_eq(unseen.n, 0);
}
END

TEST(a_heartbeat_keeps_the_start_and_a_new_process_sets_it)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int64_t started[3];

	for (int i = 0; i < 3; i++) {
		CLEANUP_WORKERS struct worker_list l = {0};

		db_skew_clock(t.s.db, i * 1000);
		test_heartbeat(&t.s, TEST_HOST, i < 2 ? 1 : 2);
		ck_assert_int_eq(worker_list(&t.s, "", &l), 0);
		ck_assert_uint_eq(l.n, 1);
		ck_assert_int_eq(l.items[0].alive, 1);
		started[i] = l.items[0].started_ms;
	}
	ck_assert_int_eq(started[1], started[0]);
	ck_assert_int_gt(started[2], started[0]);
}
END

TEST(a_worker_that_stops_is_not_waited_for)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char *none = NULL;

	test_heartbeat(&t.s, TEST_HOST, 1);
	ck_assert_int_eq(worker_stop(&t.s, TEST_HOST), 0);
	ck_assert_int_eq(worker_for(&t.s, TEST_TENANT, TEST_SERVICE, "", &none),
	                 -EHOSTDOWN);
}
END

SUITE("service");
