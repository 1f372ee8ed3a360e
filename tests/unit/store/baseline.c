#include "store/baseline.h"
#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/session.h"

#include <errno.h>
#include <string.h>

static void
completed(struct store *s, const char *type, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	const struct session_result result = test_result();
	struct blob blob;

	ask.type = type;
	ask.origin = SESSION_UPLOAD;
	test_blob(s, type, &blob);
	ck_assert_int_eq(session_upload(s, &ask, &result, &blob, id), 0);
}

static void
baseline(struct store *s, const char *session, const char *tags,
         char id[static ID_MAX])
{
	ck_assert_int_eq(test_baseline(s, TEST_TENANT, session, tags, id), 0);
}

static bool
is_latest(struct store *s, const char *id)
{
	CLEANUP_BASELINE struct baseline b = {0};

	ck_assert_int_eq(baseline_get(s, TEST_TENANT, id, &b), 0);
	return b.is_latest;
}

TEST(the_newest_of_a_service_and_type_is_the_latest)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char cpu[ID_MAX], heap[ID_MAX], b[3][ID_MAX];

	completed(&t.s, "cpu", cpu);
	completed(&t.s, "memory", heap);
	baseline(&t.s, cpu, "", b[0]);
	baseline(&t.s, heap, "", b[1]);
	ck_assert(is_latest(&t.s, b[0]) && is_latest(&t.s, b[1]));
	baseline(&t.s, cpu, "", b[2]); /* perhaps in the same millisecond */
	ck_assert(!is_latest(&t.s, b[0]) && is_latest(&t.s, b[2]));
	ck_assert_int_eq(baseline_remove(&t.s, TEST_TENANT, b[2]), 0);
	ck_assert(is_latest(&t.s, b[0]));
}
END

TEST(a_session_that_a_baseline_holds_stays_until_that_is_gone)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char session[ID_MAX], b[ID_MAX];

	completed(&t.s, "cpu", session);
	baseline(&t.s, session, "", b);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, session), -ETXTBSY);
	ck_assert_int_eq(baseline_remove(&t.s, TEST_TENANT, b), 0);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, session), 0);
}
END

TEST(retention_passes_over_what_a_baseline_holds)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char held[ID_MAX], other[ID_MAX], b[ID_MAX];

	completed(&t.s, "cpu", held);
	completed(&t.s, "cpu", other);
	baseline(&t.s, held, "", b);
	ck_assert_int_eq(blob_retain(&t.s, 0, 1000000), 1);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, other), -ENOENT);
	db_skew_clock(t.s.db, 10000);
	ck_assert_int_eq(blob_retain(&t.s, 0, 1000), 0);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, held), -ETXTBSY);
}
END

TEST(a_service_is_removed_with_its_baselines)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BASELINE struct baseline got = {0};
	char session[ID_MAX], b[ID_MAX];

	completed(&t.s, "cpu", session);
	baseline(&t.s, session, "", b);
	ck_assert_int_eq(service_delete(&t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(baseline_get(&t.s, TEST_TENANT, b, &got), -ENOENT);
}
END

TEST(running_and_strange_sessions_make_no_baseline)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct baseline_ask ask = {TEST_TENANT, "", "v1", "", "[]", "", ""};
	char running[ID_MAX], done[ID_MAX], out[ID_MAX];

	test_enqueue(&t.s, 0, running);
	completed(&t.s, "cpu", done);
	ask.session = running;
	ck_assert_int_eq(baseline_add(&t.s, &ask, out), -ENOENT);
	ask.session = done;
	ask.tenant = "other";
	ck_assert_int_eq(baseline_add(&t.s, &ask, out), -ENOENT);
}
END

static size_t
listed(struct store *s, struct baseline_filter f)
{
	CLEANUP_BASELINES struct baseline_list l = {0};

	f.tenant = TEST_TENANT;
	ck_assert_int_eq(baseline_list(s, &f, (struct page){50, ""}, &l), 0);
	return l.n;
}

static const struct {
	struct baseline_filter f;
	size_t n;
} filters[] = {
	{{NULL, "", "", "", ""}, 2},
	{{NULL, TEST_SERVICE, "cpu", "v1", "prod"}, 1},
	{{NULL, "", "", "", "a_b"}, 1},
	{{NULL, "", "", "", "axb"}, 0}, /* _ is no pattern */
	{{NULL, "", "", "", "pro"}, 0},
	{{NULL, "", "memory", "", ""}, 1},
	{{NULL, "", "", "v2", ""}, 0},
	{{NULL, "nobody", "", "", ""}, 0},
};

TEST(filters_are_exact_and_hold_together)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf tags = BUF_INIT(100);
	char cpu[ID_MAX], heap[ID_MAX], b[ID_MAX];

	completed(&t.s, "cpu", cpu);
	completed(&t.s, "memory", heap);
	baseline_tag(&tags, "prod");
	baseline_tag(&tags, "a_b");
	baseline(&t.s, cpu, buf_str(&tags), b);
	baseline(&t.s, heap, "", b);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		ck_assert_msg(listed(&t.s, filters[i].f) == filters[i].n,
		              "filter %zu", i);
}
END

TEST(pages_of_baselines_follow_each_other)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct baseline_filter all = {TEST_TENANT, "", "", "", ""};
	char session[ID_MAX], ids[5][ID_MAX], cursor[128] = "";
	int seen = 0;

	completed(&t.s, "cpu", session);
	for (int i = 0; i < 5; i++)
		baseline(&t.s, session, "", ids[i]);
	for (int pages = 0; pages < 3; pages++) {
		CLEANUP_BASELINES struct baseline_list l = {0};

		ck_assert_int_eq(
			baseline_list(&t.s, &all, (struct page){2, cursor}, &l),
			0);
		for (size_t i = 0; i < l.n; i++)
			ck_assert_str_eq(l.items[i].id, ids[4 - seen++]);
		ck_assert_int_eq(l.next == NULL, pages == 2);
		snprintf(cursor, sizeof(cursor), "%s", l.next ? l.next : "");
	}
	ck_assert_int_eq(seen, 5);
}
END

TEST(the_baseline_before_a_session_is_of_the_same_processes)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BASELINE struct baseline got = {0};
	struct baseline_of of = {TEST_TENANT, TEST_SERVICE,
	                         "cpu",       "sess-now",
	                         0,           SESSION_ALL_ORDINALS};
	char session[ID_MAX], b[ID_MAX];

	ck_assert_int_eq(store_now(&t.s, &of.created_ms), 0);
	of.created_ms += 60000;
	completed(&t.s, "cpu", session);
	ck_assert_int_eq(baseline_before(&t.s, &of, &got), -ENOENT);
	baseline(&t.s, session, "", b);
	of.ordinal = 0;
	ck_assert_int_eq(baseline_before(&t.s, &of, &got), -ENOENT);
	of.ordinal = SESSION_ALL_ORDINALS;
	of.created_ms -= 120000;
	ck_assert_int_eq(baseline_before(&t.s, &of, &got), -ENOENT);
	of.created_ms += 120000;
	ck_assert_int_eq(baseline_before(&t.s, &of, &got), 0);
	ck_assert_str_eq(got.id, b);
}
END

SUITE("baseline");
