/* Triggers of two tenants that have services of the same name. */
#include "worker/triggers/triggers.h"

#include "base/clock.h"
#include "lib/stacks.h"
#include "lib/store.h"
#include "lib/windows.h"
#include "store/db/db_test.h"

#include <string.h>

#define OTHER  "other"
#define MINUTE INT64_C(60000)

struct rig {
	struct test_store store;
	struct watches watches;
	struct watch watch; /* the first tenant's */
	struct triggers t;
	char series[ID_MAX], own[ID_MAX], theirs[ID_MAX];
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_done(struct rig *r)
{
	triggers_done(&r->t);
	test_store_done(&r->store);
}

static void
rule(struct store *s, const char *tenant, const char *kind,
     char id[static ID_MAX])
{
	struct trigger t = test_trigger(tenant, "rule");

	t.kind = (char *)kind;
	t.function = (char *)tenant;
	t.threshold = 1000;
	ck_assert_int_eq(trigger_add(s, &t, id), 0);
}

static void
rig_init(struct rig *r, const char *kind)
{
	*r = (struct rig){.store = test_store()};
	test_tenant(&r->store.s, OTHER);
	rule(&r->store.s, OTHER, kind, r->theirs);
	rule(&r->store.s, TEST_TENANT, kind, r->own);
	ck_assert_int_eq(series_of(&r->store.s, TEST_TENANT, TEST_SERVICE,
	                           "goroutine", TEST_HOST, "{}", r->series),
	                 0);
	r->watch = (struct watch){.tenant = (char *)TEST_TENANT,
	                          .service = (char *)TEST_SERVICE};
	memcpy(r->watch.series, r->series, sizeof(r->watch.series));
	r->watches = (struct watches){.store = &r->store.s,
	                              .host = TEST_HOST,
	                              .items = &r->watch,
	                              .n = 1};
	r->t.watches = &r->watches;
	ck_assert_int_eq(triggers_load(&r->t, 0), 0);
	ck_assert_uint_eq(r->t.n, 2);
}

TEST(functions_are_those_that_the_tenant_of_a_series_asks_for)
{
	CLEANUP_RIG struct rig r;
	const char *names[ROLLUP_MAX_FUNCTIONS];
	char ids[ROLLUP_MAX_FUNCTIONS][ID_MAX];

	rig_init(&r, "cpuShare");
	ck_assert_uint_eq(triggers_functions(&r.t, r.series, names, ids), 1);
	ck_assert_str_eq(ids[0], r.own);
	ck_assert_str_eq(names[0], TEST_TENANT);
}
END

/* The rule of the first tenant. */
static struct rule *
own_rule(struct rig *r)
{
	return &r->t.items[strcmp(r->t.items[0].row.id, r->own) != 0];
}

/* Returns whether a share fires the rule. */
static bool
fires(struct rig *r, double percent, int64_t now_ns)
{
	const struct rollup_share s = {percent, MINUTE, 1000};

	r->t.fired = false;
	triggers_share(&r->t, r->own, &s, now_ns);
	return r->t.fired;
}

#define NOW      (1000 * NS_PER_S)
#define COOLDOWN 600000 /* ms */

TEST(a_trigger_fires_at_its_threshold_and_then_rests)
{
	const int64_t rested_ns = NOW + COOLDOWN * NS_PER_MS;
	CLEANUP_RIG struct rig r;

	rig_init(&r, "cpuShare");
	own_rule(&r)->row.threshold = 50;
	own_rule(&r)->row.cooldown_ms = COOLDOWN;
	ck_assert(!fires(&r, 49.9, NOW));
	ck_assert(fires(&r, 50, NOW));
	db_skew_clock(r.store.s.db, 2 * COOLDOWN); /* for the store it rested */
	ck_assert(!fires(&r, 90, rested_ns - 1));
	ck_assert(fires(&r, 90, rested_ns));
}
END

static int64_t
reported_ms(struct rig *r)
{
	CLEANUP_TRIGGER struct trigger own = {0};

	ck_assert_int_eq(trigger_get(&r->store.s, TEST_TENANT, TEST_SERVICE,
	                             r->own, &own),
	                 0);
	return own.value_ms;
}

TEST(a_value_below_the_threshold_is_reported_once_a_minute)
{
	CLEANUP_RIG struct rig r;
	int64_t first_ms;

	rig_init(&r, "cpuShare");
	ck_assert(!fires(&r, 10, NOW));
	first_ms = reported_ms(&r);
	ck_assert_int_gt(first_ms, 0);
	db_skew_clock(r.store.s.db, MINUTE);
	ck_assert(!fires(&r, 10, NOW + 60 * NS_PER_S));
	ck_assert_int_eq(reported_ms(&r), first_ms);
	ck_assert(!fires(&r, 10, NOW + 60 * NS_PER_S + 1));
	ck_assert_int_ge(reported_ms(&r), first_ms + MINUTE);
}
END

static void
goroutines(struct rig *r, int n, int64_t start_ms)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	char text[64], id[ID_MAX];

	snprintf(text, sizeof(text), "%d state=waiting|main.f main.main\n", n);
	p = stacks_of(text);
	test_window(&r->store.s,
	            &(struct test_window){.type = "goroutine",
	                                  .start_ms = start_ms,
	                                  .span_ms = MINUTE,
	                                  .profile = p},
	            id);
}

