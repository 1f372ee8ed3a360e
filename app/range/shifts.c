#include "range/shifts.h"

#include "ahead.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rows.h"
#include "profile/function.h"
#include "profile/types.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Ranges up to this long are read from windows of the level. */
static const int64_t longest_ms[] = {
	[WINDOW_CAPTURED] = 2 * 3600 * MS_PER_S,
	[WINDOW_MINUTE] = (int64_t)26 * 3600 * MS_PER_S,
	[WINDOW_HOUR] = (int64_t)70 * 86400 * MS_PER_S,
	[WINDOW_DAY] = INT64_MAX,
};

/* A stretch of time, with the cost of all functions. */
struct moment {
	int64_t start_ms, end_ms;
	double seconds, cost, samples;
	double read_s, ran_s; /* seconds of its parts; the same, each weighted
	                         by the share of its threads' runnable time in
	                         which they ran */
};

/* The own cost of a function. */
struct row {
	double *cost; /* by moment; NULL: it was among the cheapest */
	double sum;
};

struct counting {
	struct range_shifts *s;
	struct range *r;
	const struct type *type;
	struct blocks_part *outline;
	struct stretches stretches; /* by part */
	size_t each;                /* stretches joined to a moment */
	struct moment *moments;
	size_t n;
	struct strings *names;
	struct row *rows; /* by name */
	uint32_t nrows, nkept;
	uint32_t named; /* index of the named function in rows */
	double *total;  /* cost of the named function, callees included */
};

static void
counting_done(struct counting *c)
{
	for (size_t i = 0; i < c->nrows; i++)
		free(c->rows[i].cost);
	free(c->rows);
	free(c->total);
	free(c->moments);
	free(c->outline);
	stretches_done(&c->stretches);
	strings_free(c->names);
}

void
range_shifts_done(struct range_shifts *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].function);
	free(s->items);
}

/* --- the parts ------------------------------------------------------------ */

/* Finds parts of the finest level that does not have too many. */
static int
find_parts(struct range *r)
{
	int64_t length = r->to_ms - r->from_ms;
	int level = WINDOW_CAPTURED;
	int rc;

	while (length > longest_ms[level])
		level++;
	for (;; level++) {
		struct range one = *r;

		rc = range_trend(&one, (enum window_level)level);
		if (rc || one.n <= SHIFTS_PARTS || level == WINDOW_DAY) {
			*r = one;
			break;
		}
		range_done(&one);
	}
	if (rc)
		return rc;
	range_parts_sort(r->parts, r->n);
	return r->n ? range_check_size(r) : -ENODATA;
}

static size_t
moment_of(const struct counting *c, size_t part)
{
	return c->stretches.of[part] / c->each;
}

static int
lay_out(struct counting *c)
{
	const struct range *r = c->r;
	struct moment *m;

	c->outline = range_outline(r->parts, r->n, c->type->gauge);
	if (!c->outline || stretches_init(&c->stretches, c->outline, r->n))
		return -ENOMEM;
	c->each = (c->stretches.n + SHIFT_BINS - 1) / SHIFT_BINS;
	c->n = (c->stretches.n + c->each - 1) / c->each;
	c->moments = calloc(c->n, sizeof(*c->moments));
	if (!c->moments)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		m = &c->moments[moment_of(c, i)];
		if (!m->start_ms)
			m->start_ms = r->parts[i].span.start_ms;
		if (m->end_ms < r->parts[i].span.end_ms)
			m->end_ms = r->parts[i].span.end_ms;
		m->seconds += c->type->gauge ? c->outline[i].seconds
		                             : c->stretches.fresh[i];
	}
	return 0;
}

/* --- costs ---------------------------------------------------------------- */

/* Finds the row of a function, a new one if it has none and there are not too
 * many. */
static int
row_of(struct counting *c, const char *name, size_t len, uint32_t *out)
{
	int rc = strings_add(c->names, name, len, out)
	                 ?: ROWS_REACH(c->rows, c->nrows, *out);

	if (rc || c->rows[*out].cost || c->nkept == SHIFTS_FUNCTIONS)
		return rc;
	c->rows[*out].cost = calloc(c->n, sizeof(double));
	c->nkept++;
	return c->rows[*out].cost ? 0 : -ENOMEM;
}

