/*
 * The keeper's work on a store: its sums over hosts change no range that
 * readers get.
 */
#include "keeper/keeper.h"

#include "base/clock.h"
#include "lib/folded.h"
#include "lib/random.h"
#include "lib/windows.h"
#include "profile/tree.h"
#include "range/range.h"
#include "store/block.h"
#include "store/host_sum.h"
#include "store/lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MINUTE (60 * MS_PER_S)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define HOSTS  5
#define HOURS  12 /* length of random ranges */
#define RANGES 30

/* Hosts, whose windows share one store, and the centre that they send to. */
struct fleet {
	struct test_store hosts, centre;
	struct conf conf;
	int64_t t0; /* a midnight some days ago */
	uint64_t random;
};

static void
fleet_done(struct fleet *f)
{
	test_store_done(&f->hosts);
	test_store_done(&f->centre);
}
#define CLEANUP_FLEET CLEANUP(fleet_done)

static struct conf
conf_with(int64_t sum_hosts)
{
	return (struct conf){
		.keeper_lease = 15,
		.keeper_sum_hosts = sum_hosts,
		.worker_lease = TEST_LEASE_MS / MS_PER_S,
		.store_max_bytes = INT64_C(1) << 40,
		.continuous_max_bytes = INT64_C(1) << 40,
	};
}

static struct fleet
fleet(void)
{
	struct fleet f = {
		.hosts = test_store(),
		.centre = test_store(),
		.conf = conf_with(HOSTS),
		.random = 11,
	};

	if (test_on_server())
		f.centre.s.bytes = BYTES_DB;
	f.t0 = window_floor(WINDOW_DAY, clock_wall_ms()) - 3 * DAY;
	return f;
}

static const char *
host_name(char out[static 16], int i)
{
	snprintf(out, 16, "h%d", i);
	return out;
}

/* Stores a window of a host, with a function that only this host runs. */
static void
capture(struct fleet *f, const char *host, const char *type, int64_t at_ms)
{
	char text[64], id[ID_MAX];
	int n = 1 + (int)(random_next(&f->random) % 90);

	snprintf(text, sizeof(text), "main;on_%s %d\nmain;all %d\n", host, n,
	         2 * n);
	{
		CLEANUP_PROFILE struct profile *p = profile_of(text);
		const struct test_window w = {
			.type = type,
			.host = host,
			.start_ms = at_ms,
			.span_ms = 10 * MS_PER_S,
			.profile = p,
		};

		test_window(&f->hosts.s, &w, id);
	}
}

/* Rolls up the windows of the hosts, as their workers do. */
static void
roll_hosts(struct fleet *f)
{
	snprintf(f->hosts.s.host, sizeof(f->hosts.s.host), TEST_HOST);
	for (int level = WINDOW_MINUTE; level <= WINDOW_DAY; level++)
		test_rollup(&f->hosts.s, (enum window_level)level);
}

/* Sends a block of a host if there are windows for it. */
static void
send_block(struct fleet *f, const char *host, enum block_tier tier,
           int64_t from_ms, int64_t to_ms)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BLOCK_MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block b = {0};
	int64_t cursor_ms;
	int rc;

	snprintf(f->hosts.s.host, sizeof(f->hosts.s.host), "%s", host);
	rc = block_of_windows(&f->hosts.s, TEST_TENANT, tier, from_ms, to_ms,
	                      &bytes);
	if (rc == -ENODATA)
		return;
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(block_decode(bytes.p, bytes.len, &b, &why), 0);
	ck_assert_int_eq(block_accept(&f->centre.s, host, &b, bytes.p,
	                              bytes.len, &cursor_ms),
	                 0);
}

static void
send_hour(struct fleet *f, const char *host, int64_t hour_ms)
{
	send_block(f, host, BLOCK_MINUTES, hour_ms, hour_ms + HOUR);
	send_block(f, host, BLOCK_HOURS, hour_ms, hour_ms + HOUR);
}

static void
keep(struct fleet *f)
{
	ck_assert_int_eq(keeper_once(&f->conf, &f->centre.s), 0);
}

/* --- reading -------------------------------------------------------------- */

/* Sums of a range. */
struct answer {
	int64_t value, windows;
	size_t parts, functions;
	double covered_ms;
};

