/* Comparisons of ranges, which consist of parts: claims about many simulated
 * ones. */
#include "lib/folded.h"
#include "lib/random.h"
#include "lib/test.h"
#include "profile/compare.h"
#include "profile/merge.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define FUNCTIONS 30
#define RESTLESS  3 /* functions whose cost changes with the phase */
#define ROUNDS    200
#define WINDOW    190 /* samples of 10 s at 19 Hz */
#define WINDOW_MS INT64_C(10000)
#define MAX_PARTS 200
#define MAX_TIME  512 /* windows in a row */

static uint64_t seed;

/* A service; the cost of its windows is random. */
struct service {
	double much;   /* change of restless functions: 0 to 1 */
	double stays;  /* chance that the next window is in the same phase */
	double load;   /* change of the number of samples: 0 to 1 */
	double slower; /* factor for the cost of f3 */
};

/* Mean cost of each function in each window of a range. */
struct course {
	double rate[MAX_TIME][FUNCTIONS];
};

static void
course_of(const struct service *s, int windows, struct course *out)
{
	double phase[RESTLESS] = {0}, load = 1;

	for (int w = 0; w < windows; w++) {
		if (!w || random_real(&seed) >= s->stays) {
			for (int i = 0; i < RESTLESS; i++)
				phase[i] = 2 * random_real(&seed) - 1;
			load = 1 + s->load * (2 * random_real(&seed) - 1);
		}
		for (int i = 0; i < FUNCTIONS; i++) {
			double rate = load * WINDOW / (i + 2) / 3;

			rate *= i < RESTLESS ? 1 + s->much * phase[i] : 1;
			out->rate[w][i] = i == RESTLESS ? rate * s->slower
			                                : rate;
		}
	}
}

/* Source: Knuth, The Art of Computer Programming 2, 3.4.1, for small means; the
 * normal distribution for others. */
static int
poisson(double mean)
{
	double at = 1, stop = exp(-mean);
	int n = -1;

	if (mean > 50) {
		double sum = -6;

		for (int i = 0; i < 12; i++)
			sum += random_real(&seed);
		return (int)(mean + sqrt(mean) * sum + 0.5);
	}
	do
		n++;
	while ((at *= random_real(&seed)) > stop);
	return n;
}

/* A range, as the number of windows in each of its parts. */
struct cutting {
	int parts, hosts;
	int windows[MAX_PARTS];
};

static int
windows_of(const struct cutting *cut)
{
	int n = 0;

	for (int i = 0; i < cut->parts; i++)
		n += cut->windows[i];
	return n;
}

static struct cutting
equal(int parts, int hosts)
{
	struct cutting c = {.parts = parts, .hosts = hosts};

	for (int i = 0; i < parts; i++)
		c.windows[i] = 1;
	return c;
}

/* Some windows, some minutes, and windows again, as in plans of ranges. */
static struct cutting
unequal(void)
{
	struct cutting c = {.parts = 30, .hosts = 1};

	for (int i = 0; i < c.parts; i++)
		c.windows[i] = i < 5 || i >= 25 ? 1 : 6;
	return c;
}

struct range {
	struct profile *p;
	struct tree *t;
	struct blocks *blocks;
	double seconds;
};

static void
range_done(struct range *r)
{
	blocks_free(r->blocks);
	tree_free(r->t);
	profile_free(r->p);
}
#define CLEANUP_RANGE CLEANUP(range_done)

static struct profile *
part_of(const struct course *c, int from, int windows)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	for (int i = 0; i < FUNCTIONS; i++) {
		double rate = 0;
		int n;

		for (int w = from; w < from + windows; w++)
			rate += c->rate[w][i];
		n = poisson(rate);
		if (n)
			buf_addf(&text, "main;f%d %d\n", i, n);
	}
	ck_assert_int_eq(buf_err(&text), 0);
	return profile_of(buf_str(&text));
}

static size_t
list_parts(const struct cutting *cut, struct blocks_part *out)
{
	int64_t at = 0;
	size_t n = 0;

	for (int i = 0; i < cut->parts; i++) {
		int64_t end = at + cut->windows[i] * WINDOW_MS;

		/* clocks of hosts differ */
		for (int h = 0; h < cut->hosts; h++)
			out[n++] = (struct blocks_part){
				.start_ms = at + h * 100,
				.end_ms = end + h * 100,
				.seconds = (double)(end - at) / 1000,
				.samples = cut->windows[i] * (double)WINDOW,
				.each = 1,
			};
		at = end;
	}
	return n;
}

