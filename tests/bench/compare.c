/*
 * How often comparisons of real captures, and their differential flame
 * graphs, are wrong, and how often they find what changed. One line of
 * figures per run, on stdout: see README.md.
 *
 *	compare dispersion RECORDING
 *	compare drawn RECORDING
 *	compare neighbours RECORDING
 *	compare others N RECORDING
 *	compare ranges ALIKE RECORDING
 *	compare power FUNCTION THREADS RECORDING RECORDING [WORK WORK]
 *
 * where RECORDING is TIMELINE PROFILE, and WORK what it did per second of
 * CPU time, in any unit. drawn prints in what percent a function is listed,
 * and a node is sure. power prints in what percent the function was listed,
 * and a node of it was sure, the bound in percent, the threads, and the
 * function's share before and after. THREADS 0: as few as the bound takes to
 * reach 99 %.
 *
 * A recording of one thread at 990 Hz is cut into stretches of 5 s of its CPU
 * time. A capture of 60 s at 99 Hz is drawn from it: for each 5 s of a thread
 * a stretch at random, with replacement, and of that every tenth sample from
 * a random one on. That is what a sampler ten times slower would have seen of
 * a minute made of such stretches; phases up to their length are kept.
 */
#include "base/file.h"
#include "lib/folded.h"
#include "lib/random.h"
#include "profile/diff.h"
#include "profile/merge.h"
#include "profile/pprof.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES     ((size_t)256 << 20)
#define MAX_FUNCTIONS 4096
#define RATE          99
#define THIN          10 /* divides the recording's rate */
#define STRETCH_S     5
#define STRETCH       (STRETCH_S * RATE * THIN) /* samples */
#define SECONDS       60
#define ROUNDS        1000
#define FOUND_ROUNDS  200
#define MAX_THREADS   64
#define ENOUGH        0.99 /* least bound for THREADS 0 */
#define MAX_SAMPLES   (SECONDS * RATE * MAX_THREADS)
/* A recording is a random sample itself; with fewer stretches it would show
 * spurious changes. */
#define LEAST_STRETCHES 12
#define MAX_STRETCHES   1024
#define MAX_OTHERS      8
#define WINDOWS         60 /* in a range */
#define WINDOW_S        10
#define WINDOW_RATE     19
#define WINDOW_THIN     (RATE * THIN / WINDOW_RATE)
#define WINDOW_EACH     (STRETCH_S * WINDOW_RATE) /* samples of a stretch */
#define RANGE_ROUNDS    500

struct recording {
	struct timeline *t;
	struct profile *p;
	uint32_t *function; /* for each row of p: string of its leaf */
	uint32_t nstretches;
	double work; /* per second of CPU time; 0: unknown */
};

/* Samples in order of time, as rows of a recording's profile. */
struct capture {
	const struct recording *from;
	uint32_t *row;
	uint32_t n;
	double seconds;
};

/* One side of a comparison. */
struct side {
	struct profile *p;
	struct tree *t;
	struct timeline *line;
	struct blocks *blocks, *nodes;
};

/* The numbers of rounds in which a function was listed, and a node was
 * sure. */
struct found {
	int listed, sure;
};

/* The same seed each time, so that a run can be repeated. */
static uint64_t
draw(void)
{
	static uint64_t seed = 1;

	return random_next(&seed);
}

static void
die(const char *why)
{
	fprintf(stderr, "compare: %s\n", why);
	exit(1);
}