TEST(a_window_is_judged_by_the_triggers_of_its_tenant)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_TRIGGER struct trigger own = {0}, theirs = {0};

	rig_init(&r, "goroutineGrowth");
	goroutines(&r, 2, clock_wall_ms() - 20 * MINUTE);
	goroutines(&r, 6, clock_wall_ms() - 10 * MINUTE);
	triggers_window(&r.t, TEST_TENANT, TEST_SERVICE, r.series, 6, NS_PER_S);
	ck_assert_int_eq(
		trigger_get(&r.store.s, TEST_TENANT, TEST_SERVICE, r.own, &own),
		0);
	ck_assert_int_eq(
		trigger_get(&r.store.s, OTHER, TEST_SERVICE, r.theirs, &theirs),
		0);
	ck_assert_int_gt(own.value_ms, 0);
	ck_assert_int_eq(theirs.value_ms, 0);
}
END

TEST(growth_of_few_goroutines_is_not_judged)
{
	for (int n = 5; n <= 6; n++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, "goroutineGrowth");
		own_rule(&r)->row.minimum = 6;
		goroutines(&r, 2, clock_wall_ms() - 20 * MINUTE);
		goroutines(&r, n, clock_wall_ms() - 10 * MINUTE);
		triggers_window(&r.t, TEST_TENANT, TEST_SERVICE, r.series, n,
		                NS_PER_S);
		ck_assert_int_eq(reported_ms(&r) > 0, n == 6);
	}
}
END

TEST(growth_is_of_what_there_was_if_only_one)
{
	static const struct {
		int before; /* goroutines; 0: no window */
		bool judged;
	} rows[] = {{0, false}, {1, true}, {2, true}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_TRIGGER struct trigger own = {0};

		rig_init(&r, "goroutineGrowth");
		if (rows[i].before)
			goroutines(&r, rows[i].before,
			           clock_wall_ms() - 20 * MINUTE);
		goroutines(&r, 6, clock_wall_ms() - 10 * MINUTE);
		triggers_window(&r.t, TEST_TENANT, TEST_SERVICE, r.series, 6,
		                NS_PER_S);
		ck_assert_int_eq(trigger_get(&r.store.s, TEST_TENANT,
		                             TEST_SERVICE, r.own, &own),
		                 0);
		ck_assert_msg((own.value_ms > 0) == rows[i].judged, "row %zu",
		              i);
	}
}
END

static double
reported(struct rig *r)
{
	CLEANUP_TRIGGER struct trigger own = {0};

	ck_assert_int_eq(trigger_get(&r->store.s, TEST_TENANT, TEST_SERVICE,
	                             r->own, &own),
	                 0);
	return own.value;
}

/* Reports a minute, and stores its value. */
static void
minute(struct rig *r, int64_t i, double percent, int64_t samples)
{
	const struct rollup_share s = {percent + (double)(i % 3),
	                               (i + 1) * MINUTE, samples};

	triggers_share(&r->t, r->own, &s, (i + 1) * 120 * NS_PER_S);
}

TEST(a_function_that_costs_three_times_as_much_has_that_value)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "shift");
	for (int64_t i = 0; i < 60; i++)
		minute(&r, i, 9, 1000);
	ck_assert_double_eq(reported(&r), 1);
	for (int64_t i = 60; i < 80; i++)
		minute(&r, i, 29, 1000);
	ck_assert_double_eq_tol(reported(&r), 3, .1);
	/* after a change rules are read again, and keep their history */
	ck_assert_int_eq(triggers_load(&r.t, 0), 0);
	minute(&r, 80, 29, 1000);
	ck_assert_double_eq_tol(reported(&r), 3, .1);
}
END

TEST(a_firing_of_a_shift_has_the_interval_in_which_it_began)
{
	CLEANUP_RIG struct rig r;
	char text[64];
	long long at_ms = 0, earliest_ms = 0, latest_ms = 0;

	rig_init(&r, "shift");
	for (size_t i = 0; i < r.t.n; i++)
		r.t.items[i].row.threshold = 2;
	for (int64_t i = 0; i < 80; i++)
		minute(&r, i, i < 60 ? 9 : 29, 1000);
	ck_assert(r.t.fired);
	test_sql(&r.store,
	         "SELECT since_ms || ' ' || earliest_ms || ' ' || latest_ms "
	         "FROM trigger_firing",
	         text, sizeof(text));
	ck_assert_int_eq(sscanf(text, "%lld %lld %lld", &at_ms, &earliest_ms,
	                        &latest_ms),
	                 3);
	ck_assert_int_le(earliest_ms, at_ms);
	ck_assert_int_ge(latest_ms, at_ms);
	ck_assert_int_le(earliest_ms, 61 * MINUTE);
	ck_assert_int_ge(latest_ms, 61 * MINUTE);
}
END

/* Other functions cost less, so the share of this one rises, but its cost does
 * not. */
TEST(a_function_whose_share_alone_rises_has_no_value)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "shift");
	for (int64_t i = 0; i < 80; i++)
		minute(&r, i, i < 50 ? 9 : 29, i < 50 ? 3000 : 1000);
	ck_assert_double_eq_tol(reported(&r), 1, .1);
}
END

TEST(a_minute_that_comes_twice_counts_once)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "shift");
	for (int64_t i = 0; i < 1000; i++)
		minute(&r, i / 2, 9, 1000);
	ck_assert_uint_eq(r.t.items[0].nminutes + r.t.items[1].nminutes,
	                  SHIFT_BINS);
	ck_assert_double_eq(reported(&r), 1);
}
END

SUITE("triggers");