/* The profiles of parts, lent one at a time. */
struct reading {
	struct profile *p[MAX_PARTS];
	size_t n, next;
	struct packed lent;
};

static int
next_part(void *arg, size_t *part, const struct packed **out)
{
	struct reading *r = arg;

	packed_done(&r->lent);
	if (r->next == r->n)
		return -ENODATA;
	*part = r->next++;
	r->lent.p = TAKE(r->p[*part]);
	*out = &r->lent;
	return 0;
}

/* Parts of several hosts at one time are in the same phase. */
static struct range
run(const struct service *s, const struct cutting *cut)
{
	static struct course c;
	static struct blocks_part parts[MAX_PARTS];
	struct reading reading = {.n = list_parts(cut, parts)};
	struct profile **p = reading.p;
	const struct blocks_parts all = {parts, reading.n, next_part, &reading};
	CLEANUP_MERGE struct merge *m = NULL;
	struct range r = {0};
	int at = 0, rc;

	course_of(s, windows_of(cut), &c);
	rc = merge_new((size_t)1 << 26, &m);
	for (size_t i = 0; i < all.n && !rc; i++) {
		int windows = cut->windows[(int)i / cut->hosts];

		p[i] = part_of(&c, at, windows);
		rc = merge_add(m, p[i]);
		at += ((int)i + 1) % cut->hosts ? 0 : windows;
	}
	rc = rc ?: merge_end(m, &r.p) ?: tree_new(r.p, 1, &r.t);
	rc = rc ?: blocks_of_parts(r.t, &all, BLOCKS_OF_FUNCTIONS, &r.blocks);
	packed_done(&reading.lent);
	ck_assert_int_eq(rc, 0);
	r.seconds = windows_of(cut) * (double)WINDOW_MS / 1000;
	return r;
}

static struct comparison *
compare(const struct range *base, const struct range *now, bool blocks)
{
	struct comparison *c;

	ck_assert_int_eq(compare_new(
				 &(struct compare_side){
					 .tree = base->t,
					 .seconds = base->seconds,
					 .blocks = blocks ? base->blocks : NULL,
				 },
				 &(struct compare_side){
					 .tree = now->t,
					 .seconds = now->seconds,
					 .blocks = blocks ? now->blocks : NULL,
				 },
				 false, COMPARE_BY_SHARE, &c),
	                 0);
	return c;
}

/* --- false alarms --------------------------------------------------------- */

static const struct {
	const char *name;
	double much, stays, load;
	int parts, hosts; /* 0 parts: unequal() */
	int before;       /* alarms in ROUNDS without blocks, at least */
	int after;        /* alarms with blocks, at most */
	int misses;       /* intervals that miss, at most */
} nulls[] = {
	{"steady", 0, 0, 0, 60, 1, 0, 10, 20},
	{"each window is another", 0.9, 0, 0, 60, 1, 15, 10, 20},
	/* about twelve phases in a range: too little information */
	{"each minute is", 0.9, 0.8, 0, 60, 1, 80, 10, 30},
	{"windows beside minutes", 0.9, 0, 0, 0, 1, 15, 10, 20},
	{"few windows", 0.9, 0, 0, 6, 1, 15, 10, 20},
	{"three hosts at once", 0.9, 0, 0, 40, 3, 60, 10, 20},
	{"load comes and goes", 0.9, 0, 0.8, 60, 1, 15, 10, 20},
};

TEST_EACH(parts_tell_what_windows_differ_by, nulls)
{
	struct cutting cut = nulls[_i].parts
	                             ? equal(nulls[_i].parts, nulls[_i].hosts)
	                             : unequal();
	const struct service s = {nulls[_i].much, nulls[_i].stays,
	                          nulls[_i].load, 1};
	int before = 0, after = 0, outside = 0;

	seed = 200 + (uint64_t)_i;
	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_RANGE struct range a = run(&s, &cut);
		CLEANUP_RANGE struct range b = run(&s, &cut);
		CLEANUP_COMPARISON struct comparison *without =
			compare(&a, &b, false);
		CLEANUP_COMPARISON struct comparison *with =
			compare(&a, &b, true);

		ck_assert_int_eq(without->method, COMPARE_FROM_FUNCTIONS);
		ck_assert_int_eq(with->method, COMPARE_FROM_BLOCKS);
		ck_assert_uint_ge(with->blocks, 4);
		before += without->nregressions > 0;
		after += with->nregressions > 0 ||
		         with->verdict == COMPARE_COSTS_MORE;
		outside += with->low > 0 || with->high < 0;
	}
	printf("%s: %d of %d list a regression without blocks, %d do so or "
	       "cost more with them; "
	       "%d intervals of 95 %% miss\n",
	       nulls[_i].name, before, ROUNDS, after, outside);
	ck_assert_int_ge(before, nulls[_i].before);
	ck_assert_int_le(after, nulls[_i].after);
	ck_assert_int_le(outside, nulls[_i].misses);
}
END

