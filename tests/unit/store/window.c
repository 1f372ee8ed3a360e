#include "store/window.h"
#include "store/continuous.h"
#include "store/history.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "lib/store.h"
#include "store/blob.h"
#include "store/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define T0     (20000 * DAY) /* midnight, October 2024 */
#define HOST   TEST_HOST

struct fixture {
	struct test_store t;
	char series[ID_MAX];
};

static void
fixture_done(struct fixture *f)
{
	test_store_done(&f->t);
}
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

static struct fixture
fixture(void)
{
	struct fixture f = {.t = test_store()};

	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           HOST, "{}", f.series),
	                 0);
	return f;
}

static struct window_ask
ask(const struct fixture *f, enum window_level level, int64_t start_ms,
    int64_t span_ms, int64_t samples)
{
	return (struct window_ask){
		.series = f->series,
		.level = level,
		.start_ms = start_ms,
		.end_ms = start_ms + span_ms,
		.duration_ms = span_ms,
		.windows = 1,
		.sample_count = samples,
		.value = samples * 10,
	};
}

/* Stores n windows of span_ms in a row, with one sample each. */
static void
capture(struct fixture *f, int64_t start_ms, int64_t span_ms, int n)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w[400];

	ck_assert_int_le(n, (int)ARRAY_LEN(w));
	ck_assert_int_eq(segment_create(&f->t.s, HOST, &g), 0);
	for (int i = 0; i < n; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "window %d", i);

		w[i] = ask(f, WINDOW_CAPTURED, start_ms + i * span_ms, span_ms,
		           1);
		ck_assert_int_eq(segment_append(&g, text, (size_t)len, &w[i]),
		                 0);
	}
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(&f->t.s, &g, w, (size_t)n, NULL), 0);
}

static int
roll(struct fixture *f, enum window_level level,
     const struct window_list *children)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	int64_t start = window_floor(level, children->items[0].start_ms);
	struct window_ask w = ask(f, level, start, window_span_ms(level), 0);

	w.duration_ms = w.windows = 0;
	for (size_t i = 0; i < children->n; i++) {
		w.sample_count += children->items[i].sample_count;
		w.duration_ms += children->items[i].duration_ms;
		w.windows += children->items[i].windows > 0
		                     ? children->items[i].windows
		                     : 1;
	}
	ck_assert_int_eq(segment_create(&f->t.s, HOST, &g), 0);
	ck_assert_int_eq(segment_append(&g, "rollup", 6, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	return window_rollup(&f->t.s, &g, &w, children);
}

/* Lists the windows of the oldest rollup that is due; false: none is due. */
static bool
ripe(struct fixture *f, enum window_level level, int64_t before_ms,
     struct window_list *out)
{
	CLEANUP_RIPE struct ripe_list l = {0};

	ck_assert_int_eq(window_ripe(&f->t.s, level, before_ms, 10, &l), 0);
	if (!l.n)
		return false;
	ck_assert_int_eq(window_children(&f->t.s, &l.items[0], level, out), 0);
	ck_assert_uint_gt(out->n, 0);
	return true;
}

/* Makes every rollup of a level that is due; returns their number. */
static int
roll_all(struct fixture *f, enum window_level level)
{
	for (int n = 0;; n++) {
		CLEANUP_WINDOWS struct window_list l = {0};

		if (!ripe(f, level, T0 + 100 * DAY, &l))
			return n;
		ck_assert_int_eq(roll(f, level, &l), 0);
	}
}

/* Returns the samples of a range, and the number of windows they came from. */
static int64_t
samples(struct fixture *f, int64_t from_ms, int64_t to_ms, size_t *windows)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int64_t sum = 0;

	ck_assert_int_eq(
		window_plan(&f->t.s, f->series, from_ms, to_ms, WINDOW_DAY, &l),
		0);
	for (size_t i = 0; i < l.n; i++) {
		sum += l.items[i].sample_count;
		if (i)
			ck_assert_int_ge(l.items[i].start_ms,
			                 l.items[i - 1].start_ms);
	}
	if (windows)
		*windows = l.n;
	return sum;
}

TEST(a_series_is_made_once)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	char again[ID_MAX], other[ID_MAX];

	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           HOST, "{}", again),
	                 0);
	ck_assert_str_eq(again, f.series);
	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           HOST, "{\"v\":\"2\"}", other),
	                 0);
	ck_assert_str_ne(other, f.series);
	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, "nobody", "cpu", HOST,
	                           "{}", other),
	                 -ENOENT);
}
END

