/*
 * A host's windows, and what a centre makes of the blocks that it sends: both
 * must give the same answers.
 */
#include "store/block.h"

#include "base/clock.h"
#include "lib/random.h"
#include "lib/store.h"
#include "store/blob.h"
#include "store/history.h"
#include "store/quota.h"
#include "store/windows/block_private.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINUTE (60 * MS_PER_S)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define FAR    "far" /* the host that sends */

/* A host with two days, three hours and some minutes of windows of two series,
 * with gaps, and a centre. */
struct fixture {
	struct test_store host, centre;
	int64_t from_ms, to_ms, wait_ms;
	bool is_old; /* the host sends blocks of form 1 */
	uint64_t random;
};

static void
fixture_done(struct fixture *f)
{
	test_store_done(&f->host);
	test_store_done(&f->centre);
}
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

static const char *const types[] = {"cpu", "alloc"};

static uint64_t
random_below(uint64_t *seed, uint64_t n)
{
	return random_next(seed) % n;
}

/* Appends a minute to the segment; returns false if nothing was captured then.
 * Some hours have no windows, and some windows no samples. */
static bool
add_minute(struct fixture *f, const char *type, int64_t at, struct segment *g,
           struct window_ask *w)
{
	char text[64];
	int len =
		snprintf(text, sizeof(text), "%s at %lld", type, (long long)at);

	if ((at - f->from_ms) / HOUR % 7 == 3 || random_below(&f->random, 8))
		return false;
	w->level = WINDOW_MINUTE;
	w->start_ms = at;
	w->end_ms = at + MINUTE;
	w->duration_ms = (int64_t)random_below(&f->random, 60000);
	w->windows = 1 + (int64_t)random_below(&f->random, 6);
	w->value = (int64_t)random_below(&f->random, 1000000);
	w->sample_count = (int64_t)random_below(&f->random, 3);
	w->quota_ms = (int64_t)random_below(&f->random, 1000);
	ck_assert_int_eq(
		segment_append(g, text, w->sample_count ? (size_t)len : 0, w),
		0);
	return true;
}

static void
add_minutes(struct fixture *f, const char *type)
{
	static struct window_ask w[4000];
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct store *s = &f->host.s;
	char series[ID_MAX];
	size_t n = 0;

	ck_assert_int_eq(series_of(s, TEST_TENANT, TEST_SERVICE, type, FAR,
	                           "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(s, FAR, &g), 0);
	for (int64_t at = f->from_ms; at < f->to_ms; at += MINUTE) {
		ck_assert_uint_lt(n, ARRAY_LEN(w));
		w[n].series = series;
		n += add_minute(f, type, at, &g, &w[n]);
	}
	ck_assert_uint_gt(n, 100);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, w, n, NULL), 0);
}

static bool
roll_one(struct fixture *f, enum window_level level)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_RIPE struct ripe_list due = {0};
	struct store *s = &f->host.s;
	struct window_ask w;

	ck_assert_int_eq(window_ripe(s, level, f->to_ms, 1, &due), 0);
	if (!due.n)
		return false;
	ck_assert_int_eq(window_children(s, &due.items[0], level, &l), 0);
	w = window_sum(level, due.items[0].start_ms, &l);
	ck_assert_int_eq(segment_create(s, FAR, &g), 0);
	ck_assert_int_eq(segment_append(&g, "rollup", 6, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_rollup(s, &g, &w, &l), 0);
	return true;
}

static struct fixture
fixture(void)
{
	struct fixture f = {.host = test_store(), .centre = test_store()};

	snprintf(f.host.s.host, sizeof(f.host.s.host), FAR);
	f.random = 17;
	f.from_ms = window_floor(WINDOW_DAY, clock_wall_ms()) - 5 * DAY;
	f.to_ms = f.from_ms + 2 * DAY + 3 * HOUR + 21 * MINUTE;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		add_minutes(&f, types[i]);
	for (int level = WINDOW_HOUR; level <= WINDOW_DAY; level++)
		while (roll_one(&f, (enum window_level)level))
			;
	return f;
}

/* --- sending -------------------------------------------------------------- */

/* Returns the centre's answer to a block. */
static int
accept_block(struct fixture *f, const struct buf *bytes, int64_t *cursor_ms)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block b = {0};

	ck_assert_msg(!block_decode(bytes->p, bytes->len, &b, &why), "%s",
	              buf_str(&why));
	return block_accept(&f->centre.s, FAR, &b, bytes->p, bytes->len,
	                    cursor_ms);
}

/* Turns a block into form 1, whose entries have no time lost to quotas. */
static void
make_older(struct buf *bytes)
{
	CLEANUP_BUF struct buf older = BUF_INIT(BLOCK_MAX_BYTES);
	struct block_end e;
	uint64_t at;

	memcpy(&e, bytes->p + bytes->len - sizeof(e), sizeof(e));
	at = le64toh(e.entries);
	buf_add(&older, bytes->p, at);
	for (uint32_t i = 0; i < le32toh(e.windows); i++, at += BLOCK_ENTRY)
		buf_add(&older, bytes->p + at, BLOCK_ENTRY_1);
	buf_add(&older, bytes->p + at, le32toh(e.texts));
	memcpy(e.magic, BLOCK_MAGIC_1, BLOCK_MAGIC_LEN);
	buf_add(&older, &e, sizeof(e));
	buf_clear(bytes);
	buf_add(bytes, older.p, older.len);
}

