#include "lib/store.h"
#include "store/block.h"
#include "store/db/db_test.h"
#include "store/job.h"

#include <errno.h>
#include <string.h>

static const struct session_filter all = {TEST_TENANT, "", "", "", 0, 0, ""};

/* Adds waiting captures of "type0", ..., one second apart, from 1000 s on. */
static int64_t
fill(struct store *s, int n, char ids[][ID_MAX])
{
	int64_t base;

	ck_assert_int_eq(store_now(s, &base), 0);
	for (int i = 0; i < n; i++) {
		db_skew_clock(s->db, i * 1000);
		test_enqueue(s, i, ids[i]);
	}
	return base;
}

TEST(pages_follow_each_other_newest_first_without_gap_or_repeat)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char ids[5][ID_MAX], cursor[128] = "";
	int seen = 0;

	fill(&t.s, 5, ids);
	for (int pages = 0; pages < 3; pages++) {
		CLEANUP_SESSIONS struct session_list l = {0};
		struct page page = {2, cursor};

		ck_assert_int_eq(session_list(&t.s, &all, page, &l), 0);
		for (size_t i = 0; i < l.n; i++)
			ck_assert_str_eq(l.items[i].id, ids[4 - seen++]);
		ck_assert_int_eq(l.next == NULL, pages == 2);
		snprintf(cursor, sizeof(cursor), "%s", l.next ? l.next : "");
	}
	ck_assert_int_eq(seen, 5);
}
END

TEST(a_page_that_ends_the_list_has_no_next)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSIONS struct session_list l = {0};
	char ids[2][ID_MAX];

	fill(&t.s, 2, ids);
	ck_assert_int_eq(session_list(&t.s, &all, (struct page){2, ""}, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_ptr_null(l.next);
}
END

static const char *const bad_cursors[] = {
	"x",
	"1",
	"1.",
	"-1.sess-a",
	" 1.a",
	"99999999999999999999.a",
	"1.a/b",
	"1."
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaa",
};

TEST(ill_formed_cursors_and_limits_are_refused)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct session_list l;

	for (size_t i = 0; i < ARRAY_LEN(bad_cursors); i++)
		ck_assert_int_eq(session_list(&t.s, &all,
		                              (struct page){2, bad_cursors[i]},
		                              &l),
		                 -EINVAL);
	ck_assert_int_eq(session_list(&t.s, &all, (struct page){0, ""}, &l),
	                 -EINVAL);
	ck_assert_int_eq(session_list(&t.s, &all,
	                              (struct page){STORE_PAGE_MAX + 1, ""},
	                              &l),
	                 -EINVAL);
}
END

/* service, type, status, from and to (seconds after the first), hits among 5 */
static const struct {
	const char *service, *type, *status;
	int from, to;
	size_t expected;
} filters[] = {
	{"", "", "", -1, -1, 5},
	{TEST_SERVICE, "", "", -1, -1, 5},
	{"other", "", "", -1, -1, 0},
	{"", "type3", "", -1, -1, 1},
	{TEST_SERVICE, "type3", SESSION_RUNNING, -1, -1, 1},
	{"", "", SESSION_COMPLETED, -1, -1, 0},
	{"", "", "", 2, -1, 3},
	{TEST_SERVICE, "", "", 1, 3, 2},
};

TEST(filters_narrow)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char ids[5][ID_MAX];
	int64_t base = fill(&t.s, 5, ids);

	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		CLEANUP_SESSIONS struct session_list l = {0};
		struct session_filter f = {TEST_TENANT,
		                           filters[i].service,
		                           filters[i].type,
		                           filters[i].status,
		                           0,
		                           0,
		                           ""};

		if (filters[i].from >= 0)
			f.from_ms = base + filters[i].from * 1000 - 500;
		if (filters[i].to >= 0)
			f.to_ms = base + filters[i].to * 1000 - 500;
		ck_assert_int_eq(
			session_list(&t.s, &f, (struct page){9, ""}, &l), 0);
		ck_assert_msg(l.n == filters[i].expected, "filter %zu: %zu", i,
		              l.n);
	}
}
END

TEST(another_tenants_session_is_absent)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct session v;
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	ck_assert_int_eq(session_get(&t.s, "other", id, &v), -ENOENT);
	ck_assert_int_eq(job_cancel(&t.s, "other", id), -ENOENT);
	ck_assert_int_eq(session_delete(&t.s, "other", id), -ENOENT);
}
END

TEST(a_running_session_is_not_deleted)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	test_enqueue(&t.s, 0, id);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), -EBUSY);
	ck_assert_int_eq(job_cancel(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, id), -ENOENT);
}
END

TEST(an_upload_is_complete_from_the_start)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSION struct session v = {0};
	struct session_result r = test_result();
	struct session_ask ask = test_ask();
	struct blob b;
	char id[ID_MAX];

	ask.origin = SESSION_UPLOAD;
	test_blob(&t.s, "x", &b);
	ck_assert_int_eq(session_upload(&t.s, &ask, &r, &b, id), 0);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.status, SESSION_COMPLETED);
	ck_assert_str_eq(v.phase, "done");
	ck_assert(v.progress == 1);
	ck_assert_str_eq(v.top_functions, r.top_functions);
	ask.service = "nosuch";
	ck_assert_int_eq(session_upload(&t.s, &ask, &r, &b, id), -ENOENT);
}
END

TEST(labels_are_added_unless_the_session_has_them)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SESSION struct session v = {0};
	CLEANUP_JSON json_t *labels =
		json_pack("{s:s,s:s}", "image", "shop/web", "version", "2");
	char id[ID_MAX], text[BLOCK_LABELS_MAX];
	struct session_ask ask = test_ask();

	ask.labels = "{\"version\":\"mine\"}";
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, id), 0);
	ck_assert_int_eq(session_add_labels(&t.s, id, NULL), 0);
	ck_assert_int_eq(session_add_labels(&t.s, id, labels), 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_object_set_new(labels, "long", json_string(text));
	ck_assert_int_eq(session_add_labels(&t.s, id, labels), -E2BIG);
	ck_assert_int_eq(session_add_labels(&t.s, "sess-none", labels),
	                 -ENOENT);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, id, &v), 0);
	ck_assert_str_eq(v.labels,
	                 "{\"image\":\"shop/web\",\"version\":\"mine\"}");
}
END

SUITE("session");