TEST(bytes_of_a_window_are_read_back_and_proven)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	char path[256];
	int fd;

	capture(&f, T0, SECOND, 3);
	ck_assert_int_eq(window_between(&f.t.s, f.series, WINDOW_CAPTURED, T0,
	                                T0 + MINUTE, &l),
	                 0);
	ck_assert_uint_eq(l.n, 3);
	ck_assert_int_eq(window_read(&f.t.s, &l.items[1], &b), 0);
	ck_assert_str_eq(buf_str(&b), "window 1");
	if (test_on_server()) {
		test_sql(&f.t,
		         "UPDATE blob_bytes SET bytes = overlay(bytes "
		         "PLACING 'W' FROM 9 FOR 1)",
		         NULL, 0);
	} else {
		snprintf(path, sizeof(path), "%s/segments/%s.seg", f.t.dir,
		         l.items[1].segment);
		fd = open(path, O_WRONLY);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(pwrite(fd, "W", 1, l.items[1].start), 1);
		close(fd);
	}
	buf_clear(&b);
	ck_assert_int_eq(window_read(&f.t.s, &l.items[1], &b), -EBADMSG);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_int_eq(window_read(&f.t.s, &l.items[2], &b), 0);
}
END

TEST(a_row_names_no_file_but_a_segment)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	char segment[] = "seg-../../stoker.db", checksum[] = "";
	struct window w = {.segment = segment, .checksum = checksum};

	ck_assert_int_eq(window_read(&f.t.s, &w, &b), -EBADMSG);
}
END

TEST(windows_of_a_service_that_is_gone_are_left_out)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w = ask(&f, WINDOW_CAPTURED, T0, SECOND, 1);
	size_t stored = 7;
	int64_t bytes, n;

	ck_assert_int_eq(segment_create(&f.t.s, HOST, &g), 0);
	ck_assert_int_eq(segment_append(&g, "x", 1, &w), 0);
	ck_assert_int_eq(service_delete(&f.t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(window_commit(&f.t.s, &g, &w, 1, &stored), 0);
	ck_assert_uint_eq(stored, 0);
	ck_assert_int_eq(window_usage(&f.t.s, &bytes, &n), 0);
	ck_assert_int_eq(n, 0);
}
END

TEST(a_sum_that_could_not_be_made_stands_for_its_windows)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	size_t windows;

	capture(&f, T0, MINUTE / 2, 6);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 3);
	test_sql(&f.t,
	         "UPDATE profile_window SET length = 0 WHERE level = 1 AND "
	         "start_ms = (SELECT MIN(start_ms) FROM profile_window)",
	         NULL, 0);
	ck_assert_int_eq(samples(&f, T0, T0 + DAY, &windows), 6);
	ck_assert_uint_eq(windows, 4);
	ck_assert_int_eq(roll_all(&f, WINDOW_HOUR), 1);
	test_sql(&f.t, "UPDATE profile_window SET length = 0 WHERE level = 2",
	         NULL, 0);
	ck_assert_int_eq(samples(&f, T0 - DAY, T0 + DAY, &windows), 6);
	ck_assert_uint_eq(windows, 4);
}
END

static size_t
planned_below_days(struct fixture *f)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int64_t sum = 0;

	ck_assert_int_eq(window_plan(&f->t.s, f->series, T0 - DAY, T0 + 2 * DAY,
	                             WINDOW_HOUR, &l),
	                 0);
	for (size_t i = 0; i < l.n; i++)
		sum += l.items[i].sample_count;
	ck_assert_int_eq(sum, 6);
	return l.n;
}

TEST(a_sum_that_is_too_coarse_stands_for_its_windows_as_long_as_all_are_left)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	size_t windows;

	capture(&f, T0, HOUR / 2, 6);
	ck_assert_int_gt(roll_all(&f, WINDOW_MINUTE), 0);
	ck_assert_int_gt(roll_all(&f, WINDOW_HOUR), 2);
	ck_assert_int_eq(roll_all(&f, WINDOW_DAY), 1);
	ck_assert_int_eq(samples(&f, T0 - DAY, T0 + 2 * DAY, &windows), 6);
	ck_assert_uint_eq(windows, 1);
	ck_assert_uint_ge(planned_below_days(&f), 3);
	test_sql(&f.t,
	         "DELETE FROM profile_window WHERE level = 2 AND start_ms = "
	         "(SELECT MIN(start_ms) FROM profile_window WHERE level = 2)",
	         NULL, 0);
	ck_assert_uint_eq(planned_below_days(&f), 1);
}
END