static void
load(char **paths, struct recording *r)
{
	CLEANUP_BUF struct buf line = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	if (file_read(AT_FDCWD, paths[0], &line) ||
	    timeline_decode(line.p, line.len, MAX_BYTES, &r->t) ||
	    file_read(AT_FDCWD, paths[1], &bytes) ||
	    pprof_decode(bytes.p, bytes.len, MAX_BYTES, &r->p, &why) ||
	    timeline_fits(r->t, r->p))
		die("the recording can't be read");
	r->nstretches = r->t->nsamples / STRETCH;
	r->function = calloc(r->p->nsamples + 1, sizeof(*r->function));
	if (!r->function)
		die("out of memory");
	if (r->nstretches < LEAST_STRETCHES || r->nstretches > MAX_STRETCHES)
		die("the recording is too short, or too long");
	for (uint32_t i = 0; i < r->p->nsamples; i++) {
		CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
		uint32_t leaf = r->p->stack[r->p->samples[i].stack0];

		profile_frame_name(r->p, leaf, 0, &name);
		if (strings_add(r->p->strings, buf_str(&name), name.len,
		                &r->function[i]))
			die("out of memory");
	}
}

/* --- captures ------------------------------------------------------------- */

static struct capture
capture_new(const struct recording *r, double seconds)
{
	static uint32_t room[2][MAX_SAMPLES];
	static unsigned turn;

	return (struct capture){r, room[turn++ % 2], 0, seconds};
}

static void
add_sample(struct capture *c, uint32_t sample)
{
	c->row[c->n++] = c->from->t->samples[sample].sample;
}

/* Draws a capture of this many busy threads that are sampled at the same
 * times. */
static struct capture
drawn(const struct recording *r, unsigned threads)
{
	struct capture c = capture_new(r, SECONDS);

	for (unsigned s = 0; s < SECONDS / STRETCH_S; s++) {
		uint32_t from[MAX_THREADS];

		for (unsigned i = 0; i < threads; i++)
			from[i] = (uint32_t)(draw() % r->nstretches * STRETCH +
			                     draw() % THIN);
		for (unsigned k = 0; k < STRETCH; k += THIN)
			for (unsigned i = 0; i < threads; i++)
				add_sample(&c, from[i] + k);
	}
	return c;
}

/* Takes a stretch as it was recorded. */
static struct capture
stretch(const struct recording *r, uint32_t i)
{
	struct capture c = capture_new(r, STRETCH_S);

	while (c.n < STRETCH)
		add_sample(&c, i * STRETCH + c.n);
	return c;
}

static void
side_done(struct side *s)
{
	blocks_free(s->nodes);
	blocks_free(s->blocks);
	timeline_free(s->line);
	tree_free(s->t);
	profile_free(s->p);
}

/* Writes a stack as folded text, in which ';' separates frames. */
static void
put_stack(const struct profile *p, uint32_t row, struct buf *out)
{
	const struct sample *s = &p->samples[row];

	for (uint32_t i = s->nstack; i-- > 0;) {
		uint32_t location = p->stack[s->stack0 + i];

		for (uint32_t line = profile_frames(p, location); line-- > 0;) {
			CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

			profile_frame_name(p, location, line, &name);
			for (size_t k = 0; k < name.len; k++)
				buf_putc(out, strchr(";@", buf_str(&name)[k])
				                      ? '_'
				                      : buf_str(&name)[k]);
			buf_putc(out, i || line ? ';' : ' ');
		}
	}
}

/* Writes a line for each different stack of the capture; row[] maps rows of the
 * recording to lines. */
static void
fold(const struct capture *c, uint32_t *row, struct buf *text)
{
	const struct profile *p = c->from->p;
	CLEANUP_FREE uint32_t *count = calloc(p->nsamples, sizeof(*count));
	CLEANUP_STRINGS struct strings *stacks = strings_new();

	if (!count || !stacks)
		die("out of memory");
	for (uint32_t i = 0; i < c->n; i++)
		count[c->row[i]]++;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		CLEANUP_BUF struct buf stack = BUF_INIT(BUF_MAX_REPLY);

		if (!count[i])
			continue;
		put_stack(p, i, &stack);
		if (strings_add(stacks, buf_str(&stack), stack.len, &row[i]))
			die("out of memory");
		row[i]--; /* string 0 is the empty string */
		buf_addf(text, "%s%u\n", buf_str(&stack), count[i]);
	}
	if (buf_err(text))
		die("too many functions");
}