static int
send_block(struct fixture *f, enum block_tier tier, int64_t start_ms,
           int64_t end_ms)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
	int64_t cursor_ms = 0;
	int rc = block_of_windows(&f->host.s, TEST_TENANT, tier, start_ms,
	                          end_ms, &b);

	if (!rc && f->is_old)
		make_older(&b);
	return rc == -ENODATA ? 0 : rc ?: accept_block(f, &b, &cursor_ms);
}

/* Sends blocks as a host does: minutes once their hour has ended, then the
 * hour, then days; for the last hour only minutes. */
static void
send_all(struct fixture *f)
{
	int64_t at;

	for (at = f->from_ms; at + HOUR <= f->to_ms; at += HOUR) {
		ck_assert_int_eq(send_block(f, BLOCK_MINUTES, at, at + HOUR),
		                 0);
		ck_assert_int_eq(send_block(f, BLOCK_HOURS, at, at + HOUR), 0);
		if ((at + HOUR) % DAY == 0)
			ck_assert_int_eq(send_block(f, BLOCK_DAYS,
			                            at + HOUR - DAY, at + HOUR),
			                 0);
	}
	for (; at < f->to_ms; at += 3 * MINUTE)
		ck_assert_int_eq(
			send_block(f, BLOCK_FRESH, at, at + 3 * MINUTE), 0);
}

/* --- comparing ------------------------------------------------------------ */

static void
series_in(struct store *s, const char *type, char out[static ID_MAX])
{
	ck_assert_int_eq(
		series_of(s, TEST_TENANT, TEST_SERVICE, type, FAR, "{}", out),
		0);
}

static void
assert_same(struct fixture *f, const struct window_list *host,
            const struct window_list *centre)
{
	ck_assert_uint_eq(host->n, centre->n);
	for (size_t i = 0; i < host->n; i++) {
		const struct window *a = &host->items[i],
				    *b = &centre->items[i];
		CLEANUP_BUF struct buf x = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf y = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(a->level, b->level);
		ck_assert_int_eq(a->start_ms, b->start_ms);
		ck_assert_int_eq(a->end_ms, b->end_ms);
		ck_assert_int_eq(a->duration_ms, b->duration_ms);
		ck_assert_int_eq(a->windows, b->windows);
		ck_assert_int_eq(a->sample_count, b->sample_count);
		ck_assert_int_eq(a->value, b->value);
		ck_assert_int_eq(f->is_old ? 0 : a->quota_ms, b->quota_ms);
		ck_assert_str_eq(a->checksum, b->checksum);
		ck_assert_int_eq(window_read(&f->host.s, a, &x), 0);
		ck_assert_int_eq(window_read(&f->centre.s, b, &y), 0);
		ck_assert_str_eq(buf_str(&x), buf_str(&y));
	}
}

static void
compare_plans(struct fixture *f, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		CLEANUP_WINDOWS struct window_list a = {0}, b = {0};
		char here[ID_MAX], there[ID_MAX];

		series_in(&f->host.s, types[i], here);
		series_in(&f->centre.s, types[i], there);
		ck_assert_int_eq(window_plan(&f->host.s, here, from_ms, to_ms,
		                             WINDOW_DAY, &a),
		                 0);
		ck_assert_int_eq(window_plan(&f->centre.s, there, from_ms,
		                             to_ms, WINDOW_DAY, &b),
		                 0);
		assert_same(f, &a, &b);
	}
}

/* Returns a time around those of the windows, sometimes on the hour. */
static int64_t
some_time(struct fixture *f)
{
	static const int64_t round[] = {1, MINUTE, HOUR, DAY};
	int64_t ms = f->from_ms - 2 * HOUR +
	             (int64_t)random_below(
			     &f->random,
			     (uint64_t)(f->to_ms - f->from_ms + 4 * HOUR));

	return ms - ms % round[random_below(&f->random, ARRAY_LEN(round))];
}

TEST(a_range_has_the_same_windows_at_the_centre)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	send_all(&f);
	compare_plans(&f, 0, INT64_MAX / 2);
	for (int i = 0; i < 60; i++) {
		int64_t a = some_time(&f), b = some_time(&f);

		compare_plans(&f, a < b ? a : b, a < b ? b : a);
	}
}
END

TEST(blocks_of_hosts_of_an_older_release_are_read)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	f.is_old = true;
	send_all(&f);
	compare_plans(&f, 0, INT64_MAX / 2);
}
END

