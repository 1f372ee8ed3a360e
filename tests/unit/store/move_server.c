/*
 * An SQLite store moves to a server, and its bytes to each kind of place.
 * Without a server these claims are empty: engines.sh starts one.
 */
#include "store/move.h"

#include "base/clock.h"
#include "base/counted.h"
#include "lib/object_store.h"
#include "lib/store.h"
#include "store/audit.h"
#include "store/blob.h"
#include "store/s3.h"
#include "store/session.h"
#include "store/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT    "bytes of a profile"
#define START   INT64_C(1700000000000)
#define SECONDS 15 /* far beyond the time of a request */

/* An empty database, and an SQLite store in its directory. */
struct fixture {
	struct test_store t;
	struct objects *objects;
	struct conf conf;
	char session[ID_MAX];
};
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

static void
fixture_done(struct fixture *f)
{
	if (!f->objects)
		return;
	test_store_done(&f->t);
	objects_stop(f->objects);
}

static void
add_session(struct store *s, char id[static ID_MAX])
{
	const struct session_ask ask = test_ask();
	const struct session_result result = test_result();
	CLEANUP_JOB struct job j = {0};
	struct blob blob;

	ck_assert_int_eq(job_enqueue(s, &ask, TEST_HOST, id), 0);
	test_claim(s, &j);
	test_blob(s, TEXT, &blob);
	test_finish(s, &j, &result, &blob);
}

/* Adds windows, one of them without bytes. */
static void
add_windows(struct store *s)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w[3] = {0};
	char series[ID_MAX];

	ck_assert_int_eq(series_of(s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	for (size_t i = 0; i < ARRAY_LEN(w); i++) {
		w[i] = (struct window_ask){
			.series = series,
			.level = WINDOW_MINUTE,
			.start_ms = START + (int64_t)i * 60000,
			.end_ms = START + (int64_t)i * 60000 + 60000,
			.duration_ms = 60000,
			.windows = 6,
			.sample_count = i != 1,
			.value = (int64_t)i,
		};
		ck_assert_int_eq(
			segment_append(&g, "window", i == 1 ? 0 : 6, &w[i]), 0);
	}
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, w, ARRAY_LEN(w), NULL), 0);
}

static struct fixture
fixture(const char *bytes)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct fixture f = {.t = test_store(), .objects = objects_start()};
	struct conf lite = test_conf(f.t.dir);
	CLEANUP_STORE struct store s = {0};
	struct service v = {0};

	objects_conf(f.objects, f.t.dir, &f.conf);
	f.conf.store_database = lite.store_database;
	f.conf.worker_host = lite.worker_host;
	f.conf.store_bytes = (char *)bytes;
	ck_assert_int_eq(service_get(&f.t.s, TEST_TENANT, TEST_SERVICE, &v), 0);
	lite.store_database = NULL;
	ck_assert_int_eq(store_open(&lite, true, &s, &why), 0);
	ck_assert_int_eq(service_add(&s, &v), 0);
	service_done(&v);
	add_session(&s, f.session);
	add_windows(&s);
	test_sql(&f.t, "DELETE FROM service", NULL, 0);
	return f;
}

/* Checks the bytes of all windows in order, and the session's profile. */
static void
check_moved(struct fixture *f, const char *bytes)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_WINDOWS struct window_list l = {0};
	struct store *s = &f->t.s;
	struct piece all;
	struct blob blob;
	char series[ID_MAX];

	ck_assert_int_eq(bytes_configure(s, &f->conf, &why), 0);
	ck_assert_int_eq(blob_of_session(s, f->session, BLOB_PPROF, &blob), 0);
	ck_assert_str_eq(blob.store, bytes);
	all = (struct piece){blob.length, 0, blob.length};
	ck_assert_int_eq(bytes_get(s, blob.store, blob.name, &all, &text), 0);
	ck_assert_str_eq(buf_str(&text), TEXT);
	ck_assert_int_eq(series_of(s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, "{}", series),
	                 0);
	ck_assert_int_eq(window_between(s, series, WINDOW_MINUTE, START,
	                                START + 600000, &l),
	                 0);
	ck_assert_uint_eq(l.n, 3);
	buf_clear(&text);
	for (size_t i = 0; i < l.n; i++)
		ck_assert_int_eq(window_read(s, &l.items[i], &text), 0);
	ck_assert_str_eq(buf_str(&text), "windowwindow");
	s3_free(s->s3);
	s->s3 = NULL;
}

