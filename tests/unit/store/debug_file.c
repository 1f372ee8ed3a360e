#include "store/debug_file.h"

#include "lib/store.h"
#include "store/job.h"
#include "store/names.h"
#include "store/quota.h"
#include "store/session.h"
#include "store/symbolize.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

#define GNU  "00112233445566778899aabbccddeeff00112233"
#define GO   "one/two/three/four"
#define HASH "0123456789abcdef0123456789abcdef"

static int
put(struct test_store *t, const char *tenant, const char *build_id,
    const char *bytes, char id[static ID_MAX])
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	const struct debug_file f = {
		.tenant = (char *)tenant,
		.name = (char *)"server",
		.build_id = (char *)build_id,
		.go_id = (char *)GO,
		.htlhash = (char *)HASH,
		.created_by = (char *)"tok-1",
	};
	struct blob b;
	int rc;

	ck_assert_int_eq(
		blob_put(&t->s, BLOB_DEBUG, bytes, strlen(bytes), &w, &b), 0);
	ck_assert_int_eq(store_begin(&t->s), 0);
	rc = debug_file_add(&t->s, &f, &b, id);
	return store_end(&t->s, rc);
}

static size_t
found(struct test_store *t, const char *tenant, const char *wanted)
{
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};

	ck_assert_int_eq(debug_file_of(&t->s, tenant, wanted, &l), 0);
	if (l.n)
		ck_assert_str_eq(l.items[0].wanted, wanted);
	return l.n;
}

TEST(a_debug_file_is_found_by_each_identifier_within_its_tenant)
{
	static const char *const ids[] = {GNU, GO, HASH};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX];

	ck_assert_int_eq(put(&t, "one", GNU, "bytes", id), 0);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		ck_assert_uint_eq(found(&t, "one", ids[i]), 1);
		ck_assert_uint_eq(found(&t, "two", ids[i]), 0);
	}
	ck_assert_uint_eq(found(&t, "one", "else"), 0);
	ck_assert_int_eq(debug_file_report(&t.s, id, true), 0);
	ck_assert_uint_eq(found(&t, "one", GNU), 0);
}
END

TEST(a_file_that_is_pushed_again_replaces_the_earlier_one)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_DEBUG_FILES struct debug_file_list l = {0};
	char first[ID_MAX], second[ID_MAX];
	struct blob b;

	ck_assert_int_eq(put(&t, "one", GNU, "first", first), 0);
	ck_assert_int_eq(put(&t, "two", GNU, "theirs", second), 0);
	ck_assert_int_eq(put(&t, "one", GNU, "second", second), 0);
	ck_assert_int_eq(
		debug_file_list(&t.s, "one", "", (struct page){10, ""}, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].id, second);
	ck_assert_int_eq(l.items[0].bytes, 6);
	ck_assert_int_eq(blob_of_session(&t.s, first, BLOB_DEBUG, &b), -ENOENT);
	ck_assert_int_eq(blob_of_session(&t.s, second, BLOB_DEBUG, &b), 0);
}
END

TEST(a_debug_file_is_deleted_with_its_bytes_by_its_tenant_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct debug_file none;
	char id[ID_MAX];
	struct blob b;

	ck_assert_int_eq(put(&t, "one", GNU, "bytes", id), 0);
	ck_assert_int_eq(debug_file_get(&t.s, "two", id, &none), -ENOENT);
	ck_assert_int_eq(debug_file_delete(&t.s, "two", id), -ENOENT);
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_DEBUG, &b), 0);
	ck_assert_int_eq(debug_file_delete(&t.s, "one", id), 0);
	ck_assert_int_eq(blob_of_session(&t.s, id, BLOB_DEBUG, &b), -ENOENT);
	ck_assert_int_gt(blob_reap(&t.s, BYTES_FILE), 0);
}
END

/* Claims what waits for names; returns 0 if nothing does. */
static uint32_t
claimed(struct test_store *t, bool finish)
{
	CLEANUP_NAMES_MODULE struct names_module m = {0};
	CLEANUP_FREE uint64_t *addresses = NULL;
	uint32_t n = 0;

	if (names_claim(&t->s, TEST_HOST, "", &m, &addresses, &n))
		return 0;
	if (finish)
		ck_assert_int_eq(names_finish(&t->s, &m, NULL, NULL, 0), 0);
	return n;
}