TEST(a_trend_has_the_same_windows_at_the_centre)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	char here[ID_MAX], there[ID_MAX];

	send_all(&f);
	series_in(&f.host.s, "cpu", here);
	series_in(&f.centre.s, "cpu", there);
	for (int i = 0; i < 60; i++) {
		CLEANUP_WINDOWS struct window_list a = {0}, b = {0};
		int64_t x = some_time(&f), y = some_time(&f);
		int64_t from = x < y ? x : y, to = x < y ? y : x;
		enum window_level level = WINDOW_MINUTE + i % 3;

		ck_assert_int_eq(
			history_trend(&f.host.s, here, level, from, to, &a), 0);
		ck_assert_int_eq(
			history_trend(&f.centre.s, there, level, from, to, &b),
			0);
		assert_same(&f, &a, &b);
	}
}
END

/* Reads all pages of a list. */
static void
list(struct store *s, enum window_level level, int64_t from_ms, int64_t to_ms,
     int limit, struct window_list *out)
{
	CLEANUP_FREE char *cursor = strdup("");
	char series[ID_MAX];

	series_in(s, "cpu", series);
	for (;;) {
		CLEANUP_WINDOWS struct window_list l = {0};
		struct page page = {limit, cursor};
		const struct window *last;

		ck_assert_int_eq(history_windows(s, series, level, from_ms,
		                                 to_ms, page, &l),
		                 0);
		if (!l.n)
			return;
		ck_assert_uint_le(l.n, (size_t)limit);
		last = &l.items[l.n - 1];
		free(cursor);
		ck_assert_int_eq(
			history_cursor(last->start_ms, last->id, &cursor), 0);
		out->items = reallocarray(out->items, out->n + l.n,
		                          sizeof(*out->items));
		memcpy(out->items + out->n, l.items, l.n * sizeof(*l.items));
		out->n += l.n;
		free(l.items);
		l = (struct window_list){0};
	}
}

TEST(pages_of_windows_are_the_same_at_the_centre)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	send_all(&f);
	for (int level = WINDOW_MINUTE; level <= HISTORY_TOP; level++)
		for (int limit = 7; limit < 500; limit *= 8) {
			CLEANUP_WINDOWS struct window_list a = {0}, b = {0};
			int64_t from = f.from_ms + 90 * MINUTE;
			int64_t to = f.to_ms - 7 * MINUTE;

			list(&f.host.s, level, from, to, limit, &a);
			list(&f.centre.s, level, from, to, limit, &b);
			ck_assert_uint_gt(a.n, 0);
			assert_same(&f, &a, &b);
		}
}
END

TEST(a_window_of_a_block_is_found_by_its_id_and_its_beginning)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0}, found = {0}, none = {0};
	struct store *s = &f.centre.s;
	char series[ID_MAX], start[ID_MAX];

	send_all(&f);
	series_in(s, "cpu", series);
	ck_assert_int_eq(window_between(s, series, WINDOW_MINUTE, f.from_ms,
	                                f.to_ms, &l),
	                 0);
	for (size_t i = 0; i < l.n; i += 11) {
		CLEANUP_WINDOW struct window w = {0}, other = {0};
		CLEANUP_SERIES struct series of = {0}, of_other = {0};

		ck_assert_int_eq(
			window_get(s, TEST_TENANT, l.items[i].id, &w, &of), 0);
		ck_assert_str_eq(w.id, l.items[i].id);
		ck_assert_int_eq(w.start_ms, l.items[i].start_ms);
		ck_assert_str_eq(of.type, "cpu");
		ck_assert_str_eq(of.host, FAR);
		ck_assert_int_eq(window_get(s, "another", l.items[i].id, &other,
		                            &of_other),
		                 -ENOENT);
	}
	snprintf(start, sizeof(start), "%.10s", l.items[0].id);
	ck_assert_int_eq(window_find_ids(s, TEST_TENANT, start, &found), 0);
	ck_assert_uint_gt(found.n, 0);
	ck_assert_uint_le(found.n, WINDOW_FOUND_MAX);
	for (size_t i = 0; i < found.n; i++)
		ck_assert_int_eq(strncmp(found.items[i].id, start, 10), 0);
	ck_assert_int_eq(window_find_ids(s, "another", start, &none), 0);
	ck_assert_uint_eq(none.n, 0);
	ck_assert_int_eq(window_find_ids(s, TEST_TENANT, l.items[3].id, &none),
	                 0);
	ck_assert_uint_eq(none.n, 1);
}
END

TEST(a_window_of_a_tier_that_is_none_is_damaged)
{
	static const char *const changes[] = {
		"UPDATE run SET tier = 1000000000 WHERE tier = 1",
		"UPDATE block SET tier = 1000000000 WHERE tier = 1"};
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	struct store *s = &f.centre.s;
	char series[ID_MAX];

	if (db_is_shared(s->db))
		return; /* its partitions refuse an unknown tier */
	send_all(&f);
	series_in(s, "cpu", series);
	ck_assert_int_eq(window_between(s, series, WINDOW_MINUTE, f.from_ms,
	                                f.to_ms, &l),
	                 0);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		test_sql(&f.centre, changes[i], NULL, 0);
	ck_assert_int_eq(window_get(s, TEST_TENANT, l.items[0].id, &w, &of),
	                 -EBADMSG);
}
END