static void
side_of(const struct capture *c, struct side *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_FREE uint32_t *row = calloc(c->from->p->nsamples, sizeof(*row));
	int rc;

	if (!row)
		die("out of memory");
	fold(c, row, &text);
	*out = (struct side){.p = profile_of(buf_str(&text)),
	                     .line = timeline_new()};
	out->line->duration_us = (uint64_t)(c->seconds * 1e6);
	rc = timeline_thread(out->line, &(struct timeline_thread){0});
	for (uint32_t i = 0; !rc && i < c->n; i++)
		rc = timeline_sample(
			out->line,
			&(struct timeline_sample){
				.time_us = out->line->duration_us * i / c->n,
				.weight_ns = FOLDED_PERIOD_NS,
				.sample = row[c->row[i]],
			});
	if (rc || tree_new(out->p, 1, &out->t) ||
	    blocks_of_timeline(out->t, out->line, BLOCKS_OF_FUNCTIONS,
	                       &out->blocks) ||
	    blocks_of_timeline(out->t, out->line, BLOCKS_OF_NODES, &out->nodes))
		die("a capture can't be made");
}

/* Returns whether a node is sure to cost more: one of this function, or any. */
static bool
has_sure(const struct diff *d, const char *function)
{
	const struct tree *t = d->tree;

	for (uint32_t i = 0; i < t->n; i++)
		if (d->sure[i] && diff_delta(d, i) > 0 &&
		    (!function ||
		     !strcmp(tree_name(t, t->name[i], NULL), function)))
			return true;
	return false;
}

/* Counts rounds in which a regression was listed, and in which a node was sure
 * to cost more, of one function or of any. */
static void
compare_among(const struct capture *base, const struct capture *now,
              const char *function, const struct tree *const *others,
              size_t nothers, struct found *found)
{
	CLEANUP(side_done) struct side a = {0};
	CLEANUP(side_done) struct side b = {0};
	CLEANUP_COMPARISON struct comparison *c = NULL;
	CLEANUP_DIFF struct diff *d = NULL;
	struct compare_side sides[2];
	bool listed = false;

	side_of(base, &a);
	side_of(now, &b);
	sides[0] = (struct compare_side){.tree = a.t,
	                                 .seconds = base->seconds,
	                                 .work = base->from->work,
	                                 .blocks = a.blocks,
	                                 .nodes = a.nodes,
	                                 .others = others,
	                                 .nothers = nothers};
	sides[1] = (struct compare_side){.tree = b.t,
	                                 .seconds = now->seconds,
	                                 .work = now->from->work,
	                                 .blocks = b.blocks,
	                                 .nodes = b.nodes};
	if (compare_new(&sides[0], &sides[1], false,
	                base->from->work > 0 ? COMPARE_BY_WORK
	                                     : COMPARE_BY_SHARE,
	                &c) ||
	    compare_totals(c, &sides[0], &sides[1]) ||
	    diff_new(&sides[0], &sides[1], c, &d))
		die("out of memory");
	for (size_t i = 0; i < c->nregressions; i++)
		listed |= !function || !strcmp(c->functions[i].name, function);
	listed |= !function && (c->verdict == COMPARE_COSTS_MORE || c->nrisen);
	found->listed += listed;
	found->sure += has_sure(d, function);
}

static void
compare(const struct capture *base, const struct capture *now,
        const char *function, struct found *found)
{
	compare_among(base, now, function, NULL, 0, found);
}

/* --- ranges --------------------------------------------------------------- */