static struct answer
read_range(struct fleet *f, const char *type, int64_t from_ms, int64_t to_ms)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_RANGE struct range r = {
		.store = &f->centre.s,
		.tenant = TEST_TENANT,
		.service = TEST_SERVICE,
		.type = type,
		.host = "",
		.origin = "auto",
		.from_ms = from_ms,
		.to_ms = to_ms,
	};
	struct answer a = {0};
	int rc = range_plan(&r);

	if (rc == -ENODATA)
		return a;
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(range_merge(&r, &p, &why), 0);
	ck_assert_int_eq(tree_new(p, profile_type_index(p, NULL), &t), 0);
	a = (struct answer){
		.value = t->total[0],
		.parts = r.n,
		.functions = p->nfunctions,
		.covered_ms = r.covered_ms,
	};
	for (size_t i = 0; i < r.n; i++)
		a.windows += r.parts[i].windows;
	return a;
}

static void
check_same(struct answer a, struct answer b)
{
	ck_assert_int_eq(a.value, b.value);
	ck_assert_int_eq(a.windows, b.windows);
	ck_assert_uint_eq(a.functions, b.functions);
}

static struct answer
read_hour(struct fleet *f, int64_t hour_ms)
{
	return read_range(f, "cpu", hour_ms, hour_ms + HOUR);
}

/* Captures and sends an hour of all hosts but one. */
static void
send_hour_of_all_but(struct fleet *f, int without, int64_t hour_ms)
{
	char name[16];

	for (int i = 0; i < HOSTS + 1; i++) {
		capture(f, host_name(name, i), "cpu", hour_ms + i * MINUTE);
		capture(f, host_name(name, i), "alloc", hour_ms + i * MINUTE);
	}
	roll_hosts(f);
	for (int i = 0; i < HOSTS + 1; i++)
		if (i != without)
			send_hour(f, host_name(name, i), hour_ms);
}

/* --- claims --------------------------------------------------------------- */

/* A client pushes a window in each of these minutes. */
static void
push_minutes(struct fleet *f, int first, int end)
{
	for (int i = first; i < end; i++) {
		CLEANUP_PROFILE struct profile *p = profile_of("main;f 2\n");
		const struct test_window w = {
			.host = WINDOW_PUSHED,
			.start_ms = f->t0 + i * MINUTE,
			.span_ms = 10 * MS_PER_S,
			.profile = p,
		};
		char id[ID_MAX];

		test_window(&f->centre.s, &w, id);
	}
}

TEST(pushed_windows_are_added_up_to_minutes_hours_and_days)
{
	CLEANUP_FLEET struct fleet f = fleet();
	CLEANUP_WINDOWS struct window_list l = {0};
	struct answer a, b;
	char series[ID_MAX];

	push_minutes(&f, 0, 90);
	a = read_range(&f, "cpu", f.t0, f.t0 + DAY);
	ck_assert_uint_eq(a.parts, 90);
	keep(&f);
	b = read_range(&f, "cpu", f.t0, f.t0 + DAY);
	check_same(a, b);
	ck_assert_uint_eq(b.parts, 1);
	ck_assert_int_eq(series_of(&f.centre.s, TEST_TENANT, TEST_SERVICE,
	                           "cpu", WINDOW_PUSHED, "{}", series),
	                 0);
	ck_assert_int_eq(window_between(&f.centre.s, series, WINDOW_HOUR, f.t0,
	                                f.t0 + DAY, &l),
	                 0);
	ck_assert_uint_eq(l.n, 2);
}
END