/* Sends what block_next() chooses until nothing is left; counts blocks by
 * tier. */
static void
send_due(struct fixture *f, int64_t now_ms, int count[BLOCK_TIERS])
{
	struct block_span next;
	int rc;

	while ((rc = block_next(&f->host.s, TEST_TENANT, now_ms, f->wait_ms,
	                        &next)) > 0) {
		ck_assert_int_le(next.end_ms, now_ms);
		count[next.tier]++;
		ck_assert_int_eq(
			send_block(f, next.tier, next.start_ms, next.end_ms),
			0);
		ck_assert_int_eq(block_sent(&f->host.s, TEST_TENANT, next.tier,
		                            next.end_ms),
		                 0);
	}
	ck_assert_int_eq(rc, 0);
}

TEST(a_host_sends_all_of_its_windows_in_time_and_each_once)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int count[BLOCK_TIERS] = {0};

	for (int64_t now = f.from_ms; now < f.to_ms; now += 7 * MINUTE) {
		send_due(&f, now, count);
		if (now / MINUTE % 5 == 0)
			compare_plans(&f, f.from_ms, now - 2 * MINUTE);
	}
	send_due(&f, f.to_ms + MINUTE, count);
	compare_plans(&f, 0, INT64_MAX / 2);
	ck_assert_int_eq(count[BLOCK_DAYS], 2);
	ck_assert_int_eq(count[BLOCK_HOURS], 2 * 24 + 3);
	ck_assert_int_eq(count[BLOCK_MINUTES], 2 * 24 + 3);
	ck_assert_int_gt(count[BLOCK_FRESH], 2 * 24 * 7);
}
END

/* Returns until when the centre has windows of a level. */
static int64_t
arrived_until(struct fixture *f, enum window_level level)
{
	struct arrived_list l = {0}, none = {0};
	int64_t until = 0;

	ck_assert_int_eq(block_arrived(&f->centre.s, "another", &none), 0);
	ck_assert_uint_eq(none.n, 0);
	ck_assert_int_eq(block_arrived(&f->centre.s, TEST_TENANT, &l), 0);
	for (size_t i = 0; i < l.n; i++) {
		ck_assert_str_eq(l.items[i].host, FAR);
		if (l.items[i].level == (int64_t)level)
			until = l.items[i].end_ms;
	}
	arrived_list_done(&l);
	return until;
}

TEST(minutes_of_an_hour_wait_for_the_host_s_turn)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int64_t end = window_floor(WINDOW_HOUR, f.from_ms) + HOUR;
	int count[BLOCK_TIERS] = {0};

	f.wait_ms = 20 * MINUTE;
	send_due(&f, end + f.wait_ms - 1, count);
	ck_assert_int_eq(count[BLOCK_MINUTES], 0);
	ck_assert_int_eq(count[BLOCK_HOURS], 0);
	ck_assert_int_gt(count[BLOCK_FRESH], 0);
	send_due(&f, end + f.wait_ms, count);
	ck_assert_int_eq(count[BLOCK_MINUTES], 1);
	ck_assert_int_eq(count[BLOCK_HOURS], 1);
	compare_plans(&f, f.from_ms, end);
}
END

TEST(a_host_that_was_cut_off_sends_hours_and_not_each_minute)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int count[BLOCK_TIERS] = {0};

	send_due(&f, f.to_ms + MINUTE, count);
	compare_plans(&f, 0, INT64_MAX / 2);
	ck_assert_int_eq(count[BLOCK_FRESH], 1);
	ck_assert_int_eq(count[BLOCK_MINUTES], 2 * 24 + 3);
	ck_assert_int_le(count[BLOCK_HOURS], 2 * 24 + 3);
	for (enum window_level l = WINDOW_MINUTE; l <= WINDOW_DAY; l++)
		ck_assert_int_eq(arrived_until(&f, l),
		                 window_floor(l, f.to_ms));
}
END

/* Minutes are kept for a week, hours for longer. */
TEST(a_host_that_was_cut_off_for_longer_than_minutes_are_kept_sends_its_hours)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int count[BLOCK_TIERS] = {0};
	char sql[128];

	snprintf(sql, sizeof(sql),
	         "DELETE FROM profile_window WHERE level = 1 AND "
	         "start_ms < %lld",
	         (long long)(f.from_ms + DAY + 5 * HOUR));
	test_sql(&f.host, sql, NULL, 0);
	send_due(&f, f.to_ms + MINUTE, count);
	ck_assert_int_eq(count[BLOCK_DAYS], 2);
	compare_plans(&f, 0, INT64_MAX / 2);
	compare_plans(&f, f.from_ms + 2 * HOUR, f.from_ms + 9 * HOUR);
	compare_plans(&f, f.from_ms + 2 * HOUR, f.from_ms + DAY + 9 * HOUR);
}
END