static struct profile *
window_of(const struct recording *r, const uint32_t stretches[2])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_FREE uint32_t *row = calloc(r->p->nsamples, sizeof(*row));
	uint32_t room[2 * WINDOW_EACH];
	struct capture c = {r, room, 0, WINDOW_S};

	if (!row)
		die("out of memory");
	for (int i = 0; i < 2; i++) {
		uint32_t from = (uint32_t)(stretches[i] * STRETCH +
		                           draw() % WINDOW_THIN);

		for (uint32_t k = 0; k < WINDOW_EACH; k++)
			add_sample(&c, from + k * WINDOW_THIN);
	}
	fold(&c, row, &text);
	return profile_of(buf_str(&text));
}

/* The files of windows, read one at a time. */
struct reading {
	struct buf files[WINDOWS];
	size_t next;
	struct packed lent;
};

static int
next_window(void *arg, size_t *part, const struct packed **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct reading *r = arg;
	const struct buf *file = &r->files[r->next];

	packed_done(&r->lent);
	if (r->next == WINDOWS) {
		r->next = 0;
		return -ENODATA;
	}
	*part = r->next++;
	*out = &r->lent;
	return pprof_decode(file->p, file->len, MAX_BYTES, &r->lent.p, &why);
}

static void
range_of(const struct recording *r, unsigned alike, struct side *out)
{
	CLEANUP_MERGE struct merge *m = NULL;
	struct reading reading = {.next = 0};
	struct buf *files = reading.files;
	struct blocks_part parts[WINDOWS];
	const struct blocks_parts all = {parts, WINDOWS, next_window, &reading};
	uint32_t stretches[2] = {0};
	int rc;

	for (int i = 0; i < WINDOWS; i++)
		parts[i] = (struct blocks_part){
			.start_ms = i * WINDOW_S * INT64_C(1000),
			.end_ms = (i + 1) * WINDOW_S * INT64_C(1000),
			.seconds = WINDOW_S,
			.samples = 2 * WINDOW_EACH,
			.each = 1,
		};
	*out = (struct side){0};
	rc = merge_new(MAX_BYTES, &m);
	for (unsigned i = 0; i < WINDOWS && !rc; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;

		for (int k = 0; k < 2 && i % alike == 0; k++)
			stretches[k] = (uint32_t)(draw() % r->nstretches);
		p = window_of(r, stretches);
		files[i] = BUF_INIT(MAX_BYTES);
		rc = merge_add(m, p) ?: pprof_encode(p, &files[i]);
	}
	if (rc || merge_end(m, &out->p) || tree_new(out->p, 1, &out->t) ||
	    blocks_of_parts(out->t, &all, BLOCKS_OF_FUNCTIONS, &out->blocks) ||
	    blocks_of_parts(out->t, &all, BLOCKS_OF_NODES, &out->nodes))
		die("a range can't be made");
	for (unsigned i = 0; i < WINDOWS; i++)
		buf_done(&files[i]);
}

static bool
ranges_differ(const struct side *a, const struct side *b, bool blocks)
{
	CLEANUP_COMPARISON struct comparison *c = NULL;
	const struct side *of[] = {a, b};
	struct compare_side sides[2];

	for (int i = 0; i < 2; i++)
		sides[i] = (struct compare_side){
			.tree = of[i]->t,
			.seconds = WINDOWS * WINDOW_S,
			.blocks = blocks ? of[i]->blocks : NULL,
			.nodes = blocks ? of[i]->nodes : NULL,
		};
	if (compare_new(&sides[0], &sides[1], false, COMPARE_BY_SHARE, &c) ||
	    compare_totals(c, &sides[0], &sides[1]))
		die("out of memory");
	return c->nregressions > 0 || c->nrisen > 0 ||
	       c->verdict == COMPARE_COSTS_MORE;
}

