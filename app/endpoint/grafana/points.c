/*
 * SelectSeries: what a type costs over time, in groups by labels.
 *
 * Steps begin at multiples of their length. A point has the cost of the step
 * that ends at its time; the last point is at the end of the range. A counter
 * is summed, and a gauge averaged over the time covered. The average of a
 * counter is its cost per profile.
 */
#include "base/clock.h"
#include "chosen.h"
#include "endpoint/range/range_call.h"
#include "profile/profile.h"
#include "profile/stored/wire.h"
#include "question.h"
#include "range/steps.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define GROUPS_MAX 1000
#define KEYS_MAX   16
#define STEP_MAX_S 1e9

struct point {
	double value, profiles;
	bool there;
};

struct group {
	const struct subject *first; /* a subject of it; borrowed */
	struct point *points;        /* by step */
	double total;
};

struct groups {
	struct question *q;
	const struct sift *sift; /* NULL: of all stacks */
	const char *keys[KEYS_MAX];
	size_t nkeys;
	bool by_host;    /* a key is the host */
	int64_t step_ms; /* length of a step */
	size_t n;        /* number of steps */
	struct group *items;
	size_t nitems;
	bool *has; /* by group, then by service: whether it has any */
};

static void
groups_done(struct groups *g)
{
	for (size_t i = 0; i < g->nitems; i++)
		free(g->items[i].points);
	free(g->items);
	free(g->has);
}

/* --- groups --------------------------------------------------------------- */

/* Writes a subject's values of the keys: the text is equal for all subjects of
 * a group. */
static void
put_key(const struct groups *g, const struct subject *s, struct buf *out)
{
	char part[ID_PART_MAX];

	buf_clear(out);
	for (size_t i = 0; i < g->nkeys; i++) {
		buf_puts(out, subject_label(s, g->keys[i], part));
		buf_putc(out, '\0');
	}
	buf_putc(out, '.'); /* "" is no group's */
}

static int
add_group(struct groups *g, const struct subject *first)
{
	struct group *x = &g->items[g->nitems];

	if (g->nitems == GROUPS_MAX)
		return fail(g->q->c, TooManySubjects, GROUPS_MAX);
	x->first = first;
	x->points = calloc(g->n + 1, sizeof(*x->points));
	if (!x->points)
		return fail_memory(g->q->c);
	g->nitems++;
	return 0;
}

static size_t
service_of(const struct question *q, const struct subject *s)
{
	size_t i = 0;

	while (strcmp(q->services[i], s->service) != 0)
		i++;
	return i;
}

/* Finds the group of a subject, or makes it. Groups are numbered as their keys
 * are: from 1 on. */
static int
take_subject(struct groups *g, const struct subject *s, struct strings *keys)
{
	CLEANUP_BUF struct buf key = BUF_INIT(BUF_MAX_REPLY);
	uint32_t group = 0;

	put_key(g, s, &key);
	if (buf_err(&key) || strings_add_stored(keys, key.p, key.len, &group))
		return fail_memory(g->q->c);
	if (group > g->nitems && add_group(g, s))
		return -1;
	g->has[(group - 1) * g->q->n + service_of(g->q, s)] = true;
	return 0;
}

/* Makes a group for each set of values that the keys have. */
static int
find_groups(struct groups *g)
{
	const struct subjects *all = &g->q->subjects;
	CLEANUP_STRINGS struct strings *keys = strings_new();
	int rc = 0;

	g->items = calloc(GROUPS_MAX, sizeof(*g->items));
	g->has = calloc(GROUPS_MAX * (g->q->n + 1), sizeof(*g->has));
	if (!keys || !g->items || !g->has)
		return fail_memory(g->q->c);
	for (size_t i = 0; i < all->n && !rc; i++)
		rc = take_subject(g, &all->items[i], keys);
	return rc;
}

/* --- costs ---------------------------------------------------------------- */

static bool
is_of(const struct groups *g, const struct group *x, const struct subject *s)
{
	char a[ID_PART_MAX], b[ID_PART_MAX];

	for (size_t i = 0; i < g->nkeys; i++)
		if (strcmp(subject_label(s, g->keys[i], a),
		           subject_label(x->first, g->keys[i], b)) != 0)
			return false;
	return true;
}

/* The condition of one group's range. */
struct group_only {
	const struct groups *groups;
	const struct group *group;
};

static bool
passes(const struct range *r, const char *host, const char *labels)
{
	const struct group_only *o = r->only.of;
	const struct question *q = o->groups->q;
	struct subject s = subject_make(r->service, q->type, host, labels);
	bool is = subject_passes(&s, &q->selector) &&
	          is_of(o->groups, o->group, &s);

	json_decref(s.labels);
	return is;
}

static void
add_steps(const struct groups *g, struct group *x, const struct steps *s)
{
	for (size_t i = 0; i < s->n && i < g->n; i++) {
		const struct step *from = &s->points[i];
		struct point *to = &x->points[i];

		if (!from->there)
			continue;
		to->there = true;
		to->value += from->value;
		to->profiles += from->profiles;
		x->total += from->value;
	}
}

static int
read_group(const struct groups *g, struct group *x, const char *service)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct group_only only = {g, x};
	CLEANUP_STEPS struct steps s = {
		.range = question_range(g->q, service),
		.step_ms = g->step_ms,
		.function = "",
		.sift = g->sift,
	};
	int rc;

	s.range.only.passes = passes;
	s.range.only.of = &only;
	s.range.only.by_host |= g->by_host;
	if (call_go_on(g->q->c))
		return -1;
	rc = steps_read(&s, &why);
	if (rc)
		return range_fail(g->q->c, &s.range, rc, &why);
	range_note_lost(g->q->c, &s.range);
	add_steps(g, x, &s);
	return 0;
}