TEST(a_range_takes_the_coarsest_windows_and_each_sample_once)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	size_t n;

	/* two days of one window every ten minutes, rolled up to all levels */
	capture(&f, T0, 10 * MINUTE, 288);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 288);
	ck_assert_int_eq(roll_all(&f, WINDOW_HOUR), 48);
	ck_assert_int_eq(roll_all(&f, WINDOW_DAY), 2);
	ck_assert_int_eq(samples(&f, T0, T0 + 2 * DAY, &n), 288);
	ck_assert_uint_eq(n, 2);
	/* 00:30 to 01:00 of the next day */
	ck_assert_int_eq(samples(&f, T0 + 30 * MINUTE, T0 + 25 * HOUR, &n),
	                 147);
	ck_assert_uint_eq(n, 3 + 23 + 1);
	for (int64_t from = 0; from < 3 * HOUR; from += 7 * MINUTE)
		for (int64_t to = from; to < 30 * HOUR; to += 97 * MINUTE) {
			int64_t ten = 10 * MINUTE;
			int64_t first = (from + ten - 1) / ten;
			int64_t last = (to + ten - 1) / ten;

			ck_assert_int_eq(samples(&f, T0 + from, T0 + to, NULL),
			                 last - first);
		}
}
END

TEST(what_is_not_rolled_up_yet_counts_as_well)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	size_t n;

	capture(&f, T0, 10 * SECOND, 360);
	ck_assert(ripe(&f, WINDOW_MINUTE, T0 + HOUR, &l));
	ck_assert_uint_eq(l.n, 6);
	ck_assert_int_eq(roll(&f, WINDOW_MINUTE, &l), 0);
	ck_assert_int_eq(samples(&f, T0, T0 + HOUR, &n), 360);
	ck_assert_uint_eq(n, 355);
	/* late windows are added up in another rollup */
	capture(&f, T0 + 5 * SECOND, 10 * SECOND, 2);
	ck_assert_int_eq(samples(&f, T0, T0 + HOUR, NULL), 362);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 60);
	ck_assert_int_eq(samples(&f, T0, T0 + HOUR, &n), 362);
	ck_assert_uint_eq(n, 61);
}
END

/* In the first hour of continuous profiling there may be only one window. */
TEST(the_coarsest_windows_of_a_range_may_begin_before_it)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	const struct page page = {.limit = 10, .cursor = ""};
	static const struct {
		int64_t from_ms;
		size_t n;
	} asked[] = {{T0 + HOUR - 1, 1}, {T0 + HOUR, 0}, {T0, 1}};

	capture(&f, T0 + 30 * MINUTE, 10 * SECOND, 6);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 1);
	ck_assert_int_eq(roll_all(&f, WINDOW_HOUR), 1);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		CLEANUP_WINDOWS struct window_list l = {0};

		ck_assert_int_eq(history_windows(&f.t.s, f.series, HISTORY_TOP,
		                                 asked[i].from_ms, 0, page, &l),
		                 0);
		ck_assert_uint_eq(l.n, asked[i].n);
	}
}
END

TEST(windows_before_their_time_are_not_ripe)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};

	capture(&f, T0, 10 * SECOND, 6);
	ck_assert(!ripe(&f, WINDOW_MINUTE, T0 + MINUTE - 1, &l));
	ck_assert(ripe(&f, WINDOW_MINUTE, T0 + MINUTE, &l));
}
END

/* Opens the store as another host. */
static struct store
other_host(struct fixture *f)
{
	struct store s = test_store_again(&f->t, true);

	strcpy(s.host, "host2");
	return s;
}

TEST(windows_in_files_of_a_host_do_not_ripen_on_another)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_STORE struct store other = other_host(&f);
	CLEANUP_RIPE struct ripe_list here = {0}, there = {0};

	capture(&f, T0, SECOND, 3);
	ck_assert_int_eq(
		window_ripe(&other, WINDOW_MINUTE, T0 + DAY, 10, &there), 0);
	ck_assert_uint_eq(there.n, test_on_server());
	ck_assert_int_eq(
		window_ripe(&f.t.s, WINDOW_MINUTE, T0 + DAY, 10, &here), 0);
	ck_assert_uint_eq(here.n, 1);
}
END