static void
ranges(const struct recording *r, unsigned alike)
{
	int with = 0, without = 0;

	for (int i = 0; i < RANGE_ROUNDS; i++) {
		CLEANUP(side_done) struct side a = {0};
		CLEANUP(side_done) struct side b = {0};

		range_of(r, alike, &a);
		range_of(r, alike, &b);
		with += ranges_differ(&a, &b, true);
		without += ranges_differ(&a, &b, false);
	}
	printf("%.2f %.2f\n", 100.0 * with / RANGE_ROUNDS,
	       100.0 * without / RANGE_ROUNDS);
}

/* --- figures -------------------------------------------------------------- */

/* Prints how often, in percent, comparisons of a program with itself list a
 * regression, or call a node sure. */
static void
drawn_alarms(const struct recording *r)
{
	struct found found = {0};

	for (int i = 0; i < ROUNDS; i++) {
		struct capture base = drawn(r, 1), now = drawn(r, 1);

		compare(&base, &now, NULL, &found);
	}
	printf("%.2f %.2f\n", 100.0 * found.listed / ROUNDS,
	       100.0 * found.sure / ROUNDS);
}

/* Compares each pair of stretches as recorded, without drawing or thinning. */
static double
neighbours(const struct recording *r)
{
	struct found found = {0};
	int pairs = 0;

	for (uint32_t i = 0; i < r->nstretches; i++)
		for (uint32_t k = i + 1; k < r->nstretches; k++, pairs++) {
			struct capture base = stretch(r, i);
			struct capture now = stretch(r, k);

			compare(&base, &now, NULL, &found);
		}
	return 100.0 * found.listed / pairs;
}

/* Like neighbours(), but each pair gets n other stretches, drawn from the
 * rest. */
static double
among(const struct recording *r, unsigned n)
{
	struct found found = {0};

	for (int round = 0; round < ROUNDS; round++) {
		struct side side[MAX_OTHERS] = {0};
		const struct tree *trees[MAX_OTHERS];
		bool used[MAX_STRETCHES] = {false};
		uint32_t at[MAX_OTHERS + 2];
		struct capture base, now;

		for (unsigned i = 0; i < n + 2; i++) {
			do
				at[i] = (uint32_t)(draw() % r->nstretches);
			while (used[at[i]]);
			used[at[i]] = true;
		}
		for (unsigned i = 0; i < n; i++) {
			base = stretch(r, at[i + 2]);
			side_of(&base, &side[i]);
			trees[i] = side[i].t;
		}
		base = stretch(r, at[0]);
		now = stretch(r, at[1]);
		compare_among(&base, &now, NULL, trees, n, &found);
		for (unsigned i = 0; i < n; i++)
			side_done(&side[i]);
	}
	return 100.0 * found.listed / ROUNDS;
}

static uint32_t
count_in(const struct capture *c, uint32_t function, uint32_t thin)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i += thin)
		n += c->from->function[c->row[i]] == function;
	return n;
}

/* Returns the variance of shares between stretches divided by that of
 * independent samples, for one function or all. */
static double
dispersion(const struct recording *r, const char *function)
{
	uint32_t nstrings = strings_count(r->p->strings);
	const double each = STRETCH / THIN;
	double seen = 0, freedom = 0;

	for (uint32_t f = 0; f < nstrings; f++) {
		const char *name = profile_text(r->p, f);
		double sum = 0, squares = 0, p;

		if (function && strcmp(function, name))
			continue;
		for (uint32_t i = 0; i < r->nstretches; i++) {
			struct capture c = stretch(r, i);
			double n = count_in(&c, f, THIN);

			sum += n;
			squares += n * n;
		}
		p = sum / r->nstretches / each;
		if (p * each < 1 || p >= 1)
			continue;
		seen += (squares - sum * sum / r->nstretches) /
		        (r->nstretches - 1) / (p * each);
		freedom += 1 - p;
	}
	return freedom > 0 ? seen / freedom : 1;
}

static double
share(const struct recording *r, const char *function)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->t->nsamples; i++)
		n += !strcmp(profile_text(r->p,
		                          r->function[r->t->samples[i].sample]),
		             function);
	return (double)n / r->t->nsamples;
}

