/* Rollups that the worker requests, and how it uses the answers. The test plays
 * the analyser and the clock. */
#include "worker/continuous/rollup.h"

#include "base/clock.h"
#include "base/counted.h"
#include "lib/folded.h"
#include "lib/windows.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define T0     (20000 * 24 * 60 * MINUTE)

struct rig {
	struct test_store store;
	struct rollup r;
	int analyser, step;
	double percent; /* that answers have */
	unsigned asked; /* for functions */
	unsigned told;  /* shares */
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_init(struct rig *r)
{
	int pair[2];

	*r = (struct rig){.store = test_store(), .r = ROLLUP_INIT};
	ck_assert_int_eq(msg_pair(pair), 0);
	r->analyser = pair[1];
	r->r.store = &r->store.s;
	rollup_analyser(&r->r, pair[0]);
}

static void
rig_done(struct rig *r)
{
	close(r->r.analyser);
	close(r->analyser);
	rollup_done(&r->r);
	test_store_done(&r->store);
}

static void
put(struct rig *r, int64_t start_ms, int64_t covered_ms, const char *folded)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	char id[ID_MAX];

	test_window(&r->store.s,
	            &(struct test_window){.start_ms = start_ms,
	                                  .span_ms = 10 * SECOND,
	                                  .covered_ms = covered_ms,
	                                  .profile = p},
	            id);
}

static void
step(struct rig *r, int64_t wall_ms)
{
	rollup_step(&r->r, ++r->step * 60 * NS_PER_S, wall_ms);
}

/* Returns whether the analyser was asked to add up, and the file for the sums.
 */
static bool
is_asked(struct rig *r, int *out)
{
	struct msg_capture m;
	size_t n = 1;
	ssize_t got;

	ck_assert_int_eq(fcntl(r->analyser, F_SETFL, O_NONBLOCK), 0);
	got = msg_recv(r->analyser, &m, sizeof(m), out, &n);
	return got == sizeof(m) && m.type == MSG_ROLLUP && n == 1;
}

/* Answers as if the process that adds up had died at the first group. */
static void
answer_by_death(struct rig *r)
{
	const struct msg_batch m = {.type = MSG_ROLLED,
	                            .error = CAPTURE_FINISH_DIED};

	rollup_take(&r->r, &m, memfd_create("sums", MFD_CLOEXEC),
	            memfd_create("rows", MFD_CLOEXEC));
}

/* Answers with a sum of one group without parts: these bytes, described by
 * the row at this place of a file of this length (0: the file ends with the
 * row). */
static void
answer_at(struct rig *r, const char *sum, off_t place, off_t length)
{
	const struct msg_batch m = {.type = MSG_ROLLED};
	CLEANUP_BUF struct buf bundle = BUF_INIT(BUF_MAX_SMALL);
	struct rollup_row row = {.length = strlen(sum) + 8,
	                         .shares = {r->percent}};
	int data = memfd_create("sums", MFD_CLOEXEC);
	int rows = memfd_create("rows", MFD_CLOEXEC);

	buf_puts(&bundle, sum);
	counted_put(&bundle, 0);
	counted_put(&bundle, (uint32_t)strlen(sum));
	ck_assert_int_eq(pwrite(data, bundle.p, bundle.len, 0), bundle.len);
	ck_assert_int_eq(
		pwrite(rows, &row, sizeof(row), place * (off_t)sizeof(row)),
		sizeof(row));
	if (length)
		ck_assert_int_eq(ftruncate(rows, length), 0);
	rollup_take(&r->r, &m, data, rows);
}

static void
answer(struct rig *r, const char *sum)
{
	answer_at(r, sum, 0, 0);
}

/* The windows of one minute of the only series. */
static void
minutes_of(struct rig *r, struct window_list *out)
{
	CLEANUP_SERIES_LIST struct series_list of = {0};

	ck_assert_int_eq(
		series_list(&r->store.s,
	                    &(struct series_filter){.tenant = TEST_TENANT,
	                                            .service = "",
	                                            .type = "",
	                                            .host = ""},
	                    &of),
		0);
	ck_assert_uint_eq(of.n, 1);
	ck_assert_int_eq(window_between(&r->store.s, of.items[0].id,
	                                WINDOW_MINUTE, T0, T0 + MINUTE, out),
	                 0);
}

TEST(a_minute_is_added_up_when_its_last_windows_had_time_to_come)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_FD int fd = -1;

	rig_init(&r);
	put(&r, T0, 10 * SECOND, "main 1\n");
	step(&r, T0 + MINUTE + 30 * SECOND - 1);
	ck_assert(!is_asked(&r, &fd));
	step(&r, T0 + MINUTE + 30 * SECOND);
	ck_assert(is_asked(&r, &fd));
}
END

/* As for a process that hangs, or an answer that was lost. */
TEST(a_sum_that_does_not_come_is_asked_for_again_after_two_minutes)
{
	const int64_t sent_ns = 1000 * NS_PER_S, wall_ms = T0 + 2 * MINUTE;
	CLEANUP_RIG struct rig r;
	CLEANUP_FD int first = -1, again = -1;

	rig_init(&r);
	put(&r, T0, 10 * SECOND, "main 1\n");
	rollup_step(&r.r, sent_ns, wall_ms);
	ck_assert(is_asked(&r, &first));
	rollup_step(&r.r, sent_ns + 120 * NS_PER_S, wall_ms);
	ck_assert(!is_asked(&r, &again));
	rollup_step(&r.r, sent_ns + 120 * NS_PER_S + 1, wall_ms);
	ck_assert(is_asked(&r, &again));
}
END