/* --- power ---------------------------------------------------------------- */

static const struct {
	const char *name;
	double much, load;
	int least; /* of ROUNDS / 2 */
} found[] = {
	{"a sixteenth, a third slower", 0, 0, 90},
	{"the same beside restless others", 0.3, 0.5, 85},
};

TEST_EACH(what_changed_is_found_between_ranges, found)
{
	const struct service before = {found[_i].much, 0, found[_i].load, 1};
	const struct service after = {found[_i].much, 0, found[_i].load, 1.33};
	struct cutting cut = equal(60, 1);
	int n = 0;

	seed = 220 + (uint64_t)_i;
	for (int i = 0; i < ROUNDS / 2; i++) {
		CLEANUP_RANGE struct range a = run(&before, &cut);
		CLEANUP_RANGE struct range b = run(&after, &cut);
		CLEANUP_COMPARISON struct comparison *c = compare(&a, &b, true);

		for (size_t k = 0; k < c->nregressions; k++)
			n += !strcmp(c->functions[k].name, "f3");
	}
	printf("%s: found in %g %%\n", found[_i].name,
	       100.0 * n / (ROUNDS / 2));
	ck_assert_int_ge(n, found[_i].least);
}
END

/* --- ranges and captures -------------------------------------------------- */

/* A capture of a minute whose samples are in order of time. */
static struct range
capture(int samples)
{
	static struct course c;
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TIMELINE struct timeline *line = timeline_new();
	struct range r = {.seconds = 60};
	double whole = 0;
	int rc = timeline_thread(line, &(struct timeline_thread){0});

	course_of(&(struct service){.slower = 1}, 1, &c);
	for (int i = 0; i < FUNCTIONS; i++) {
		whole += c.rate[0][i];
		buf_addf(&text, "main;f%d 1\n", i);
	}
	r.p = profile_of(buf_str(&text));
	memset(r.p->values, 0, sizeof(*r.p->values) * r.p->ntypes * FUNCTIONS);
	line->duration_us = 60000000;
	for (int i = 0; i < samples && !rc; i++) {
		double at = random_real(&seed) * whole;
		uint32_t f = 0;

		while (f + 1 < FUNCTIONS && (at -= c.rate[0][f]) >= 0)
			f++;
		r.p->values[f * r.p->ntypes]++;
		r.p->values[f * r.p->ntypes + 1] += FOLDED_PERIOD_NS;
		rc = timeline_sample(
			line,
			&(struct timeline_sample){.time_us = line->duration_us *
		                                             (uint64_t)i /
		                                             (uint64_t)samples,
		                                  .weight_ns = FOLDED_PERIOD_NS,
		                                  .sample = f});
	}
	rc = rc ?: tree_new(r.p, 1, &r.t) ?: blocks_of_timeline(r.t, line, BLOCKS_OF_FUNCTIONS, &r.blocks);
	ck_assert_int_eq(rc, 0);
	return r;
}

TEST(a_range_and_a_capture_are_compared_by_blocks_of_both)
{
	const struct service s = {.slower = 1};
	struct cutting cut = equal(12, 1);
	int wrong = 0;

	seed = 230;
	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_RANGE struct range a = run(&s, &cut);
		CLEANUP_RANGE struct range b = capture(5940);
		CLEANUP_COMPARISON struct comparison *c = compare(&a, &b, true);

		ck_assert_int_eq(c->method, COMPARE_FROM_BLOCKS);
		ck_assert_uint_le(c->blocks, 12);
		wrong += c->nregressions > 0;
	}
	printf("range and capture: %d of %d list a regression\n", wrong,
	       ROUNDS);
	ck_assert_int_le(wrong, ROUNDS / 20);
}
END

/* --- totals of captures --------------------------------------------------- */