TEST(pushed_windows_ripen_where_their_bytes_are)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_STORE struct store other = other_host(&f);
	CLEANUP_RIPE struct ripe_list due = {0}, there = {0};

	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           WINDOW_PUSHED, "{}", f.series),
	                 0);
	capture(&f, T0, 10 * SECOND, 6);
	ck_assert_int_eq(
		window_ripe(&other, WINDOW_MINUTE, T0 + MINUTE, 10, &there), 0);
	ck_assert_uint_eq(there.n, test_on_server());
	ck_assert_int_eq(
		window_ripe(&f.t.s, WINDOW_MINUTE, T0 + MINUTE, 10, &due), 0);
	ck_assert_uint_eq(due.n, 1);
	ck_assert_str_eq(due.items[0].series, f.series);
}
END

TEST(windows_in_the_database_go_with_their_segment_wherever_upkeep_runs)
{
	const struct window_keep keep = {.all_ms = 1};
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_STORE struct store other = other_host(&f);
	char n[8];

	if (!test_on_server())
		return;
	capture(&f, T0, 10 * SECOND, 6);
	test_sql(&f.t, "SELECT COUNT(*) FROM blob_bytes", n, sizeof(n));
	ck_assert_str_eq(n, "1");
	ck_assert_int_eq(blob_sweep(&other, BYTES_DB), 0);
	ck_assert_int_eq(window_expire(&other, &keep), 6);
	ck_assert_int_eq(window_reap(&other), 1);
	test_sql(&f.t, "SELECT COUNT(*) FROM blob_bytes", n, sizeof(n));
	ck_assert_str_eq(n, "0");
	ck_assert_int_eq(window_reap(&other), 0);
}
END

TEST(a_host_neither_deletes_nor_forgets_the_windows_of_another)
{
	const struct window_keep keep = {.all_ms = 1};
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_STORE struct store other = other_host(&f);

	if (test_on_server())
		return; /* no host owns them there */
	capture(&f, T0, 10 * SECOND, 6);
	ck_assert_int_eq(window_expire(&other, &keep), 0);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 6);
	ck_assert_int_eq(window_reap(&other), 0);
	ck_assert_int_eq(window_reap(&f.t.s), 7); /* six holes and the file */
}
END

TEST(a_host_leaves_what_a_rollup_of_another_holds)
{
	const struct window_keep keep = {.level_ms = {HOUR}};
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_STORE struct store other = other_host(&f);

	if (test_on_server())
		return; /* no host owns them there */
	capture(&f, T0, 10 * SECOND, 6);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 1);
	ck_assert_int_eq(window_expire(&other, &keep), 0);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 6);
}
END

TEST(a_host_of_another_name_adopts_the_windows_of_its_store)
{
	const struct window_keep keep = {.all_ms = 1};
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_STORE struct store renamed = other_host(&f);

	if (test_on_server())
		return;
	capture(&f, T0, 10 * SECOND, 6);
	ck_assert_int_eq(store_adopt(&renamed), 0);
	ck_assert_int_eq(window_expire(&renamed, &keep), 6);
	ck_assert_int_eq(window_reap(&renamed), 7);
}
END

TEST(a_rollup_of_yesterdays_news_is_stale)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};

	capture(&f, T0, 10 * SECOND, 3);
	ck_assert(ripe(&f, WINDOW_MINUTE, T0 + HOUR, &l));
	capture(&f, T0 + 30 * SECOND, 10 * SECOND, 3);
	ck_assert_int_eq(roll(&f, WINDOW_MINUTE, &l), -ESTALE);
	ck_assert_int_eq(samples(&f, T0, T0 + MINUTE, NULL), 6);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 1);
	ck_assert_int_eq(roll(&f, WINDOW_MINUTE, &l), -ESTALE);
	ck_assert_int_eq(samples(&f, T0, T0 + MINUTE, NULL), 6);
}
END

