/* The contract of store/bytes.h: each test runs once for each row of places. */
#include "store/bytes.h"

#include "base/clock.h"
#include "lib/object_store.h"
#include "lib/store.h"
#include "store/blob.h"
#include "store/db/db_test.h"
#include "store/s3.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A driver that is under test, in a new store. */
struct place {
	const char *driver;
	/* Prepares the store for this driver, after test_store(). */
	void (*set_up)(struct test_store *t);
	void (*tear_down)(struct test_store *t);
	/* Lets the time elapse during which new bytes are left alone. */
	void (*settle)(struct test_store *t);
};

static void
nothing(struct test_store *t)
{
	(void)t;
}

static struct objects *objects;

static void
set_up_objects(struct test_store *t)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct conf conf;

	objects = objects_start();
	objects_conf(objects, t->dir, &conf);
	ck_assert_msg(!bytes_configure(&t->s, &conf, &why), "%s",
	              buf_str(&why));
	t->s.bytes = NULL;
}

static void
tear_down_objects(struct test_store *t)
{
	ck_assert_str_eq(objects_refused(objects), "");
	s3_free(t->s.s3);
	objects_stop(objects);
}

static void
let_objects_age(struct test_store *t)
{
	(void)t;
	objects_pass(objects, S3_SETTLED_MS / MS_PER_S + 2);
}

static void
let_an_hour_pass(struct test_store *t)
{
	db_skew_clock(t->s.db, (int64_t)3601 * MS_PER_S);
}

static const struct place places[] = {
	{BYTES_FILE, nothing, nothing, nothing},
	{BYTES_DB, nothing, nothing, let_an_hour_pass},
	{BYTES_S3, set_up_objects, tear_down_objects, let_objects_age},
};

#define NAME(letter) letter letter "/blob-" letter letter "2345.pb.gz"

static const struct place *place;
static struct test_store store;

static void
begin(const struct place *p)
{
	place = p;
	store = test_store();
	place->set_up(&store);
}

static void
finish(void)
{
	place->tear_down(&store);
	test_store_done(&store);
}

/* Defines a test that runs for each row. */
#define CLAIM(name)                                              \
	static void name##_of_one(void);                         \
	TEST(name)                                               \
	{                                                        \
		for (size_t i = 0; i < ARRAY_LEN(places); i++) { \
			begin(&places[i]);                       \
			name##_of_one();                         \
			finish();                                \
		}                                                \
	}                                                        \
	END                                                      \
	static void name##_of_one(void)

/* Puts a text, and returns the descriptor that holds it. */
static int
put(const char *name, const char *text)
{
	int hold = -1;

	ck_assert_int_eq(bytes_put(&store.s, place->driver, name, text,
	                           strlen(text), &hold),
	                 0);
	return hold;
}

static void
put_for_good(const char *name, const char *text)
{
	int hold = put(name, text);

	close_ptr(&hold);
}

static int
get(const char *name, int64_t whole, int64_t start, int64_t n, struct buf *out)
{
	struct piece piece = {whole, start, n};

	return bytes_get(&store.s, place->driver, name, &piece, out);
}

CLAIM(bytes_that_were_put_are_got)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);

	put_for_good(NAME("a"), "some bytes");
	buf_puts(&got, "before ");
	ck_assert_int_eq(get(NAME("a"), 10, 0, 10, &got), 0);
	ck_assert_str_eq(buf_str(&got), "before some bytes");
}

CLAIM(no_bytes_are_bytes_too)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);

	put_for_good(NAME("a"), "");
	ck_assert_int_eq(get(NAME("a"), 0, 0, 0, &got), 0);
	ck_assert_uint_eq(got.len, 0);
	ck_assert_int_eq(get(NAME("b"), 0, 0, 0, &got), -ENOENT);
}

CLAIM(megabytes_come_back_as_they_were)
{
	const size_t n = (size_t)3 << 20;
	CLEANUP_BUF struct buf want = BUF_INIT(n), got = BUF_INIT(n);
	int hold = -1;

	for (size_t i = 0; i < n / 4; i++) {
		uint32_t word = (uint32_t)i * 2654435761u;

		buf_add(&want, &word, sizeof(word));
	}
	ck_assert_int_eq(
		bytes_put(&store.s, place->driver, NAME("a"), want.p, n, &hold),
		0);
	close_ptr(&hold);
	ck_assert_int_eq(get(NAME("a"), (int64_t)n, 0, (int64_t)n, &got), 0);
	ck_assert_mem_eq(got.p, want.p, n);
	buf_clear(&got);
	ck_assert_int_eq(get(NAME("a"), (int64_t)n, 1 << 20, 4096, &got), 0);
	ck_assert_uint_eq(got.len, 4096);
	ck_assert_mem_eq(got.p, want.p + (1 << 20), 4096);
}