static struct block_waiting
waiting(struct fixture *f, const char *tenant)
{
	struct block_waiting w = {0};

	ck_assert_int_eq(block_waiting(&f->host.s, tenant, &w), 0);
	return w;
}

static int64_t
minutes_from(struct fixture *f, int64_t from_ms, const char *what)
{
	CLEANUP_BUF struct buf sql = BUF_INIT(256);
	char text[32];

	buf_addf(&sql,
	         "SELECT CAST(COALESCE(%s, 0) AS BIGINT) FROM profile_window "
	         "WHERE level = 1 AND start_ms >= %lld",
	         what, (long long)from_ms);
	test_sql(&f->host, buf_str(&sql), text, sizeof(text));
	return strtoll(text, NULL, 10);
}

TEST(what_waits_to_be_sent_are_minutes_that_the_centre_does_not_have)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int64_t to = f.from_ms + 90 * MINUTE;
	int count[BLOCK_TIERS] = {0};
	struct block_waiting w = waiting(&f, TEST_TENANT);

	ck_assert_int_eq(w.windows, minutes_from(&f, 0, "COUNT(*)"));
	ck_assert_int_eq(w.bytes, minutes_from(&f, 0, "SUM(length)"));
	ck_assert_int_eq(w.first_ms, minutes_from(&f, 0, "MIN(start_ms)"));
	send_due(&f, to, count);
	ck_assert_int_eq(count[BLOCK_MINUTES], 1);
	ck_assert_int_gt(count[BLOCK_FRESH], 0);
	w = waiting(&f, TEST_TENANT);
	to = arrived_until(&f, WINDOW_MINUTE);
	ck_assert_int_gt(to, f.from_ms + 60 * MINUTE);
	ck_assert_int_eq(w.windows, minutes_from(&f, to, "COUNT(*)"));
	ck_assert_int_eq(w.first_ms, minutes_from(&f, to, "MIN(start_ms)"));
	ck_assert_int_eq(waiting(&f, "another").windows, 0);
	send_due(&f, f.to_ms + MINUTE, count);
	w = waiting(&f, TEST_TENANT);
	ck_assert_int_eq(w.windows, 0);
	ck_assert_int_eq(w.first_ms, 0);
}
END

TEST(minutes_wait_until_their_windows_are_added_up)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	int count[BLOCK_TIERS] = {0};
	int64_t at = f.from_ms + 5 * MINUTE;
	struct window_ask w = {.level = WINDOW_CAPTURED,
	                       .start_ms = at,
	                       .end_ms = at + 10 * MS_PER_S,
	                       .windows = 1};
	char series[ID_MAX];
	int64_t cursor_ms;

	series_in(&f.host.s, "cpu", series);
	w.series = series;
	ck_assert_int_eq(segment_create(&f.host.s, FAR, &g), 0);
	ck_assert_int_eq(segment_append(&g, "late", 4, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(&f.host.s, &g, &w, 1, NULL), 0);
	send_due(&f, at + 3 * MINUTE, count);
	ck_assert_int_eq(block_cursor(&f.centre.s, TEST_TENANT, FAR,
	                              BLOCK_FRESH, &cursor_ms),
	                 0);
	ck_assert_int_le(cursor_ms, at);
	/* but not for ever */
	send_due(&f, at + 10 * MINUTE, count);
	ck_assert_int_eq(block_cursor(&f.centre.s, TEST_TENANT, FAR,
	                              BLOCK_FRESH, &cursor_ms),
	                 0);
	ck_assert_int_gt(cursor_ms, at);
}
END

/* --- what is sent again --------------------------------------------------- */

static int64_t
held(struct fixture *f, const char *what)
{
	char text[32];
	char sql[128];

	snprintf(sql, sizeof(sql),
	         "SELECT CAST(COALESCE(SUM(%s), 0) AS BIGINT) FROM block_usage",
	         what);
	test_sql(&f->centre, sql, text, sizeof(text));
	return atoll(text);
}

TEST(a_block_that_is_sent_again_is_not_counted_again)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int64_t blocks, windows, bytes;

	send_all(&f);
	blocks = held(&f, "blocks");
	windows = held(&f, "windows");
	bytes = held(&f, "bytes");
	ck_assert_int_gt(blocks, 50);
	ck_assert_int_gt(windows, 0);
	for (int64_t at = f.from_ms; at + HOUR <= f.to_ms; at += HOUR)
		for (int tier = BLOCK_FRESH; tier <= BLOCK_HOURS; tier++) {
			int rc = send_block(&f, (enum block_tier)tier, at,
			                    at + HOUR);

			ck_assert(rc == -EALREADY || rc == 0);
		}
	ck_assert_int_eq(held(&f, "blocks"), blocks);
	ck_assert_int_eq(held(&f, "windows"), windows);
	ck_assert_int_eq(held(&f, "bytes"), bytes);
	compare_plans(&f, 0, INT64_MAX / 2);
}
END

/* Sends the first hour over a new connection; exits with 1 if this stored it,
 * with 2 if another process had. */