static void
add_cost(struct counting *c, uint32_t id, size_t at, double cost)
{
	struct row *row = &c->rows[id];

	if (!row->cost)
		return;
	row->cost[at] += cost;
	row->sum += cost;
}

static int
by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Drops the cheaper half of the rows if there is no room for new ones: what is
 * new may become the costliest. */
static int
make_room(struct counting *c)
{
	CLEANUP_FREE double *sums = NULL;
	size_t n = 0;

	if (c->nkept < SHIFTS_FUNCTIONS)
		return 0;
	sums = calloc(c->nkept, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < c->nrows; i++)
		if (c->rows[i].cost)
			sums[n++] = c->rows[i].sum;
	qsort(sums, n, sizeof(*sums), by_number);
	for (size_t i = 0; i < c->nrows; i++) {
		struct row *row = &c->rows[i];

		if (!row->cost || row->sum > sums[n / 2])
			continue;
		free(row->cost);
		*row = (struct row){0};
		c->nkept--;
	}
	return 0;
}

/* Adds the own cost of each function of a profile to a moment. */
static int
add_functions(struct counting *c, const struct packed *k, uint32_t type,
              double weight, size_t at)
{
	const struct profile *p = k->p;
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	/* by location: the identifier of its function's name, plus one */
	CLEANUP_FREE uint32_t *ids =
		calloc((size_t)p->nlocations + 1, sizeof(*ids));
	int rc = ids ? make_room(c) : -ENOMEM;

	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		int64_t value = p->values[(size_t)i * p->ntypes + type];
		uint32_t leaf = packed_leaf(k, &p->samples[i]);

		if (!value || leaf == PROFILE_NONE)
			continue;
		if (!ids[leaf]) {
			buf_clear(&name);
			profile_frame_name(p, leaf, 0, &name);
			rc = row_of(c, buf_str(&name), name.len, &ids[leaf]);
			ids[leaf]++;
		}
		if (!rc)
			add_cost(c, ids[leaf] - 1, at, weight * (double)value);
	}
	return rc;
}

static int
add_part(struct counting *c, const struct packed *k, size_t part)
{
	size_t at = moment_of(c, part);
	uint32_t type = profile_type_index(k->p, NULL);
	double weight = c->outline[part].each;
	struct function_cost cost;
	int rc = function_cost(k, type, c->s->function, &cost);

	if (rc)
		return rc;
	c->moments[at].cost += weight * (double)cost.all;
	c->moments[at].samples += weight * (double)cost.all_samples;
	c->moments[at].read_s += c->outline[part].seconds;
	c->moments[at].ran_s += c->outline[part].seconds *
	                        profile_ran_part(k->p);
	if (!*c->s->function)
		return add_functions(c, k, type, weight, at);
	rc = row_of(c, c->s->function, strlen(c->s->function), &c->named);
	if (rc)
		return rc;
	add_cost(c, c->named, at, weight * (double)cost.self);
	c->total[at] += weight * (double)cost.total;
	return 0;
}

static int
add_unit(struct counting *c, struct ahead_unit *u)
{
	int rc = 0;

	for (size_t i = 0; i < u->n && !rc; i++) {
		const struct packed *k;

		if (u->ones[i].rc)
			continue;
		rc = ahead_profile(u, i, &k);
		if (!rc && k->p)
			rc = add_part(c, k, u->parts[i]);
	}
	return rc;
}

static int
read_parts(struct counting *c, struct buf *why)
{
	CLEANUP_AHEAD struct ahead *a = NULL;
	int64_t end = c->r->end_ns ? c->r->end_ns
	                           : clock_mono_ns() + RANGE_MAX_NS;
	int rc = ahead_new(c->r, &a);

	while (!rc) {
		struct ahead_unit *u;

		rc = clock_mono_ns() > end ? -ETIME
		     : c->r->peer && fd_hung_up(*c->r->peer)
		             ? -ECANCELED
		             : ahead_next(a, &u, why);
		rc = rc ?: add_unit(c, u);
	}
	return rc == -ENODATA ? 0 : rc;
}

/* --- shifts --------------------------------------------------------------- */