static size_t
one_function(void *arg, const char *series,
             const char *names[static ROLLUP_MAX_FUNCTIONS],
             char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX])
{
	struct rig *r = arg;

	(void)series;
	r->asked++;
	names[0] = "main";
	strcpy(ids[0], "trg-1");
	return 1;
}

static void
take_share(void *arg, const char *id, const struct rollup_share *s)
{
	struct rig *r = arg;

	ck_assert_str_eq(id, "trg-1");
	ck_assert_int_eq(s->start_ms, T0);
	ck_assert_double_eq(s->percent, r->percent);
	r->told++;
}

TEST(shares_are_of_recent_minutes_with_enough_samples)
{
	static const struct {
		const char *folded;
		int64_t age_ms; /* of the minute */
		double percent;
		unsigned asked, told;
	} rows[] = {
		{"main 20\n", 2 * MINUTE, 50, 1, 1},
		{"main 19\n", 2 * MINUTE, 50, 1, 0},
		{"main 20\n", 5 * MINUTE, 50, 1, 1},
		{"main 20\n", 5 * MINUTE + 1, 50, 0, 0},
		/* the analyser may write anything */
		{"main 20\n", 2 * MINUTE, 0, 1, 1},
		{"main 20\n", 2 * MINUTE, 100, 1, 1},
		{"main 20\n", 2 * MINUTE, -0.1, 1, 0},
		{"main 20\n", 2 * MINUTE, 100.1, 1, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_FD int fd = -1;

		rig_init(&r);
		r.r.asker = (struct rollup_asker){&r, one_function, take_share};
		r.percent = rows[i].percent;
		put(&r, T0, 10 * SECOND, rows[i].folded);
		step(&r, T0 + rows[i].age_ms);
		ck_assert(is_asked(&r, &fd));
		answer(&r, "sum");
		ck_assert_msg(r.asked == rows[i].asked, "row %zu", i);
		ck_assert_msg(r.told == rows[i].told, "row %zu", i);
	}
}
END

TEST(a_sum_covers_what_its_windows_cover)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_FD int fd = -1;

	rig_init(&r);
	put(&r, T0, 2 * SECOND, "main 1\n");
	put(&r, T0 + 10 * SECOND, 3 * SECOND, "main 4\n");
	step(&r, T0 + 2 * MINUTE);
	ck_assert(is_asked(&r, &fd));
	answer(&r, "sum");
	minutes_of(&r, &l);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].duration_ms, 5 * SECOND);
	ck_assert_int_eq(l.items[0].end_ms, T0 + MINUTE);
	ck_assert_int_eq(l.items[0].windows, 2);
	ck_assert_int_eq(l.items[0].sample_count, 5);
	ck_assert_int_eq(l.items[0].value, 5 * 10 * NS_PER_MS);
}
END

/* The last row that a group can have contains a sum; rows of zeros follow
 * it. */
TEST(no_more_sums_are_read_than_there_can_be_groups)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_FD int fd = -1;

	rig_init(&r);
	put(&r, T0, 10 * SECOND, "main 1\n");
	step(&r, T0 + 2 * MINUTE);
	ck_assert(is_asked(&r, &fd));
	answer_at(&r, "sum", ROLLUP_MAX_GROUPS - 1, (off_t)1 << 40);
	minutes_of(&r, &l);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].length, 3);
}
END

TEST(a_sum_at_which_each_process_dies_is_given_up)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_WINDOWS struct window_list l = {0};

	rig_init(&r);
	put(&r, T0, 10 * SECOND, "main 1\n");
	for (int i = 0; i < ROLLUP_ATTEMPTS; i++) {
		CLEANUP_FD int fd = -1;

		minutes_of(&r, &l);
		ck_assert_uint_eq(l.n, 0);
		r.r.next_ns = 0; /* it is time for the next attempt */
		step(&r, T0 + 2 * MINUTE);
		ck_assert(is_asked(&r, &fd));
		answer_by_death(&r);
	}
	minutes_of(&r, &l);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].length, 0);
	ck_assert_int_eq(l.items[0].windows, 1);
	ck_assert_uint_eq(r.r.given_up, 1);
}
END

TEST(a_death_at_another_sum_is_the_first_there)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	put(&r, T0, 10 * SECOND, "main 1\n");
	for (int i = 0; i < ROLLUP_ATTEMPTS + 1; i++) {
		CLEANUP_FD int fd = -1;

		r.r.deadly.start_ms = i == ROLLUP_ATTEMPTS - 1 ? 0 : T0;
		r.r.next_ns = 0;
		step(&r, T0 + 2 * MINUTE);
		ck_assert(is_asked(&r, &fd));
		answer_by_death(&r);
	}
	ck_assert_uint_eq(r.r.given_up, 0);
}
END

SUITE("rollup");