TEST(pushed_frames_wait_for_names_again_when_their_file_comes)
{
	static const char *const ids[] = {GNU, GO, HASH};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		const uint64_t address = 0x1234;
		const struct names_wanted w = {
			{ids[i], "/srv/web", 0x1000, 0x5000, 0}, &address, 1};
		char id[ID_MAX];

		test_heartbeat(&t.s, TEST_HOST, 0);
		ck_assert_int_eq(names_want(&t.s, "one", "web", &w, 1), 0);
		ck_assert_uint_eq(claimed(&t, true), 1);
		ck_assert_uint_eq(claimed(&t, true), 0);
		ck_assert_int_eq(put(&t, "two", GNU, "theirs", id), 0);
		ck_assert_uint_eq(claimed(&t, true), 0);
		ck_assert_int_eq(put(&t, "one", GNU, "own", id), 0);
		ck_assert_uint_eq(claimed(&t, false), 1);
		/* even while it is being named without the file */
		ck_assert_int_eq(put(&t, "one", GNU, "again", id), 0);
		ck_assert_uint_eq(claimed(&t, true), 1);
		ck_assert_uint_eq(claimed(&t, true), 0);
	}
}
END

static int
want(struct test_store *t, const char *session, const char *build_id)
{
	return debug_file_want(&t->s, session, &build_id, 1);
}

/* Makes an upload that wants GNU, and has been symbolized. */
static void
upload(struct test_store *t, char out[static ID_MAX])
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	struct session_ask ask = test_ask();
	const struct session_result result = {.top_functions = "[]",
	                                      .quality = "{}"};
	struct blob old, new;

	ask.origin = SESSION_UPLOAD;
	test_blob(&t->s, "old", &old);
	test_blob(&t->s, "new", &new);
	ck_assert_int_eq(session_upload(&t->s, &ask, &result, &old, out), 0);
	ck_assert_int_eq(symbolize_ask(&t->s, TEST_TENANT, out, TEST_HOST), 0);
	ck_assert_int_eq(want(t, out, GNU), 0);
	ck_assert_int_eq(symbolize_claim(&t->s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_finish(&t->s, &y, "[]", "{}", &new), 0);
}

TEST(an_upload_is_named_again_when_a_file_that_it_wants_comes)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	char session[ID_MAX], id[ID_MAX];

	upload(&t, session);
	ck_assert_int_eq(put(&t, "two", GNU, "theirs", id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), -ENOENT);
	ck_assert_int_eq(put(&t, TEST_TENANT, "else", "other", id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), -ENOENT);
	ck_assert_int_eq(put(&t, TEST_TENANT, GNU, "own", id), 0);
	ck_assert_int_eq(symbolize_claim(&t.s, TEST_HOST, &y), 0);
	ck_assert_str_eq(y.session, session);
	ck_assert_int_eq(debug_file_of_session(&t.s, TEST_TENANT, session, &l),
	                 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].id, id);
}
END

/* Ends a capture with frames of a program that have no names. */
static void
capture(struct test_store *t, const char *build_id, char out[static ID_MAX])
{
	struct session_ask ask = test_ask();
	const struct session_result result = {.top_functions = "[]",
	                                      .quality = "{}",
	                                      .unnamed = &build_id,
	                                      .nunnamed = 1};
	CLEANUP_JOB struct job j = {0};

	ck_assert_int_eq(job_enqueue(&t->s, &ask, TEST_HOST, out), 0);
	test_claim(&t->s, &j);
	test_finish(&t->s, &j, &result, NULL);
}

/* Claims the session that is to be named next; "" if there is none. */
static void
named_next(struct test_store *t, char out[static ID_MAX])
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	int rc = symbolize_claim(&t->s, TEST_HOST, &y);

	snprintf(out, ID_MAX, "%s", rc ? "" : y.session);
}

TEST(a_capture_is_named_when_it_ends_if_its_file_was_pushed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char session[ID_MAX], id[ID_MAX], next[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 0);
	ck_assert_int_eq(put(&t, "two", GNU, "theirs", id), 0);
	capture(&t, GNU, session);
	named_next(&t, next);
	ck_assert_str_eq(next, "");
	ck_assert_int_eq(put(&t, TEST_TENANT, "else", "other", id), 0);
	named_next(&t, next);
	ck_assert_str_eq(next, "");
	/* the file comes later */
	ck_assert_int_eq(put(&t, "two", GNU, "theirs", id), 0);
	named_next(&t, next);
	ck_assert_str_eq(next, "");
	ck_assert_int_eq(put(&t, TEST_TENANT, GNU, "own", id), 0);
	named_next(&t, next);
	ck_assert_str_eq(next, session);
	/* the file is there already */
	capture(&t, GNU, session);
	named_next(&t, next);
	ck_assert_str_eq(next, session);
	capture(&t, "unknown", session);
	named_next(&t, next);
	ck_assert_str_eq(next, "");
}
END