static const struct {
	int64_t start, n;
	const char *text;
} pieces[] = {
	{0, 1, "0"}, {9, 1, "9"}, {3, 4, "3456"}, {0, 10, "0123456789"},
	{0, 0, ""},  {4, 0, ""},  {10, 0, ""},
};

CLAIM(a_piece_is_got_without_the_rest)
{
	put_for_good(NAME("a"), "0123456789");
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(10);

		ck_assert_int_eq(
			get(NAME("a"), 10, pieces[i].start, pieces[i].n, &got),
			0);
		ck_assert_str_eq(buf_str(&got), pieces[i].text);
	}
}

static const struct piece unsound[] = {
	{10, -1, 1}, {10, 0, 11}, {10, 10, 1},        {10, 11, 0},
	{10, 0, -1}, {-1, 0, 0},  {10, 1, INT64_MAX}, {10, INT64_MAX, 1},
};

CLAIM(a_piece_that_reaches_past_the_bytes_is_refused)
{
	put_for_good(NAME("a"), "0123456789");
	for (size_t i = 0; i < ARRAY_LEN(unsound); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(100);

		ck_assert_int_eq(get(NAME("a"), unsound[i].whole,
		                     unsound[i].start, unsound[i].n, &got),
		                 -EBADMSG);
		ck_assert_uint_eq(got.len, 0);
	}
}

CLAIM(bytes_of_another_length_are_damage)
{
	static const int64_t wholes[] = {9, 11, 1000, 1};

	put_for_good(NAME("a"), "0123456789");
	for (size_t i = 0; i < ARRAY_LEN(wholes); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(1000);

		ck_assert_int_eq(get(NAME("a"), wholes[i], 0, wholes[i], &got),
		                 -EBADMSG);
		ck_assert_int_eq(get(NAME("a"), wholes[i], 0, 1, &got),
		                 -EBADMSG);
	}
}

CLAIM(the_ceiling_of_the_buffer_is_one)
{
	CLEANUP_BUF struct buf got = BUF_INIT(9);

	put_for_good(NAME("a"), "0123456789");
	ck_assert_int_eq(get(NAME("a"), 10, 0, 10, &got), -E2BIG);
}

CLAIM(what_was_dropped_is_gone_and_may_be_dropped_again)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);

	put_for_good(NAME("a"), "a");
	put_for_good(NAME("b"), "b");
	ck_assert_int_eq(bytes_drop(&store.s, place->driver, NAME("a")), 0);
	ck_assert_int_eq(get(NAME("a"), 1, 0, 1, &got), -ENOENT);
	ck_assert_int_eq(bytes_drop(&store.s, place->driver, NAME("a")), 0);
	ck_assert_int_eq(bytes_drop(&store.s, place->driver, NAME("c")), 0);
	ck_assert_int_eq(get(NAME("b"), 1, 0, 1, &got), 0);
}

static const char *const bad_names[] = {
	"",
	"../stoker.db",
	"aa/../../x.pb.gz",
	"/etc/passwd",
	"aa/blob-a/b.pb.gz",
	"aa/.pb.gz",
	"AA/blob-abc.pb.gz",
	"aaa/blob-abc.pb.gz",
	"aa/blob-abc",
	"aa/other-abc.pb.gz",
	"aa/blob-a?list-type=2.pb.gz",
	"aa/blob-%2e%2e.pb.gz",
};

CLAIM(a_name_of_another_form_is_nowhere)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(100);
		int hold = -1;

		ck_assert_int_eq(bytes_put(&store.s, place->driver,
		                           bad_names[i], "x", 1, &hold),
		                 -EINVAL);
		ck_assert_int_eq(get(bad_names[i], 1, 0, 1, &got), -EBADMSG);
		ck_assert_int_eq(
			bytes_drop(&store.s, place->driver, bad_names[i]), 0);
	}
}

/* Counts how often a list had each name. */
struct seen {
	int a, b, others;
	const char *drop; /* this name is dropped when it is seen */
	int rc;           /* result for other names */
};

static int
see(void *arg, const char *name)
{
	struct seen *s = arg;

	if (!strcmp(name, NAME("a")))
		s->a++;
	else if (!strcmp(name, NAME("b")))
		s->b++;
	else
		s->others++;
	if (s->drop && !strcmp(name, s->drop))
		return 1;
	return s->rc;
}

static struct seen
list(const char *drop)
{
	struct seen s = {.drop = drop};
	struct bytes_at at = {0};

	do
		ck_assert_int_eq(
			bytes_list(&store.s, place->driver, &at, see, &s), 0);
	while (at.more);
	return s;
}

CLAIM(bytes_are_listed_once_nobody_holds_them)
{
	int hold = put(NAME("a"), "a");
	struct seen s;

	s = list(NULL);
	ck_assert_int_eq(s.a + s.b + s.others, 0);
	close_ptr(&hold);
	place->settle(&store);
	hold = put(NAME("b"), "b");
	s = list(NULL);
	ck_assert_int_eq(s.a, 1);
	ck_assert_int_eq(s.b + s.others, 0);
	close_ptr(&hold);
}