/* A range in which all windows have the load of their hour. */
static struct range
at_an_hour(double much)
{
	struct cutting cut = equal(12, 1);
	struct range r = run(&(struct service){.slower = 1}, &cut);

	r.seconds *= 1 + much * (2 * random_real(&seed) - 1);
	r.p->duration_ns = (int64_t)(r.seconds * 1e9);
	return r;
}

static int
missed(double much, size_t nothers)
{
	int n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_RANGE struct range a = at_an_hour(much);
		CLEANUP_RANGE struct range b = at_an_hour(much);
		CLEANUP_RANGE struct range x = at_an_hour(much);
		CLEANUP_RANGE struct range y = at_an_hour(much);
		CLEANUP_RANGE struct range z = at_an_hour(much);
		const struct tree *others[] = {x.t, y.t, z.t};
		CLEANUP_COMPARISON struct comparison *c = NULL;
		const struct compare_side base = {
			.tree = a.t,
			.seconds = a.seconds,
			.blocks = a.blocks,
			.others = others,
			.nothers = nothers,
		};
		const struct compare_side now = {
			.tree = b.t,
			.seconds = b.seconds,
			.blocks = b.blocks,
		};

		ck_assert_int_eq(
			compare_new(&base, &now, false, COMPARE_BY_SHARE, &c),
			0);
		n += c->low > 0 || c->high < 0;
	}
	return n;
}

TEST(others_of_the_base_widen_the_interval_of_the_total)
{
	int alone, among, same;

	seed = 240;
	alone = missed(0.3, 0);
	among = missed(0.3, 3);
	same = missed(0, 3);
	printf("0 is outside of %d of %d intervals alone, %d with 3 others, "
	       "%d where hours are alike\n",
	       alone, ROUNDS, among, same);
	ck_assert_int_ge(alone, ROUNDS / 2);
	ck_assert_int_le(among, ROUNDS / 10);
	ck_assert_int_le(same, ROUNDS / 10);
}
END

/* How much work another hour had is unknown. */
TEST(others_do_not_widen_what_is_told_per_unit_of_work)
{
	seed = 241;
	CLEANUP_RANGE struct range a = at_an_hour(0);
	CLEANUP_RANGE struct range b = at_an_hour(0);
	CLEANUP_RANGE struct range x = at_an_hour(0);
	const struct tree *others[] = {x.t};
	struct compare_side base = {
		.tree = a.t,
		.seconds = a.seconds,
		.work = 1000,
		.blocks = a.blocks,
	};
	const struct compare_side now = {
		.tree = b.t,
		.seconds = b.seconds,
		.work = 1000,
		.blocks = b.blocks,
	};
	CLEANUP_COMPARISON struct comparison *one = NULL;
	CLEANUP_COMPARISON struct comparison *two = NULL;

	x.p->duration_ns *= 3;
	ck_assert_int_eq(compare_new(&base, &now, false, COMPARE_BY_WORK, &one),
	                 0);
	base.others = others;
	base.nothers = 1;
	ck_assert_int_eq(compare_new(&base, &now, false, COMPARE_BY_WORK, &two),
	                 0);
	ck_assert_double_eq(one->low, two->low);
	ck_assert_double_eq(one->high, two->high);
}
END

/* --- what blocks are made of ---------------------------------------------- */

TEST(blocks_hold_what_the_tree_does)
{
	struct cutting cut = unequal();

	seed = 250;
	CLEANUP_RANGE struct range r =
		run(&(struct service){.slower = 1}, &cut);
	CLEANUP_FREE struct top_entry *top = NULL;
	double order = 0, time = 0;
	uint32_t n;

	ck_assert_int_eq(tree_top(r.t, 0, &top, &n), 0);
	for (uint32_t i = 0; i < n; i++) {
		const struct block_row *row = blocks_row(r.blocks, top[i].name);
		double a = 0, b = 0;

		for (int k = 0; row && k < BLOCKS; k++) {
			a += row->order[k];
			b += row->time[k];
		}
		ck_assert_double_eq(a, (double)top[i].self);
		ck_assert_double_eq(b, (double)top[i].self);
	}
	for (int k = 0; k < BLOCKS; k++) {
		order += r.blocks->rows[0].order[k];
		time += r.blocks->rows[0].time[k];
	}
	ck_assert_double_eq(order, (double)r.t->total[0]);
	ck_assert_double_eq(time, (double)r.t->total[0]);
}
END

SUITE("compare_parts", .seconds = 240);