TEST(a_capture_without_a_worker_that_shares_the_store_waits_for_none)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char session[ID_MAX], id[ID_MAX], next[ID_MAX];

	ck_assert_int_eq(put(&t, TEST_TENANT, GNU, "own", id), 0);
	capture(&t, GNU, session);
	named_next(&t, next);
	ck_assert_str_eq(next, "");
}
END

/* Makes all files but one older. */
static void
age_all(struct test_store *t, const char *but)
{
	char sql[160], n[32];

	snprintf(sql, sizeof(sql),
	         "UPDATE debug_file SET created_ms = created_ms - 5000 "
	         "WHERE id <> '%s'",
	         but);
	test_sql(t, sql, n, sizeof(n));
}

TEST(files_that_named_nothing_yet_come_first_and_one_for_each_program)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	char session[ID_MAX], used[ID_MAX], new[ID_MAX];

	upload(&t, session);
	ck_assert_int_eq(want(&t, session, GO), 0);
	ck_assert_int_eq(put(&t, TEST_TENANT, "else", "12345678", new), 0);
	ck_assert_int_eq(put(&t, TEST_TENANT, "other", "12345678", new), 0);
	ck_assert_int_eq(put(&t, TEST_TENANT, GNU, "12345678", used), 0);
	age_all(&t, new);
	ck_assert_int_eq(debug_file_report(&t.s, used, false), 0);
	ck_assert_int_eq(debug_file_of_session(&t.s, TEST_TENANT, session, &l),
	                 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_str_eq(l.items[0].wanted, GO);
	ck_assert_str_eq(l.items[0].id, new);
	ck_assert_str_eq(l.items[1].wanted, GNU);
	ck_assert_str_eq(l.items[1].id, used);
}
END

static void
age(struct test_store *t, const char *id, int64_t ms)
{
	char sql[160], n[32];

	snprintf(sql, sizeof(sql),
	         "UPDATE debug_file SET used_ms = used_ms - %lld "
	         "WHERE id = '%s'",
	         (long long)ms, id);
	test_sql(t, sql, n, sizeof(n));
}

static bool
is_there(struct test_store *t, const char *tenant, const char *id)
{
	CLEANUP_DEBUG_FILE struct debug_file f = {0};

	return !debug_file_get(&t->s, tenant, id, &f);
}

TEST(files_that_name_nothing_any_more_are_removed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char old[ID_MAX], used[ID_MAX];

	ck_assert_int_eq(put(&t, "one", "aaaa", "12345678", old), 0);
	ck_assert_int_eq(put(&t, "one", "bbbb", "12345678", used), 0);
	age(&t, old, 5000);
	age(&t, used, 5000);
	ck_assert_int_eq(debug_file_report(&t.s, used, false), 0);
	ck_assert_int_eq(debug_file_retain(&t.s, INT64_MAX, 4000), 1);
	ck_assert(!is_there(&t, "one", old));
	ck_assert(is_there(&t, "one", used));
}
END

TEST(the_least_recently_used_files_of_the_largest_tenant_make_room)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char first[ID_MAX], second[ID_MAX], theirs[ID_MAX];

	ck_assert_int_eq(put(&t, "one", "aaaa", "12345678", first), 0);
	ck_assert_int_eq(put(&t, "one", "bbbb", "12345678", second), 0);
	ck_assert_int_eq(put(&t, "two", "cccc", "12345678", theirs), 0);
	age(&t, theirs, 9000);
	age(&t, second, 5000);
	ck_assert_int_eq(debug_file_retain(&t.s, 24, INT64_MAX / 2), 0);
	ck_assert_int_eq(debug_file_retain(&t.s, 16, INT64_MAX / 2), 1);
	ck_assert(is_there(&t, "one", first));
	ck_assert(!is_there(&t, "one", second));
	ck_assert(is_there(&t, "two", theirs));
}
END

TEST(debug_files_count_for_their_quota_and_not_for_that_of_profiles)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	int64_t files, bytes, profiles, n;
	char id[ID_MAX];

	ck_assert_int_eq(put(&t, "one", "aaaa", "12345678", id), 0);
	ck_assert_int_eq(put(&t, "one", "bbbb", "1234", id), 0);
	ck_assert_int_eq(quota_held(&t.s, "one", QUOTA_debug_files, &files), 0);
	ck_assert_int_eq(quota_held(&t.s, "one", QUOTA_debug_bytes, &bytes), 0);
	ck_assert_int_eq(quota_held(&t.s, "one", QUOTA_bytes, &profiles), 0);
	ck_assert_int_eq(files, 2);
	ck_assert_int_eq(bytes, 12);
	ck_assert_int_eq(profiles, 0);
	ck_assert_int_eq(blob_usage(&t.s, &bytes, &n), 0);
	ck_assert_int_eq(bytes, 0);
}
END

SUITE("debug_file");