/* Returns samples per unit of cost in a moment; of all, if m is NULL or has no
 * cost. */
static double
worth(const struct counting *c, const struct moment *m)
{
	double cost = 0, samples = 0;

	if (m && m->cost > 0)
		return m->samples / m->cost;
	for (size_t i = 0; i < c->n; i++) {
		cost += c->moments[i].cost;
		samples += c->moments[i].samples;
	}
	return cost > 0 ? samples / cost : 0;
}

/* Adds up the levels between the shifts that were found. */
static void
measure(const struct counting *c, const double *row, struct shifted *out)
{
	const struct shifts *s = &out->shifts;
	double all[SHIFT_MAX + 1] = {0};

	for (size_t i = 0, k = 0; i < c->n; i++) {
		const struct moment *m = &c->moments[i];
		double cost = row ? row[i] : m->cost;
		struct shifted_level *l;

		while (k < s->n && m->start_ms >= s->items[k].at_ms)
			k++;
		l = &out->levels[k];
		l->seconds += m->seconds;
		l->ran += m->read_s > 0 ? m->seconds * m->ran_s / m->read_s
		                        : m->seconds;
		l->cost += cost;
		l->samples += cost * worth(c, m);
		all[k] += m->cost;
		l->share = all[k] > 0 ? l->cost / all[k] : 0;
	}
}

static double
rate(const struct shifted_level *l)
{
	return l->seconds > 0 ? l->cost / l->seconds : 0;
}

double
range_shift_factor(const struct shifted *s, size_t shift)
{
	double before = rate(&s->levels[shift]);

	return before > 0 ? rate(&s->levels[shift + 1]) / before : 0;
}

/* True if the cost per second changed at least half as much as the share. */
static bool
followed(const struct shifted_level *l)
{
	double share = l[1].share - l[0].share,
	       cost = rate(&l[1]) - rate(&l[0]);

	if (!(l[0].share > 0) || !(l[1].share > 0))
		return share * cost > 0;
	share = log(l[1].share / l[0].share);
	cost = log(rate(&l[1]) / rate(&l[0]));
	return share * cost > 0 && fabs(cost) >= fabs(share) / 2;
}

/* False if competition for the CPU explains most of the change: if the cost
 * per second of running time changed less than half as much as the cost per
 * second. */
static bool
moved_freely(const struct shifted_level *l)
{
	double cost, fair;

	if (!(rate(&l[0]) > 0) || !(rate(&l[1]) > 0))
		return true;
	cost = log(rate(&l[1]) / rate(&l[0]));
	fair = cost - log(l[1].ran / l[1].seconds / (l[0].ran / l[0].seconds));
	return cost * fair > 0 && fabs(fair) >= fabs(cost) / 2;
}

/* Drops the shifts of a share whose cost per second did not change with it, and
 * the shifts of the whole that competition for the CPU explains. */
static void
keep_moved(const struct counting *c, const double *row, struct shifted *out)
{
	struct shifts *s = &out->shifts;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (row ? followed(&out->levels[i])
		        : c->type->gauge || moved_freely(&out->levels[i]))
			s->items[n++] = s->items[i];
	if (n == s->n)
		return;
	s->n = n;
	memset(out->levels, 0, sizeof(out->levels));
	measure(c, row, out);
}

/* Finds the shifts of a function's row; of the whole if it is NULL. */
static int
find_shifts(const struct counting *c, const double *row, double alarms,
            struct shifted *out)
{
	CLEANUP_FREE struct shift_bin *bins = calloc(c->n, sizeof(*bins));
	double usual = worth(c, NULL);
	int rc;

	if (!bins)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		const struct moment *m = &c->moments[i];
		double samples = worth(c, m);

		bins[i] = (struct shift_bin){
			.start_ms = m->start_ms,
			.end_ms = m->end_ms,
			.cost = row ? row[i] * samples : m->samples,
			/* at a higher rate, more samples mean no more cost */
			.of = row ? m->samples
		                  : m->seconds *
		                              (usual > 0 ? samples / usual : 1),
		};
	}
	rc = shift_find(bins, c->n, row ? SHIFT_SHARE : SHIFT_RATE, alarms,
	                &out->shifts);
	if (rc)
		return rc;
	measure(c, row, out);
	keep_moved(c, row, out);
	return 0;
}