TEST(retention_takes_what_rollups_hold_and_what_is_past_its_days)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	struct window_keep keep = {.level_ms = {HOUR}};
	const struct continuous c = test_continuous(TEST_TENANT);

	capture(&f, T0, 10 * SECOND, 12);
	ck_assert_int_eq(roll_all(&f, WINDOW_MINUTE), 2);
	capture(&f, T0 + 2 * MINUTE, 10 * SECOND, 6);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 12);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 0);
	ck_assert_int_eq(samples(&f, T0, T0 + HOUR, NULL), 18);
	ck_assert_int_eq(continuous_put(&f.t.s, &c), 0);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 8);
	ck_assert_int_eq(samples(&f, T0, T0 + HOUR, NULL), 0);
}
END

TEST(windows_of_a_service_are_kept_for_as_many_days_as_it_says)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	struct window_keep keep = {.all_ms = DAY};
	int64_t now = clock_wall_ms();
	const struct continuous c = test_continuous(TEST_TENANT);

	ck_assert_int_eq(continuous_put(&f.t.s, &c), 0);
	capture(&f, now - 7 * DAY - HOUR, SECOND, 1);
	capture(&f, now - 7 * DAY + HOUR, SECOND, 1);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 1);
	ck_assert_int_eq(window_plan(&f.t.s, f.series, 0, now, WINDOW_DAY, &l),
	                 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].start_ms, now - 7 * DAY + HOUR);
	ck_assert_int_eq(continuous_delete(&f.t.s, TEST_TENANT, TEST_SERVICE),
	                 0);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 1);
}
END

TEST(pinned_windows_stay)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	struct window_keep keep = {.all_ms = DAY};

	capture(&f, T0, SECOND, 3);
	ck_assert_int_eq(
		window_plan(&f.t.s, f.series, T0, T0 + DAY, WINDOW_DAY, &l), 0);
	ck_assert_int_eq(window_pin(&f.t.s, "other", l.items[1].id, true),
	                 -ENOENT);
	ck_assert_int_eq(window_pin(&f.t.s, TEST_TENANT, l.items[1].id, true),
	                 0);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 2);
	ck_assert_int_eq(window_shrink(&f.t.s, 0), 0);
	ck_assert_int_eq(window_pin(&f.t.s, TEST_TENANT, l.items[1].id, false),
	                 0);
	ck_assert_int_eq(window_shrink(&f.t.s, 0), 1);
}
END

TEST(the_oldest_go_until_the_rest_fits)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int64_t bytes, n;

	capture(&f, T0, SECOND, 9); /* of 8 bytes */
	ck_assert_int_eq(window_shrink(&f.t.s, 72), 0);
	ck_assert_int_eq(window_shrink(&f.t.s, 41), 4);
	ck_assert_int_eq(window_usage(&f.t.s, &bytes, &n), 0);
	ck_assert_int_eq(bytes, 40);
	ck_assert_int_eq(samples(&f, T0 + 4 * SECOND, T0 + DAY, NULL), 5);
}
END

/* A series in another tenant's service of the same name. */
static struct fixture
other_tenant(struct fixture *f)
{
	struct fixture other = {.t = f->t};

	test_tenant(&f->t.s, "other");
	ck_assert_int_eq(series_of(&f->t.s, "other", TEST_SERVICE, "cpu", HOST,
	                           "{}", other.series),
	                 0);
	return other;
}

TEST(a_full_store_takes_windows_of_the_tenant_that_holds_the_most)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	struct fixture noisy = other_tenant(&f);

	capture(&f, T0, SECOND, 2); /* of 8 bytes */
	capture(&noisy, T0 + HOUR, SECOND, 6);
	ck_assert_int_eq(window_shrink(&f.t.s, 64), 0);
	ck_assert_int_eq(window_shrink(&f.t.s, 40), 3);
	ck_assert_int_eq(samples(&f, T0, T0 + DAY, NULL), 2);
	ck_assert_int_eq(
		samples(&noisy, T0 + HOUR + 3 * SECOND, T0 + DAY, NULL), 3);
}
END

TEST(tenants_give_windows_in_turn_once_they_hold_as_much)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	struct fixture other = other_tenant(&f);

	capture(&f, T0, SECOND, 3);
	capture(&other, T0 + HOUR, SECOND, 5);
	ck_assert_int_eq(window_shrink(&f.t.s, 32), 4);
	ck_assert_int_eq(samples(&f, T0 + SECOND, T0 + DAY, NULL), 2);
	ck_assert_int_eq(samples(&other, T0, T0 + DAY, NULL), 2);
}
END