static int
move(struct fixture *f, struct move_report *out, struct buf *why)
{
	f->conf.store_dir = f->t.dir;
	return store_move(&f->conf, out, why);
}

static void
move_to(const char *bytes)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FIXTURE struct fixture f = {0};
	bool stay = !strcmp(bytes, BYTES_FILE);
	struct move_report r;
	char n[32];

	if (!test_on_server())
		return;
	f = fixture(bytes);
	ck_assert_msg(!move(&f, &r, &why), "%s", buf_str(&why));
	ck_assert_int_eq(r.profiles, !stay);
	ck_assert_int_eq(r.profile_bytes, stay ? 0 : (int64_t)strlen(TEXT));
	ck_assert_int_eq(r.window_bytes, 12);
	check_moved(&f, bytes);
	ck_assert_uint_eq(objects_count(f.objects), !strcmp(bytes, BYTES_S3));
	/* numbers have not changed */
	test_sql(&f.t, "SELECT rate FROM session", n, sizeof(n));
	ck_assert_double_eq(strtod(n, NULL), 99.5);
	test_sql(&f.t, "SELECT COUNT(*) FROM segment WHERE host = ''", n,
	         sizeof(n));
	ck_assert_str_eq(n, "1");
}

#define BASE     "a base of counted windows"
#define COUNTS   "counts"
#define COUNTED  2
#define WITH_SUM (COUNTED + 1)

/* Adds counted minutes, and then the hour whose stacks they count. */
static void
add_counted(struct store *s)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w[WITH_SUM] = {0};
	char series[ID_MAX];

	ck_assert_int_eq(series_of(s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	for (int i = 0; i < WITH_SUM; i++)
		w[i] = (struct window_ask){
			.series = series,
			.level = i < COUNTED ? WINDOW_MINUTE : WINDOW_HOUR,
			.start_ms = START + 7200000 + i * 60000,
			.end_ms = START + 7200000 + i * 60000 + 60000,
			.duration_ms = 60000,
			.windows = 1,
		};
	ck_assert_int_eq(segment_append(&g, BASE, strlen(BASE), &w[COUNTED]),
	                 0);
	for (int i = 0; i < COUNTED; i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);

		buf_puts(&file, COUNTED_MAGIC);
		counted_put(&file, (uint32_t)(g.length - w[COUNTED].start));
		counted_put(&file, (uint32_t)strlen(BASE));
		counted_put(&file, (uint32_t)strlen(COUNTS));
		buf_puts(&file, COUNTS);
		ck_assert_int_eq(segment_append(&g, file.p, file.len, &w[i]),
		                 0);
	}
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, w, WITH_SUM, NULL), 0);
}

static void
check_counted(struct store *s, const struct window *w)
{
	CLEANUP_BUF struct buf is = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(window_read(s, w, &is), 0);
	ck_assert_uint_eq(is.len, COUNTED_HEAD + strlen(COUNTS) + strlen(BASE));
	ck_assert_str_eq(buf_str(&is) + COUNTED_HEAD, COUNTS BASE);
}

TEST(counted_windows_move_with_one_base)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf hour = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_STORE struct store s = {0};
	CLEANUP_WINDOWS struct window_list l = {0}, hours = {0};
	struct conf lite;
	struct move_report r;
	char series[ID_MAX];

	if (!test_on_server())
		return;
	f = fixture(BYTES_FILE);
	lite = test_conf(f.t.dir);
	lite.store_database = NULL;
	ck_assert_int_eq(store_open(&lite, true, &s, &why), 0);
	add_counted(&s);
	ck_assert_msg(!move(&f, &r, &why), "%s", buf_str(&why));
	ck_assert_int_eq(
		r.window_bytes,
		12 + (int64_t)(strlen(BASE) +
	                       COUNTED * (COUNTED_HEAD + strlen(COUNTS))));
	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, "{}", series),
	                 0);
	ck_assert_int_eq(window_between(&f.t.s, series, WINDOW_MINUTE,
	                                START + 7200000, INT64_MAX, &l),
	                 0);
	ck_assert_uint_eq(l.n, COUNTED);
	for (size_t i = 0; i < l.n; i++)
		check_counted(&f.t.s, &l.items[i]);
	ck_assert_int_eq(window_between(&f.t.s, series, WINDOW_HOUR, START,
	                                INT64_MAX, &hours),
	                 0);
	ck_assert_uint_eq(hours.n, 1);
	ck_assert_int_eq(window_read(&f.t.s, &hours.items[0], &hour), 0);
	ck_assert_str_eq(buf_str(&hour), BASE);
}
END