static int
put_item(struct range_shifts *s, const char *name, struct shifted *one)
{
	struct shifted *p = reallocarray(s->items, s->n + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	s->items = p;
	one->function = strdup(name);
	if (!one->function)
		return -ENOMEM;
	p[s->n++] = *one;
	return 0;
}

static int
find_named(const struct counting *c)
{
	struct shifted own = {0}, total = {.total = true};
	int rc;

	if (!c->nrows)
		return put_item(c->s, c->s->function, &own);
	c->s->ntested = 1;
	rc = find_shifts(c, c->rows[c->named].cost, SHIFT_ALARMS / 2, &own)
	             ?: find_shifts(c, c->total, SHIFT_ALARMS / 2, &total);
	if (rc)
		return rc;
	return put_item(c->s, c->s->function,
	                own.shifts.n || own.shifts.samples ==
	                                        total.shifts.samples
	                        ? &own
	                        : &total);
}

/* A function that has enough samples, and its cost. */
struct busy {
	uint32_t id;
	double cost;
};

static int
by_cost(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	return (x->cost < y->cost) - (x->cost > y->cost);
}

static double
moved(const struct shifted *s)
{
	double most = 0;

	for (size_t i = 0; i < s->shifts.n; i++)
		most = fmax(most, fabs(rate(&s->levels[i + 1]) -
		                       rate(&s->levels[i])));
	return most;
}

static int
by_move(const void *a, const void *b)
{
	double x = moved(a), y = moved(b);

	return (x < y) - (x > y);
}

/* Lists the functions that have enough samples, the costliest first. Returns
 * their number, at most SHIFTS_TESTED. */
static size_t
find_busy(const struct counting *c, struct busy *out)
{
	double samples = worth(c, NULL); /* per unit of cost */
	size_t n = 0;

	for (size_t i = 0; i < c->nrows; i++)
		if (c->rows[i].sum * samples >= SHIFT_SAMPLES)
			out[n++] = (struct busy){(uint32_t)i, c->rows[i].sum};
	if (n)
		qsort(out, n, sizeof(*out), by_cost);
	return n < SHIFTS_TESTED ? n : SHIFTS_TESTED;
}

static int
find_all(const struct counting *c)
{
	CLEANUP_FREE struct busy *busy = calloc(c->nrows + 1, sizeof(*busy));
	struct range_shifts *s = c->s;
	int rc = busy ? 0 : -ENOMEM;

	s->ntested = busy ? find_busy(c, busy) : 0;
	for (size_t i = 0; i < s->ntested && !rc; i++) {
		struct shifted one = {0};

		rc = find_shifts(c, c->rows[busy[i].id].cost,
		                 SHIFT_ALARMS / (double)s->ntested, &one);
		if (!rc && one.shifts.n)
			rc = put_item(s,
			              strings_get(c->names, busy[i].id, NULL),
			              &one);
	}
	if (!rc && s->n)
		qsort(s->items, s->n, sizeof(*s->items), by_move);
	return rc;
}

static int
count(struct counting *c, struct buf *why)
{
	int rc = lay_out(c);

	if (rc)
		return rc;
	c->names = strings_new();
	c->total = calloc(c->n, sizeof(*c->total));
	return c->names && c->total ? read_parts(c, why) : -ENOMEM;
}

/* Counts, and then again without the parts that turned out to be lost, whose
 * time would seem to have no cost. */
static int
count_readable(struct counting *c, struct buf *why)
{
	const struct counting empty = *c;
	size_t n = c->r->n;
	int rc = count(c, why) ?: range_leave_out(c->r);

	if (rc || c->r->n == n)
		return rc;
	counting_done(c);
	*c = empty;
	return count(c, why);
}

int
range_shifts(struct range_shifts *s, struct buf *why)
{
	CLEANUP(counting_done)
	struct counting c = {
		.s = s,
		.r = s->range,
		.type = type_find(s->range->type),
	};
	int rc = find_parts(c.r) ?: count_readable(&c, why);

	rc = rc ?: find_shifts(&c, NULL, SHIFT_ALARMS, &s->whole);
	return rc ? rc : *s->function ? find_named(&c) : find_all(&c);
}