/* Stores bytes that are no profile, in a minute without other windows. */
static void
push_garbage(struct fleet *f, int64_t at_ms)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	char series[ID_MAX];
	struct window_ask w = {
		.series = series,
		.start_ms = at_ms,
		.end_ms = at_ms + 1000,
		.duration_ms = 1000,
		.windows = 1,
		.sample_count = 5,
	};

	ck_assert_int_eq(series_of(&f->centre.s, TEST_TENANT, TEST_SERVICE,
	                           "cpu", WINDOW_PUSHED, "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(&f->centre.s, TEST_HOST, &g), 0);
	ck_assert_int_eq(segment_append(&g, "no profile", 10, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(&f->centre.s, &g, &w, 1, NULL), 0);
}

TEST(a_window_that_can_not_be_added_up_does_not_stop_the_others)
{
	CLEANUP_FLEET struct fleet f = fleet();
	CLEANUP_WINDOWS struct window_list l = {0};
	char series[ID_MAX];

	push_garbage(&f, f.t0);
	push_minutes(&f, 1, 3);
	keep(&f);
	ck_assert_int_eq(series_of(&f.centre.s, TEST_TENANT, TEST_SERVICE,
	                           "cpu", WINDOW_PUSHED, "{}", series),
	                 0);
	ck_assert_int_eq(window_between(&f.centre.s, series, WINDOW_MINUTE,
	                                f.t0, f.t0 + HOUR, &l),
	                 0);
	ck_assert_uint_eq(l.n, 3);
	ck_assert_int_eq(l.items[0].length, 0);
	ck_assert_int_gt(l.items[1].length, 0);
	ck_assert_int_gt(l.items[2].length, 0);
}
END

TEST(an_hour_of_many_hosts_is_read_from_one_sum)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer a, b;

	send_hour_of_all_but(&f, -1, f.t0);
	a = read_hour(&f, f.t0);
	ck_assert_uint_eq(a.parts, HOSTS + 1);
	keep(&f);
	b = read_hour(&f, f.t0);
	check_same(a, b);
	ck_assert_uint_eq(b.parts, 1);
	check_same(read_range(&f, "alloc", f.t0, f.t0 + HOUR),
	           read_range(&f, "alloc", f.t0 - DAY, f.t0 + DAY));
}
END

TEST(an_hour_of_few_hosts_is_read_from_the_hosts)
{
	CLEANUP_FLEET struct fleet f = fleet();

	f.conf.keeper_sum_hosts = HOSTS + 2;
	send_hour_of_all_but(&f, -1, f.t0);
	keep(&f);
	ck_assert_uint_eq(read_hour(&f, f.t0).parts, HOSTS + 1);
	f.conf.keeper_sum_hosts = 0;
	send_hour_of_all_but(&f, -1, f.t0 + HOUR);
	keep(&f);
	ck_assert_uint_eq(read_hour(&f, f.t0 + HOUR).parts, HOSTS + 1);
}
END

TEST(a_host_that_sends_its_hour_late_is_counted_at_once)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer without, with, summed;

	send_hour_of_all_but(&f, 2, f.t0);
	keep(&f);
	without = read_hour(&f, f.t0);
	ck_assert_uint_eq(without.parts, 1);
	send_hour(&f, "h2", f.t0);
	with = read_hour(&f, f.t0);
	ck_assert_uint_eq(with.parts, HOSTS + 1);
	ck_assert_int_gt(with.value, without.value);
	keep(&f);
	summed = read_hour(&f, f.t0);
	ck_assert_uint_eq(summed.parts, 1);
	check_same(summed, with);
}
END

TEST(minutes_of_a_host_whose_hour_is_not_there_are_counted_beside_the_sum)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer without, with;

	send_hour_of_all_but(&f, 2, f.t0);
	keep(&f);
	without = read_hour(&f, f.t0);
	send_block(&f, "h2", BLOCK_FRESH, f.t0, f.t0 + 30 * MINUTE);
	with = read_hour(&f, f.t0);
	ck_assert_int_gt(with.value, without.value);
	ck_assert_int_eq(with.windows, without.windows + 1);
	ck_assert_uint_eq(with.parts, 2);
}
END

TEST(a_late_hour_makes_the_day_be_added_up_again)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer before, with;

	for (int h = 0; h < 24; h++)
		send_hour_of_all_but(&f, 2, f.t0 + h * HOUR);
	keep(&f);
	before = read_range(&f, "cpu", f.t0, f.t0 + DAY);
	ck_assert_uint_eq(before.parts, 1);
	for (int h = 0; h < 24; h++)
		send_hour(&f, "h2", f.t0 + h * HOUR);
	with = read_range(&f, "cpu", f.t0, f.t0 + DAY);
	ck_assert_int_gt(with.value, before.value);
	keep(&f);
	before = read_range(&f, "cpu", f.t0, f.t0 + DAY);
	check_same(before, with);
	ck_assert_uint_eq(before.parts, 1);
}
END

/* Sends hours of about two thirds of the hosts, and minutes of others. */
static void
send_at_random(struct fleet *f, int hours)
{
	char name[16];

	for (int h = 0; h < hours; h++)
		for (int i = 0; i < HOSTS + 3; i++)
			if (random_next(&f->random) % 3)
				capture(f, host_name(name, i), "cpu",
				        f->t0 + h * HOUR +
				                (int64_t)(random_next(
								  &f->random) %
				                          60) *
				                        MINUTE);
	roll_hosts(f);
	for (int i = 0; i < HOSTS + 3; i++) {
		int upto = hours - (int)(random_next(&f->random) % 4);

		host_name(name, i);
		for (int h = 0; h < upto; h++)
			send_hour(f, name, f->t0 + h * HOUR);
		if (upto < hours)
			send_block(f, name, BLOCK_FRESH, f->t0 + upto * HOUR,
			           f->t0 + upto * HOUR + 40 * MINUTE);
	}
}