TEST(another_tenant_gives_way_to_pinned_windows)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	struct fixture other = other_tenant(&f);

	capture(&f, T0, SECOND, 3);
	capture(&other, T0, SECOND, 2);
	ck_assert_int_eq(
		window_plan(&f.t.s, f.series, T0, T0 + DAY, WINDOW_DAY, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		ck_assert_int_eq(
			window_pin(&f.t.s, TEST_TENANT, l.items[i].id, true),
			0);
	ck_assert_int_eq(window_shrink(&f.t.s, 32), 1);
	ck_assert_int_eq(samples(&f, T0, T0 + DAY, NULL), 3);
	ck_assert_int_eq(samples(&other, T0, T0 + DAY, NULL), 1);
}
END

static int64_t
segment_blocks(const struct fixture *f, const char *segment)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/segments/%s.seg", f->t.dir, segment);
	return stat(path, &st) ? -1 : st.st_blocks;
}

/* Stores one window of 1 MiB; returns its segment. */
static void
big(struct fixture *f, const char *series, char segment[static ID_MAX])
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w = ask(f, WINDOW_CAPTURED, T0, SECOND, 1);
	CLEANUP_FREE char *bytes = malloc(1 << 20);

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, 'x', 1 << 20);
	ck_assert_int_eq(segment_create(&f->t.s, HOST, &g), 0);
	for (int i = 0; i < 2; i++) {
		w.series = i ? f->series : series;
		ck_assert_int_eq(segment_append(&g, bytes, 1 << 20, &w), 0);
		ck_assert_int_eq(window_commit(&f->t.s, &g, &w, 1, NULL), 0);
	}
	ck_assert_int_eq(segment_sync(&g), 0);
	memcpy(segment, g.id, ID_MAX);
}

TEST(a_deleted_service_gives_its_bytes_back_at_once)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	struct service other = test_no_match(TEST_TENANT, "other");
	char series[ID_MAX], segment[ID_MAX];
	int64_t before;

	if (test_on_server())
		return; /* there are no files there */
	ck_assert_int_eq(service_add(&f.t.s, &other), 0);
	ck_assert_int_eq(series_of(&f.t.s, TEST_TENANT, "other", "cpu", HOST,
	                           "{}", series),
	                 0);
	big(&f, series, segment);
	before = segment_blocks(&f, segment);
	ck_assert_int_eq(service_delete(&f.t.s, TEST_TENANT, "other"), 0);
	ck_assert_int_eq(window_reap(&f.t.s), 1);
	ck_assert_int_le(segment_blocks(&f, segment), before - 1024);
	ck_assert_int_eq(samples(&f, T0, T0 + DAY, NULL), 1);
	/* the file is deleted with its last window */
	ck_assert_int_eq(service_delete(&f.t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(window_reap(&f.t.s), 2);
	ck_assert_int_eq(segment_blocks(&f, segment), -1);
	ck_assert_int_eq(window_reap(&f.t.s), 0);
}
END

/* Stores windows of an idle service, which all begin at the same byte. */
static void
idle(struct fixture *f, int n)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;

	ck_assert_int_eq(segment_create(&f->t.s, HOST, &g), 0);
	for (int i = 0; i < n; i++) {
		struct window_ask w =
			ask(f, WINDOW_CAPTURED, T0 + i * SECOND, SECOND, 0);

		ck_assert_int_eq(segment_append(&g, "", 0, &w), 0);
		ck_assert_int_eq(window_commit(&f->t.s, &g, &w, 1, NULL), 0);
	}
}

TEST(windows_of_an_idle_service_expire)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	const struct window_keep keep = {.all_ms = 1};

	idle(&f, 3);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 3);
}
END

TEST(an_idle_service_can_be_removed)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	idle(&f, 3);
	ck_assert_int_eq(service_delete(&f.t.s, TEST_TENANT, TEST_SERVICE), 0);
}
END