/* Rows of a table go in batches of 500. */
TEST(a_table_of_many_rows_moves_whole)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FIXTURE struct fixture f = {0};
	CLEANUP_STORE struct store s = {0};
	struct conf lite;
	struct move_report r;
	char n[32];

	if (!test_on_server())
		return;
	f = fixture(BYTES_FILE);
	lite = test_conf(f.t.dir);
	lite.store_database = NULL;
	ck_assert_int_eq(store_open(&lite, true, &s, &why), 0);
	ck_assert_int_eq(store_begin(&s), 0);
	for (int i = 0; i < 1203; i++) {
		char target[16];
		const struct audit a = {.tenant = (char *)TEST_TENANT,
		                        .actor = (char *)"tok-x",
		                        .action = (char *)"CreateService",
		                        .target = target,
		                        .request_id = (char *)"",
		                        .detail = (char *)"{}"};

		snprintf(target, sizeof(target), "s%d", i);
		ck_assert_int_eq(audit_add(&s, &a), 0);
	}
	ck_assert_int_eq(store_end(&s, 0), 0);
	ck_assert_msg(!move(&f, &r, &why), "%s", buf_str(&why));
	test_sql(&f.t, "SELECT COUNT(DISTINCT target) FROM audit", n,
	         sizeof(n));
	ck_assert_str_eq(n, "1203");
}
END

TEST(profiles_stay_in_files)
{
	move_to(BYTES_FILE);
}
END

TEST(profiles_move_into_the_database)
{
	move_to(BYTES_DB);
}
END

TEST(profiles_move_to_an_object_store)
{
	move_to(BYTES_S3);
}
END

/* Objects are put before the rows, so the next attempt finds them. */
TEST(a_move_that_an_object_store_stops_begins_anew)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FIXTURE struct fixture f = {0};
	struct move_report r;
	char n[32];

	if (!test_on_server())
		return;
	f = fixture(BYTES_S3);

	objects_mood(f.objects, OBJECTS_REFUSE);
	ck_assert_int_ne(move(&f, &r, &why), 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&why), "blob-"));
	test_sql(&f.t, "SELECT COUNT(*) FROM session", n, sizeof(n));
	ck_assert_str_eq(n, "0");
	objects_mood(f.objects, OBJECTS_FINE);
	for (int i = 0; i < 2; i++) {
		buf_clear(&why);
		if (!i) /* rows fail after the object was put */
			test_sql(&f.t,
			         "INSERT INTO link_key VALUES ('x', 'y', 1)",
			         NULL, 0);
		ck_assert_int_eq(move(&f, &r, &why), i ? 0 : -EEXIST);
		test_sql(&f.t, "DELETE FROM link_key", NULL, 0);
	}
	check_moved(&f, BYTES_S3);
}
END

/* The answers of an object store when bytes are put, or read again. */
static const enum objects_mood moods[] = {
	OBJECTS_HANG,    OBJECTS_REFUSE,  OBJECTS_FLOOD,    OBJECTS_CLOSE,
	OBJECTS_CUT,     OBJECTS_TRICKLE, OBJECTS_FAIL,     OBJECTS_REDIRECT,
	OBJECTS_HEADERS, OBJECTS_HEADER,  OBJECTS_CONTINUE, OBJECTS_SHORT,
	OBJECTS_LONG,    OBJECTS_OTHER,
};

TEST(a_move_ends_whatever_the_object_store_does_and_begins_anew)
{
	for (size_t i = 0; i < ARRAY_LEN(moods) && test_on_server(); i++) {
		CLEANUP_FIXTURE struct fixture f = fixture(BYTES_S3);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct move_report r;
		int rc = 1;

		f.conf.s3_timeout = 1;
		for (int n = 2; n >= 0 && rc; n--) {
			int64_t began = clock_mono_ns();

			buf_clear(&why);
			objects_spoil(f.objects, moods[i], n);
			rc = move(&f, &r, &why);
			ck_assert_int_lt((clock_mono_ns() - began) / NS_PER_S,
			                 SECONDS);
			ck_assert_msg(!rc || strstr(buf_str(&why), "blob-"),
			              "%zu: %s", i, buf_str(&why));
		}
		ck_assert_msg(!rc, "%zu: %s", i, buf_str(&why));
		objects_mood(f.objects, OBJECTS_FINE);
		check_moved(&f, BYTES_S3);
		ck_assert_str_eq(objects_refused(f.objects), "");
	}
}
END

SUITE("move_server", .seconds = 120);
