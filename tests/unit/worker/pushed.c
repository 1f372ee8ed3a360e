/* Debug files that are opened for the analyser. */
#include "worker/captures/pushed.h"

#include "lib/store.h"
#include "store/bytes.h"

#include <string.h>

#define FILES 17

static void
put(struct test_store *t, const char *build_id)
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	const struct debug_file f = {
		.tenant = (char *)TEST_TENANT,
		.name = (char *)"server",
		.build_id = (char *)build_id,
		.go_id = (char *)"",
		.htlhash = (char *)"",
		.created_by = (char *)"tok-1",
	};
	char id[ID_MAX];
	struct blob b;

	ck_assert_int_eq(blob_put(&t->s, BLOB_DEBUG, "12345678", 8, &w, &b), 0);
	ck_assert_int_eq(store_begin(&t->s), 0);
	ck_assert_int_eq(store_end(&t->s, debug_file_add(&t->s, &f, &b, id)),
	                 0);
}

/* Returns how many files of a session that wants FILES are opened. */
static uint32_t
opened(struct test_store *t, int64_t max_copied)
{
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	struct pushed p = {0};
	char session[ID_MAX];
	uint32_t n;

	test_enqueue(&t->s, 0, session);
	for (int i = 0; i < FILES; i++) {
		char build_id[16];
		const char *const wanted = build_id;

		snprintf(build_id, sizeof(build_id), "%04d", i);
		put(t, build_id);
		ck_assert_int_eq(debug_file_want(&t->s, session, &wanted, 1),
		                 0);
	}
	ck_assert_int_eq(debug_file_of_session(&t->s, TEST_TENANT, session, &l),
	                 0);
	pushed_open(&p, &t->s, &l, max_copied);
	n = p.n;
	pushed_close(&p);
	return n;
}

TEST(all_files_that_a_session_wants_are_opened)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	t.s.bytes = NULL;
	ck_assert_uint_eq(opened(&t, 0), FILES);
}
END

TEST(files_past_the_bytes_that_may_be_copied_are_left_out)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	t.s.bytes = BYTES_DB;
	ck_assert_uint_eq(opened(&t, 3 * 8 + 7), 3);
}
END

SUITE("pushed");