/* Returns the number of functions that a comparison of such captures tests. */
static double
tested(const struct recording *r, unsigned threads)
{
	struct capture c = drawn(r, threads);
	uint32_t nstrings = strings_count(r->p->strings), n = 0;

	for (uint32_t f = 0; f < nstrings; f++)
		n += 2 * count_in(&c, f, 1) >= 10;
	return n;
}

static double
normal(double z)
{
	return 0.5 * erfc(-z / M_SQRT2);
}

/*
 * Returns the power of a z test that knows the recorded shares and their
 * variance (at least that of independent samples), at the level that Benjamini
 * and Hochberg allow for a single change; by work, a test of the two rates.
 */
static double
bound(const struct recording *base, const struct recording *now,
      const char *function, unsigned threads)
{
	double p = share(base, function), q = share(now, function);
	double n = SECONDS * RATE * threads;
	double v = fmax(dispersion(base, function), 1);
	double level = COMPARE_FDR / tested(base, threads), z = 0, error;

	error = sqrt(v * (p * (1 - p) + q * (1 - q)) / n);
	if (base->work > 0) {
		double times = base->work / now->work;

		error = sqrt(v * (p * (1 - p) + times * times * q * (1 - q)) /
		             n);
		q *= times;
	}
	while (2 * (1 - normal(z)) > level)
		z += 0.001;
	return normal((q - p) / error - z);
}

static unsigned
threads_for(const struct recording *base, const struct recording *now,
            const char *function)
{
	unsigned threads = 1;

	while (threads < MAX_THREADS &&
	       bound(base, now, function, threads) < ENOUGH)
		threads++;
	return threads;
}

static void
power(const struct recording *base, const struct recording *now,
      const char *function, unsigned threads)
{
	struct found found = {0};

	if (!threads)
		threads = threads_for(base, now, function);
	for (int i = 0; i < FOUND_ROUNDS; i++) {
		struct capture a = drawn(base, threads);
		struct capture b = drawn(now, threads);

		compare(&a, &b, function, &found);
	}
	printf("%.1f %.1f %.1f %u %.2f %.2f\n",
	       100.0 * found.listed / FOUND_ROUNDS,
	       100.0 * found.sure / FOUND_ROUNDS,
	       100 * bound(base, now, function, threads), threads,
	       100 * share(base, function), 100 * share(now, function));
}

int
main(int argc, char **argv)
{
	struct recording base = {0}, now = {0};
	const char *what = argc > 3 ? argv[1] : "";

	if (!strcmp(what, "power") && (argc == 8 || argc == 10)) {
		int threads = atoi(argv[3]);

		if (threads < 0 || threads > MAX_THREADS)
			die("THREADS is 0 to 64");
		load(argv + 4, &base);
		load(argv + 6, &now);
		base.work = argc > 8 ? atof(argv[8]) : 0;
		now.work = argc > 8 ? atof(argv[9]) : 0;
		power(&base, &now, argv[2], (unsigned)threads);
		return 0;
	}
	if ((!strcmp(what, "ranges") || !strcmp(what, "others")) && argc == 5) {
		int n = atoi(argv[2]);

		if (n < 1 || n > (*what == 'r' ? WINDOWS : MAX_OTHERS))
			die("N is 1 to 8, ALIKE 1 to 60");
		load(argv + 3, &base);
		if (*what == 'r')
			ranges(&base, (unsigned)n);
		else
			printf("%.2f\n", among(&base, (unsigned)n));
		return 0;
	}
	if (argc != 4)
		die("usage: see the head of compare.c");
	load(argv + 2, &base);
	if (!strcmp(what, "drawn"))
		drawn_alarms(&base);
	else
		printf("%.2f\n", !strcmp(what, "neighbours")
		                         ? neighbours(&base)
		                         : dispersion(&base, NULL));
	return 0;
}