static _Noreturn void
race(const struct fixture *f, const struct buf *bytes)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct store s = test_store_again(&f->centre, false);
	struct block b;
	int64_t cursor_ms;
	int rc = block_decode(bytes->p, bytes->len, &b, &why);

	do
		rc = block_accept(&s, FAR, &b, bytes->p, bytes->len,
		                  &cursor_ms);
	while (rc == -EBUSY);
	_exit(!rc ? 1 : rc == -EALREADY ? 2 : 3);
}

TEST(of_two_that_send_a_block_at_once_one_has_it_stored)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int stored = 0, late = 0;

	for (int64_t at = f.from_ms; at < f.from_ms + 6 * HOUR; at += HOUR) {
		CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
		pid_t pids[2];

		if (block_of_windows(&f.host.s, TEST_TENANT, BLOCK_MINUTES, at,
		                     at + HOUR, &b))
			continue; /* an hour without windows */
		for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
			pids[i] = fork();
			ck_assert_int_ge(pids[i], 0);
			if (!pids[i])
				race(&f, &b);
		}
		for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
			int status;

			ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
			stored += WEXITSTATUS(status) == 1;
			late += WEXITSTATUS(status) == 2;
		}
	}
	ck_assert_int_ge(stored, 5);
	ck_assert_int_eq(late, stored);
	ck_assert_int_eq(held(&f, "blocks"), stored);
}
END

TEST(minutes_of_an_hour_take_the_place_of_fresh_ones)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int64_t at = f.from_ms, cursor_ms;

	for (int64_t m = at; m < at + HOUR; m += MINUTE)
		ck_assert_int_eq(send_block(&f, BLOCK_FRESH, m, m + MINUTE), 0);
	ck_assert_int_gt(held(&f, "blocks"), 3);
	compare_plans(&f, at, at + HOUR - 1);
	ck_assert_int_eq(send_block(&f, BLOCK_MINUTES, at, at + HOUR), 0);
	ck_assert_int_eq(held(&f, "blocks"), 1);
	compare_plans(&f, at, at + HOUR - 1);
	/* only bytes of fresh blocks are deleted */
	while (blob_reap(&f.centre.s, f.centre.s.bytes ?: BYTES_FILE) > 0)
		;
	ck_assert_int_eq(
		blob_sweep(&f.centre.s, f.centre.s.bytes ?: BYTES_FILE), 0);
	compare_plans(&f, at, at + HOUR - 1);
	ck_assert_int_eq(block_cursor(&f.centre.s, TEST_TENANT, FAR,
	                              BLOCK_FRESH, &cursor_ms),
	                 0);
	ck_assert_int_eq(cursor_ms, at + HOUR);
}
END

TEST(a_block_that_the_centre_has_a_part_of_is_refused)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
	int64_t at = f.from_ms, cursor_ms = 0;

	ck_assert_int_eq(send_block(&f, BLOCK_FRESH, at, at + 30 * MINUTE), 0);
	ck_assert_int_eq(block_of_windows(&f.host.s, TEST_TENANT, BLOCK_FRESH,
	                                  at + 10 * MINUTE, at + 50 * MINUTE,
	                                  &b),
	                 0);
	ck_assert_int_eq(accept_block(&f, &b, &cursor_ms), -ESTALE);
	ck_assert_int_eq(cursor_ms, at + 30 * MINUTE);
	ck_assert_int_eq(held(&f, "blocks"), 1);
}
END

TEST(a_block_of_the_future_waits)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf bytes = BUF_INIT(BLOCK_MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block b = {0};
	int64_t cursor_ms = 0;

	ck_assert_int_eq(block_of_windows(&f.host.s, TEST_TENANT, BLOCK_FRESH,
	                                  f.from_ms, f.from_ms + HOUR, &bytes),
	                 0);
	ck_assert_int_eq(block_decode(bytes.p, bytes.len, &b, &why), 0);
	b.end_ms = clock_wall_ms() + BLOCK_AHEAD_MS + 5 * MS_PER_S;
	ck_assert_int_eq(block_accept(&f.centre.s, FAR, &b, bytes.p, bytes.len,
	                              &cursor_ms),
	                 -EAGAIN);
	ck_assert_int_lt(cursor_ms, b.end_ms);
	ck_assert_int_eq(held(&f, "blocks"), 0);
}
END

TEST(windows_of_a_service_that_is_gone_are_left_out)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	char n[32];

	ck_assert_int_eq(service_delete(&f.centre.s, TEST_TENANT, TEST_SERVICE),
	                 0);
	send_all(&f);
	test_sql(&f.centre, "SELECT COUNT(*) FROM run", n, sizeof(n));
	ck_assert_str_eq(n, "0");
}
END