TEST(a_segment_without_windows_stays_while_it_is_open)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_ask w = ask(&f, WINDOW_CAPTURED, T0, SECOND, 1);
	const struct window_keep keep = {.all_ms = 1};

	if (test_on_server())
		return; /* no file is open */
	ck_assert_int_eq(segment_create(&f.t.s, HOST, &g), 0);
	ck_assert_int_eq(segment_append(&g, "x", 1, &w), 0);
	ck_assert_int_eq(window_commit(&f.t.s, &g, &w, 1, NULL), 0);
	ck_assert_int_eq(window_expire(&f.t.s, &keep), 1);
	ck_assert_int_eq(window_reap(&f.t.s), 1); /* the hole */
	ck_assert_int_ge(segment_blocks(&f, g.id), 0);
	ck_assert_int_eq(window_reap(&f.t.s), 0);
	segment_close(&g);
	ck_assert_int_eq(window_reap(&f.t.s), 1);
	ck_assert_int_eq(segment_blocks(&f, g.id), -1);
}
END

TEST(a_file_that_no_transaction_names_goes_when_nobody_writes_to_it)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;

	if (test_on_server())
		return;
	ck_assert_int_eq(segment_create(&f.t.s, HOST, &g), 0);
	ck_assert_int_eq(window_reap(&f.t.s), 0);
	ck_assert_int_eq(segment_blocks(&f, g.id), 0);
	segment_close(&g);
	ck_assert_int_eq(window_reap(&f.t.s), 1);
	ck_assert_int_eq(segment_blocks(&f, g.id), -1);
}
END

TEST(continuous_is_created_replaced_and_deleted)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_CONTINUOUS_LIST struct continuous_list l = {0};
	CLEANUP_CONTINUOUS struct continuous got = {0};
	char types[] = "[\"cpu\"]", by[] = "tok-x", service[] = TEST_SERVICE;
	struct continuous c = {
		.tenant = (char *)TEST_TENANT,
		.service = service,
		.types = types,
		.created_by = by,
		.sample_rate = 19,
		.retention_days = 7,
		.enabled = 1,
	};

	ck_assert_int_eq(continuous_put(&t.s, &c), 0);
	c.sample_rate = 11;
	ck_assert_int_eq(continuous_put(&t.s, &c), 0);
	ck_assert_int_eq(continuous_get(&t.s, TEST_TENANT, service, &got), 0);
	ck_assert_int_eq(got.sample_rate, 11);
	ck_assert_str_eq(got.types, types);
	ck_assert_int_eq(continuous_list(&t.s, "", &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(continuous_delete(&t.s, TEST_TENANT, service), 0);
	ck_assert_int_eq(continuous_delete(&t.s, TEST_TENANT, service),
	                 -ENOENT);
	service[0] = 'x';
	ck_assert_int_eq(continuous_put(&t.s, &c), -ENOENT);
}
END

static void
put_problem(struct store *s, const char *host, const char *code)
{
	const struct continuous_problem p = {
		.tenant = (char *)TEST_TENANT,
		.service = (char *)TEST_SERVICE,
		.type = (char *)"cpu",
		.host = (char *)host,
		.code = (char *)code,
		.message = (char *)"why",
	};

	ck_assert_int_eq(continuous_problem_put(s, &p), 0);
}

TEST(a_problem_that_ends_on_one_host_stays_on_another)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_CONTINUOUS_PROBLEMS struct continuous_problem_list l = {0};

	put_problem(&t.s, "one", "Denied");
	put_problem(&t.s, "two", "Denied");
	put_problem(&t.s, "one", "");
	ck_assert_int_eq(
		continuous_problem_list(&t.s, TEST_TENANT, TEST_SERVICE, &l),
		0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].host, "two");
}
END

TEST(the_state_that_a_host_told_is_read)
{
	for (int i = 0; i < CONTINUOUS_HOST_STATES; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_JSON json_t *j = NULL;
		const struct continuous_host told = {.state = i};
		struct continuous_host got;

		json_open(&text, NULL, '{');
		continuous_host_put(&told, &text);
		json_close(&text, '}');
		j = json_loadb(text.p, text.len, 0, NULL);
		ck_assert_ptr_nonnull(j);
		continuous_host_read(j, &got);
		ck_assert_int_eq(got.state, told.state);
	}
}
END

TEST(windows_after_no_place_are_refused)
{
	static const char *const bad[] = {"x", "-1.win-a", "5", "5.", "5.a b"};
	CLEANUP_FIXTURE struct fixture f = fixture();

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_WINDOWS struct window_list l = {0};
		struct page page = {.limit = 5, .cursor = bad[i]};

		ck_assert_int_eq(history_windows(&f.t.s, f.series,
		                                 WINDOW_CAPTURED, 0, 0, page,
		                                 &l),
		                 -EINVAL);
	}
}
END

SUITE("window");