CLAIM(what_a_list_is_told_to_drop_is_gone)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct seen s;

	put_for_good(NAME("a"), "a");
	put_for_good(NAME("b"), "b");
	place->settle(&store);
	s = list(NAME("a"));
	ck_assert_int_eq(s.a + s.b, 2);
	ck_assert_int_eq(get(NAME("a"), 1, 0, 1, &got), -ENOENT);
	ck_assert_int_eq(get(NAME("b"), 1, 0, 1, &got), 0);
	s = list(NULL);
	ck_assert_int_eq(s.a, 0);
	ck_assert_int_eq(s.b, 1);
}

CLAIM(a_failure_ends_the_list)
{
	struct seen s = {.rc = -ECANCELED};
	struct bytes_at at = {0};

	put_for_good("aa/blob-aaa.pb.gz", "a");
	put_for_good("bb/blob-bbb.pb.gz", "b");
	place->settle(&store);
	ck_assert_int_eq(bytes_list(&store.s, place->driver, &at, see, &s),
	                 -ECANCELED);
	ck_assert(!at.more);
	ck_assert_int_eq(s.others, 1);
}

CLAIM(all_of_many_names_are_listed)
{
	struct seen s;

	for (char c = 'a'; c <= 'z'; c++) {
		char name[BYTES_NAME_MAX];

		snprintf(name, sizeof(name), "c%c/blob-c%c.pb.gz", c, c);
		put_for_good(name, "x");
	}
	place->settle(&store);
	s = list(NULL);
	ck_assert_int_eq(s.others, 26);
}

/* Stores a blob where new ones are stored, and a session with it. */
static void
upload(struct blob *b, char id[static ID_MAX])
{
	struct session_result r = test_result();
	struct session_ask ask = test_ask();

	ask.origin = SESSION_UPLOAD;
	test_blob(&store.s, "bytes", b);
	ck_assert_int_eq(session_upload(&store.s, &ask, &r, b, id), 0);
}

CLAIM(a_blob_is_read_by_the_driver_of_its_row)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct blob b, row;
	char id[ID_MAX];

	store.s.bytes = place->driver;
	upload(&b, id);
	store.s.bytes = NULL;
	ck_assert_int_eq(blob_of_session(&store.s, id, BLOB_PPROF, &row), 0);
	ck_assert_str_eq(row.store, place->driver);
	ck_assert_int_eq(blob_read(&store.s, &row, &got), 0);
	ck_assert_str_eq(buf_str(&got), "bytes");
}

CLAIM(a_deleted_blob_is_reaped_from_its_driver)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct blob b;
	char id[ID_MAX];

	store.s.bytes = place->driver;
	upload(&b, id);
	ck_assert_int_eq(session_delete(&store.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(blob_read(&store.s, &b, &got), 0);
	ck_assert_int_eq(blob_reap(&store.s, place->driver), 1);
	ck_assert_int_eq(blob_read(&store.s, &b, &got), -ENOENT);
	ck_assert_int_eq(blob_reap(&store.s, place->driver), 0);
}

CLAIM(a_sweep_takes_bytes_without_a_row_and_no_others)
{
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct blob b, orphan;
	char id[ID_MAX];

	store.s.bytes = place->driver;
	upload(&b, id);
	test_blob(&store.s, "orphan", &orphan);
	place->settle(&store);
	ck_assert_int_eq(blob_sweep(&store.s, place->driver), 1);
	ck_assert_int_eq(blob_read(&store.s, &orphan, &got), -ENOENT);
	ck_assert_int_eq(blob_read(&store.s, &b, &got), 0);
}

TEST(bytes_in_the_database_have_no_place_that_nginx_reads)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf where = BUF_INIT(100);
	struct blob b;

	t.s.bytes = BYTES_DB;
	test_blob(&t.s, "bytes", &b);
	ck_assert_int_eq(blob_location(&t.s, &b, 0, &where), 1);
	ck_assert_uint_eq(where.len, 0);
}
END

TEST(a_driver_that_nobody_knows_is_not_supported)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct piece piece = {1, 0, 1};
	struct bytes_at at = {0};
	int hold = -1;

	ck_assert_int_eq(bytes_put(&t.s, "tape", NAME("a"), "x", 1, &hold),
	                 -ENOTSUP);
	ck_assert_int_eq(bytes_get(&t.s, "tape", NAME("a"), &piece, &got),
	                 -ENOTSUP);
	ck_assert_int_eq(bytes_drop(&t.s, "tape", NAME("a")), -ENOTSUP);
	ck_assert_int_eq(bytes_list(&t.s, "tape", &at, see, NULL), -ENOTSUP);
}
END

SUITE("bytes");