TEST(blocks_stay_within_the_quotas_of_their_tenant)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	struct conf conf = test_conf(f.centre.dir);

	for (size_t i = 0; i < ARRAY_LEN(conf.quotas); i++)
		conf.quotas[i] = 0;
	conf.quotas[QUOTA_host_series] = 1;
	quota_enforce(&f.centre.s, &conf);
	ck_assert_int_eq(
		send_block(&f, BLOCK_MINUTES, f.from_ms, f.from_ms + HOUR),
		-EXFULL);
	ck_assert_int_eq(f.centre.s.excess.quota, QUOTA_host_series);
	conf.quotas[QUOTA_host_series] = 2;
	conf.quotas[QUOTA_host_bytes] = 100;
	ck_assert_int_eq(
		send_block(&f, BLOCK_MINUTES, f.from_ms, f.from_ms + HOUR),
		-EXFULL);
	ck_assert_int_eq(f.centre.s.excess.quota, QUOTA_host_bytes);
	ck_assert_int_eq(held(&f, "blocks"), 0);
	conf.quotas[QUOTA_host_bytes] = 1 << 20;
	ck_assert_int_eq(
		send_block(&f, BLOCK_MINUTES, f.from_ms, f.from_ms + HOUR), 0);
	quota_enforce(&f.centre.s, NULL);
}
END

/* --- retention ------------------------------------------------------------ */

static int64_t
blocks_of(struct fixture *f, enum block_tier tier)
{
	char sql[128], n[32];

	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM block WHERE tier = %d",
	         (int)tier);
	test_sql(&f->centre, sql, n, sizeof(n));
	return atoll(n);
}

static void
expire(struct fixture *f, const struct window_keep *keep)
{
	const char *driver = f->centre.s.bytes ?: BYTES_FILE;
	int n;

	while ((n = block_expire(&f->centre.s, keep)) > 0)
		;
	ck_assert_int_eq(n, 0);
	while ((n = blob_reap(&f->centre.s, driver)) > 0)
		;
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(block_partitions(&f->centre.s), 0);
	ck_assert_int_eq(blob_sweep(&f->centre.s, driver), 0);
}

TEST(minutes_go_once_their_hour_is_there_and_old_enough)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0};
	struct window_keep keep = {.level_ms = {[WINDOW_MINUTE] = 4 * DAY}};
	int64_t hours, minutes, at = f.from_ms + 6 * HOUR;
	char series[ID_MAX];

	ck_assert_int_eq(block_partitions(&f.centre.s), 0);
	send_all(&f);
	hours = blocks_of(&f, BLOCK_HOURS);
	minutes = blocks_of(&f, BLOCK_MINUTES);
	expire(&f, &keep);
	ck_assert_int_lt(blocks_of(&f, BLOCK_MINUTES), minutes);
	ck_assert_int_gt(blocks_of(&f, BLOCK_MINUTES), 0);
	ck_assert_int_eq(blocks_of(&f, BLOCK_HOURS), hours);
	/* the first day now consists of hours */
	series_in(&f.centre.s, "cpu", series);
	ck_assert_int_eq(window_plan(&f.centre.s, series, at, at + 12 * HOUR,
	                             WINDOW_DAY, &l),
	                 0);
	ck_assert_uint_gt(l.n, 3);
	for (size_t i = 0; i < l.n; i++)
		ck_assert_int_eq(l.items[i].level, WINDOW_HOUR);
	/* everything that ends before is deleted, whatever its tier */
	keep = (struct window_keep){.all_ms = 4 * DAY};
	expire(&f, &keep);
	ck_assert_int_eq(blocks_of(&f, BLOCK_DAYS), 1);
	expire(&f, &(struct window_keep){.all_ms = 1});
	ck_assert_int_eq(held(&f, "blocks"), 0);
	ck_assert_int_eq(held(&f, "bytes"), 0);
}
END

TEST(minutes_stay_as_long_as_no_hour_tells_of_them)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	const struct window_keep keep = {.level_ms = {[WINDOW_MINUTE] = 1}};

	ck_assert_int_eq(
		send_block(&f, BLOCK_MINUTES, f.from_ms, f.from_ms + HOUR), 0);
	expire(&f, &keep);
	ck_assert_int_eq(blocks_of(&f, BLOCK_MINUTES), 1);
	ck_assert_int_eq(
		send_block(&f, BLOCK_HOURS, f.from_ms, f.from_ms + HOUR), 0);
	expire(&f, &keep);
	ck_assert_int_eq(blocks_of(&f, BLOCK_MINUTES), 0);
}
END

TEST(a_block_with_a_pinned_window_stays)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_WINDOWS struct window_list l = {0}, after = {0};
	struct store *s = &f.centre.s;
	char series[ID_MAX];
	size_t pinned = 0;

	send_all(&f);
	series_in(s, "cpu", series);
	ck_assert_int_eq(window_between(s, series, WINDOW_MINUTE, f.from_ms,
	                                f.to_ms, &l),
	                 0);
	ck_assert_int_eq(window_pin(s, "another", l.items[5].id, true),
	                 -ENOENT);
	ck_assert_int_eq(window_pin(s, TEST_TENANT, l.items[5].id, true), 0);
	ck_assert_int_eq(window_pin(s, TEST_TENANT, l.items[5].id, true), 0);
	expire(&f, &(struct window_keep){.all_ms = 1});
	ck_assert_int_eq(held(&f, "blocks"), 1);
	ck_assert_int_eq(window_between(s, series, WINDOW_MINUTE, f.from_ms,
	                                f.to_ms, &after),
	                 0);
	for (size_t i = 0; i < after.n; i++)
		pinned += after.items[i].pinned &&
		          !strcmp(after.items[i].id, l.items[5].id);
	ck_assert_uint_eq(pinned, 1);
	ck_assert_int_eq(window_pin(s, TEST_TENANT, l.items[5].id, false), 0);
	expire(&f, &(struct window_keep){.all_ms = 1});
	ck_assert_int_eq(held(&f, "blocks"), 0);
}
END