static int
read_groups(const struct groups *g)
{
	int rc = 0;

	for (size_t i = 0; i < g->nitems && !rc; i++)
		for (size_t k = 0; k < g->q->n && !rc; k++)
			if (g->has[i * g->q->n + k])
				rc = read_group(g, &g->items[i],
				                g->q->services[k]);
	return rc;
}

/* --- the question --------------------------------------------------------- */

static int
read_keys(struct groups *g, const json_t *names)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	size_t i;
	json_t *v;

	buf_addf(&why, "group_by has more than %d labels", KEYS_MAX);
	if (json_array_size(names) > KEYS_MAX)
		return fail(g->q->c, InvalidMessage, buf_str(&why));
	json_array_foreach((json_t *)names, i, v) {
		g->keys[g->nkeys] = json_string_value(v);
		g->by_host |= subject_is_host(g->keys[g->nkeys++]);
	}
	return 0;
}

/* Sets the length and the number of steps. A step is made longer, by a whole
 * factor, if there would be more than STEPS_MAX. */
static int
read_step(struct groups *g, double seconds)
{
	struct steps s = {
		.range = {.from_ms = g->q->from_ms, .to_ms = g->q->to_ms},
	};

	if (!(seconds > 0) || seconds > STEP_MAX_S)
		return fail(g->q->c, InvalidMessage,
		            "step must be a number of seconds above 0");
	s.step_ms = seconds < 1 ? MS_PER_S : llround(seconds * MS_PER_S);
	if (steps_count(&s) > STEPS_MAX)
		s.step_ms *= (s.range.to_ms - s.range.from_ms) / s.step_ms /
		                     (STEPS_MAX - 1) +
		             1;
	g->step_ms = s.step_ms;
	g->n = (size_t)steps_count(&s);
	return 0;
}

/* --- the reply ------------------------------------------------------------ */

static void
put_double(struct buf *out, uint32_t number, double v)
{
	uint64_t bits;

	if (v == 0)
		return;
	memcpy(&bits, &v, sizeof(bits));
	bits = htole64(bits);
	wire_put_varint(out, WIRE_KEY(number, WIRE_FIXED64));
	buf_add(out, &bits, sizeof(bits));
}

static void
put_labels(struct buf *out, const struct groups *g, const struct group *x)
{
	char part[ID_PART_MAX];

	for (size_t i = 0; i < g->nkeys; i++) {
		const char *value = subject_label(x->first, g->keys[i], part);
		size_t place;

		if (!*value)
			continue;
		place = wire_open(out, F_SeriesPoints_labels);
		wire_put_bytes(out, F_LabelPair_name, g->keys[i],
		               strlen(g->keys[i]));
		wire_put_bytes(out, F_LabelPair_value, value, strlen(value));
		wire_close(out, place);
	}
}

static void
put_points(struct buf *out, const struct groups *g, const struct group *x,
           bool mean)
{
	int64_t at = g->q->from_ms - g->q->from_ms % g->step_ms;

	for (size_t i = 0; i < g->n; i++) {
		const struct point *p = &x->points[i];
		size_t place;

		at += g->step_ms;
		if (!p->there)
			continue;
		place = wire_open(out, F_SeriesPoints_points);
		put_double(out, F_Point_value,
		           mean && p->profiles > 0 ? p->value / p->profiles
		                                   : p->value);
		wire_put_number(
			out, F_Point_timestamp,
			(uint64_t)(at < g->q->to_ms ? at : g->q->to_ms));
		wire_close(out, place);
	}
}

static int
by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->total < y->total) - (x->total > y->total);
}

static int
answer(struct groups *g, bool mean, int64_t limit)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	size_t most = limit > 0 && (uint64_t)limit < g->nitems ? (size_t)limit
	                                                       : g->nitems;

	if (limit > 0 && g->nitems)
		qsort(g->items, g->nitems, sizeof(*g->items), by_total);
	for (size_t i = 0; i < most; i++) {
		size_t place = wire_open(&out, F_SelectSeriesResponse_series);

		put_labels(&out, g, &g->items[i]);
		put_points(&out, g, &g->items[i], mean);
		wire_close(&out, place);
	}
	return connect_answer(g->q->c, M_SelectSeriesResponse, &out);
}

int
grafana_points(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_QUESTION struct question q = {0};
	CLEANUP_CHOSEN struct chosen chosen = {0};
	CLEANUP(groups_done) struct groups g = {.q = &q};
	bool mean;

	if (connect_read(c, M_SelectSeriesRequest, &asked))
		return -1;
	if (question_read(c, asked, &q) || chosen_read(c, asked, &chosen))
		return -1;
	if (sift_is_any(&chosen.sift))
		g.sift = &chosen.sift;
	if (read_keys(&g, asked_list(asked, "group_by")) ||
	    read_step(&g, asked_real(asked, "step")) || find_groups(&g) ||
	    read_groups(&g))
		return -1;
	mean = q.type && !type_is_gauge(q.type->name) &&
	       asked_int(asked, "aggregation") ==
	               TIME_SERIES_AGGREGATION_TYPE_AVERAGE;
	return answer(&g, mean, asked_int(asked, "limit"));
}