TEST(any_range_is_the_same_with_sums_and_without)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer plain[RANGES];
	int64_t from[RANGES], to[RANGES];
	size_t fewer = 0;

	f.conf.keeper_sum_hosts = 2;
	send_at_random(&f, HOURS);
	for (int i = 0; i < RANGES; i++) {
		int64_t step = i % 2 ? HOUR : MINUTE;
		int64_t span = (HOURS + 1) * HOUR / step;

		from[i] = f.t0 +
		          (int64_t)(random_next(&f.random) % (uint64_t)span) *
		                  step;
		to[i] = from[i] +
		        (int64_t)(1 + random_next(&f.random) % (uint64_t)span) *
		                step;
		plain[i] = read_range(&f, "cpu", from[i], to[i]);
	}
	keep(&f);
	for (int i = 0; i < RANGES; i++) {
		struct answer a = read_range(&f, "cpu", from[i], to[i]);

		check_same(a, plain[i]);
		fewer += a.parts < plain[i].parts;
	}
	ck_assert_uint_gt(fewer, RANGES / 2);
}
END

TEST(sums_cover_the_time_that_hosts_were_profiled_in_the_mean)
{
	CLEANUP_FLEET struct fleet f = fleet();
	double covered;

	send_hour_of_all_but(&f, -1, f.t0);
	keep(&f);
	covered = read_hour(&f, f.t0).covered_ms;
	ck_assert_double_ge(covered, 9.9 * MS_PER_S);
	ck_assert_double_le(covered, 10.1 * MS_PER_S);
}
END

/* In one hour of a day all hosts were profiled, in the others all but one. */
TEST(a_day_of_sums_covers_the_time_of_its_fullest_hour)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer day;

	for (int h = 0; h < 24; h++)
		send_hour_of_all_but(&f, h == 5 ? -1 : 0, f.t0 + h * HOUR);
	keep(&f);
	day = read_range(&f, "cpu", f.t0, f.t0 + DAY);
	ck_assert_uint_eq(day.parts, 1);
	ck_assert_double_eq_tol(
		day.covered_ms,
		10.0 * MS_PER_S * (24 * HOSTS + 1) / (HOSTS + 1), 100);
}
END

TEST(a_type_of_one_host_alone_stands_in_the_way_of_no_sum)
{
	CLEANUP_FLEET struct fleet f = fleet();

	capture(&f, "h0", "io", f.t0 + MINUTE);
	send_hour_of_all_but(&f, -1, f.t0);
	keep(&f);
	ck_assert_uint_eq(read_hour(&f, f.t0).parts, 1);
}
END

/* If a sum were deleted, readers would find nothing in its place. */
TEST(a_full_store_keeps_the_sums_over_hosts)
{
	CLEANUP_FLEET struct fleet f = fleet();
	struct answer before;

	send_hour_of_all_but(&f, -1, f.t0);
	keep(&f);
	before = read_hour(&f, f.t0);
	ck_assert_uint_eq(before.parts, 1);
	ck_assert_int_eq(window_shrink(&f.centre.s, 1), 0);
	check_same(read_hour(&f, f.t0), before);
}
END

TEST(one_host_is_read_from_its_own_windows)
{
	CLEANUP_FLEET struct fleet f = fleet();
	CLEANUP_SERIES_LIST struct series_list l = {0};
	const struct series_filter all = {TEST_TENANT, TEST_SERVICE, "cpu", ""};
	struct range r = {
		.store = &f.centre.s,
		.tenant = TEST_TENANT,
		.service = TEST_SERVICE,
		.type = "cpu",
		.host = "h3",
		.origin = "auto",
		.from_ms = f.t0,
		.to_ms = f.t0 + HOUR,
	};

	send_hour_of_all_but(&f, -1, f.t0);
	keep(&f);
	ck_assert_int_eq(range_plan(&r), 0);
	ck_assert_uint_eq(r.n, 1);
	ck_assert_str_eq(r.parts[0].series->host, "h3");
	range_done(&r);
	ck_assert_int_eq(series_list(&f.centre.s, &all, &l), 0);
	ck_assert_uint_eq(l.n, HOSTS + 1);
}
END

TEST(a_keeper_does_nothing_while_another_has_the_lease)
{
	CLEANUP_FLEET struct fleet f = fleet();

	send_hour_of_all_but(&f, -1, f.t0);
	ck_assert_int_eq(lease_take(&f.centre.s, LEASE_KEEPER, "keep-other",
	                            15 * MS_PER_S),
	                 1);
	keep(&f);
	ck_assert_uint_eq(read_hour(&f, f.t0).parts, HOSTS + 1);
	ck_assert_int_eq(lease_drop(&f.centre.s, LEASE_KEEPER, "keep-other"),
	                 0);
	keep(&f);
	ck_assert_uint_eq(read_hour(&f, f.t0).parts, 1);
}
END

SUITE("keeper", .seconds = 120);