/* On PostgreSQL, days of rows are dropped as partitions. */
TEST(a_day_without_blocks_has_no_partition)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	char sql[256], n[32];

	if (!test_on_server())
		return;
	for (int64_t d = f.from_ms / DAY; d < f.from_ms / DAY + 3; d++) {
		snprintf(sql, sizeof(sql),
		         "SELECT run_day_make(1, %lld) + run_day_make(2, %lld)",
		         (long long)d, (long long)d);
		test_sql(&f.centre, sql, n, sizeof(n));
		ck_assert_str_eq(n, "2");
	}
	send_all(&f);
	test_sql(&f.centre, "SELECT COUNT(*) FROM run_minute_rest", n,
	         sizeof(n));
	ck_assert_str_eq(n, "0");
	compare_plans(&f, 0, INT64_MAX / 2);
	snprintf(sql, sizeof(sql),
	         "SELECT to_regclass('run_minute_%lld') IS NULL",
	         (long long)(f.from_ms / DAY));
	test_sql(&f.centre, sql, n, sizeof(n));
	ck_assert_str_eq(n, "f");
	expire(&f,
	       &(struct window_keep){.level_ms = {[WINDOW_MINUTE] = 4 * DAY}});
	test_sql(&f.centre, sql, n, sizeof(n));
	ck_assert_str_eq(n, "t");
	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM run_minute_%lld",
	         (long long)(f.from_ms / DAY + 1));
	test_sql(&f.centre, sql, n, sizeof(n));
	ck_assert_str_ne(n, "0");
}
END

/* --- hostile bytes -------------------------------------------------------- */

TEST(no_changed_byte_of_a_block_goes_unnoticed)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
	size_t accepted = 0;

	ck_assert_int_eq(block_of_windows(&f.host.s, TEST_TENANT, BLOCK_MINUTES,
	                                  f.from_ms, f.from_ms + HOUR, &b),
	                 0);
	for (size_t i = 0; i < b.len; i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BLOCK struct block got = {0};
		int rc;

		b.p[i] ^= 1;
		rc = block_decode(b.p, b.len, &got, &why);
		b.p[i] ^= 1;
		ck_assert(!rc || rc == -EBADMSG || rc == -E2BIG);
		accepted += !rc;
	}
	/* changes of counts, values and names can't be noticed */
	ck_assert_uint_lt(accepted, b.len / 2);
	for (size_t n = 0; n < b.len; n++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BLOCK struct block got = {0};

		ck_assert_int_lt(block_decode(b.p, n, &got, &why), 0);
	}
}
END

TEST(a_block_without_any_text_is_none)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block got = {0};
	struct block_end e;

	ck_assert_int_eq(block_of_windows(&f.host.s, TEST_TENANT, BLOCK_MINUTES,
	                                  f.from_ms, f.from_ms + HOUR, &b),
	                 0);
	memcpy(&e, b.p + b.len - sizeof(e), sizeof(e));
	e.series = e.windows = e.texts = 0;
	e.entries = 0;
	ck_assert_int_eq(block_decode(&e, sizeof(e), &got, &why), -EBADMSG);
}
END

TEST(a_block_of_another_range_is_not_made)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
	int64_t at = f.from_ms;
	const struct {
		enum block_tier tier;
		int64_t from, to;
	} bad[] = {
		{BLOCK_FRESH, at + 1, at + MINUTE},
		{BLOCK_FRESH, at + 50 * MINUTE, at + 61 * MINUTE},
		{BLOCK_FRESH, at, at},
		{BLOCK_MINUTES, at, at + 59 * MINUTE},
		{BLOCK_MINUTES, at, at + 2 * HOUR},
		{BLOCK_HOURS, at + MINUTE, at + HOUR},
		{BLOCK_HOURS, at + 23 * HOUR, at + 25 * HOUR},
		{BLOCK_DAYS, at, at + 23 * HOUR},
		{BLOCK_DAYS, -DAY, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_int_eq(block_of_windows(&f.host.s, TEST_TENANT,
		                                  bad[i].tier, bad[i].from,
		                                  bad[i].to, &b),
		                 -EINVAL);
	ck_assert_int_eq(block_of_windows(&f.host.s, "another", BLOCK_FRESH, at,
	                                  at + MINUTE, &b),
	                 -ENODATA);
}
END

SUITE("block", .seconds = 120);
