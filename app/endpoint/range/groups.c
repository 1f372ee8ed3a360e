/*
 * GET history/groups: what a type costs by host, or by the value of a label.
 */
#include "base/clock.h"
#include "base/json.h"
#include "profile/types.h"
#include "range/steps.h"
#include "range_call.h"

#include <errno.h>
#include <string.h>

#define GROUPS_MAX 50 /* that are read, the oldest series first */
#define KEYS_MAX   64
#define GROUPS_NS  (10 * NS_PER_S)
#define LABEL      "label."
#define LABEL_LEN  (sizeof(LABEL) - 1)

struct group {
	const char *value; /* borrowed from the series */
	struct steps steps;
	double cost; /* of a gauge its mean */
	double ms;   /* covered */
};

/* What a range can be grouped by: "host", or "label.KEY". */
struct key {
	const char *label; /* borrowed; NULL: the host */
	const char *values[GROUPS_MAX];
	size_t n, more; /* values; of more, only the number is kept */
};

struct grouping {
	struct range *range; /* its series are known */
	json_t **labels;     /* by series */
	struct key keys[KEYS_MAX];
	size_t nkeys;
	struct group whole, *groups;
	size_t n;
	int64_t end_ns;
};

static void
grouping_done(struct grouping *g)
{
	for (size_t i = 0; g->labels && i < g->range->series.n; i++)
		json_decref(g->labels[i]);
	free(g->labels);
	for (size_t i = 0; i < g->n; i++)
		steps_done(&g->groups[i].steps);
	free(g->groups);
	steps_done(&g->whole.steps);
}

/* --- keys and values ------------------------------------------------------ */

static void
add_value(struct key *k, const char *value)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->values[i], value))
			return;
	if (k->n < GROUPS_MAX)
		k->values[k->n++] = value;
	else
		k->more++;
}

/* Finds the key of a label, a new one if there is room; else NULL. */
static struct key *
key_of(struct grouping *g, const char *label)
{
	for (size_t i = 1; i < g->nkeys; i++)
		if (!strcmp(g->keys[i].label, label))
			return &g->keys[i];
	if (g->nkeys == KEYS_MAX)
		return NULL;
	g->keys[g->nkeys].label = label;
	return &g->keys[g->nkeys++];
}

static int
find_keys(struct grouping *g)
{
	const struct series_list *l = &g->range->series;
	const char *label;
	json_t *value;

	g->labels = calloc(l->n + 1, sizeof(*g->labels));
	if (!g->labels)
		return -ENOMEM;
	g->nkeys = 1; /* the host */
	for (size_t i = 0; i < l->n; i++) {
		if (!range_is_pushed(&l->items[i]))
			add_value(&g->keys[0], l->items[i].host);
		g->labels[i] = json_loads(l->items[i].labels, 0, NULL);
		json_object_foreach(g->labels[i], label, value) {
			struct key *k = key_of(g, label);

			if (k && json_is_string(value))
				add_value(k, json_string_value(value));
		}
	}
	return 0;
}

/* Returns the first key that makes more than one group, or else one. */
static const struct key *
usual_key(const struct grouping *g)
{
	for (size_t most = 2; most > 0; most--)
		for (size_t i = 0; i < g->nkeys; i++)
			if (g->keys[i].n >= most)
				return &g->keys[i];
	return &g->keys[0];
}

/* Returns NULL for a key that no series has. */
static const struct key *
find_key(const struct grouping *g, const char *by)
{
	if (!*by)
		return usual_key(g);
	if (!strcmp(by, "host"))
		return &g->keys[0];
	for (size_t i = 1; i < g->nkeys; i++)
		if (!strncmp(by, LABEL, LABEL_LEN) &&
		    !strcmp(g->keys[i].label, by + LABEL_LEN))
			return &g->keys[i];
	return NULL;
}

/* --- costs ---------------------------------------------------------------- */

/* Reads the costs of a group; of everything if value is NULL. */
static int
read_group(const struct grouping *g, const char *label, const char *value,
           struct group *out, struct buf *why)
{
	struct range r = range_question(g->range);
	int rc;

	if (clock_mono_ns() > g->end_ns)
		return -ETIME;
	if (value && !label)
		r.host = value;
	else if (value && r.nlabels < RANGE_MAX_LABELS)
		r.labels[r.nlabels++] = (struct range_label){label, value};
	out->value = value;
	out->steps = (struct steps){
		.range = r,
		.step_ms = steps_usual((r.to_ms - r.from_ms) * 2),
		.function = "",
		.windows_only = true,
	};
	rc = steps_read(&out->steps, why);
	if (!rc)
		out->cost = steps_total(&out->steps, &out->ms);
	return rc;
}

static int
by_cost(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->cost < y->cost) - (x->cost > y->cost);
}

static int
read_groups(struct grouping *g, const struct key *k, struct buf *why)
{
	int rc = read_group(g, NULL, NULL, &g->whole, why);

	g->groups = calloc(GROUPS_MAX, sizeof(*g->groups));
	if (!rc && !g->groups)
		rc = -ENOMEM;
	for (size_t i = 0; k && i < k->n && !rc; i++)
		rc = read_group(g, k->label, k->values[i], &g->groups[g->n++],
		                why);
	if (!rc)
		qsort(g->groups, g->n, sizeof(*g->groups), by_cost);
	return rc;
}

/* --- the reply ------------------------------------------------------------ */

static void
put_rate(struct buf *out, const struct group *of)
{
	json_put_known(out, "perSecond",
	               steps_rate(&of->steps, of->cost, of->ms), of->ms > 0);
}

static void
put_group(struct buf *out, const struct grouping *g, const struct group *one)
{
	json_open(out, NULL, '{');
	json_put_text(out, "value", one->value);
	json_put_real(out, "cost", one->cost);
	put_rate(out, one);
	json_put_known(out, "share", one->cost / g->whole.cost,
	               g->whole.cost > 0);
	steps_put_rates(&one->steps, "points", out);
	json_close(out, '}');
}

static void
put_by(struct buf *out, const struct key *k)
{
	CLEANUP_BUF struct buf by = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&by, k->label ? LABEL : "host");
	buf_puts(&by, k->label ?: "");
	json_put_text(out, "by", buf_str(&by));
}

static void
put_keys(struct buf *out, const struct grouping *g)
{
	json_open(out, "keys", '[');
	for (size_t i = 0; i < g->nkeys; i++) {
		const struct key *k = &g->keys[i];

		json_open(out, NULL, '{');
		put_by(out, k);
		json_put_int(out, "values", (int64_t)(k->n + k->more));
		json_close(out, '}');
	}
	json_close(out, ']');
}

static int
answer(struct call *c, const struct grouping *g, const struct key *k)
{
	const struct range *r = g->range;
	struct buf *out = answer_json(c);

	json_put_text(out, "service", r->service);
	json_put_text(out, "profileType", r->type);
	if (k)
		put_by(out, k);
	else
		json_put_text(out, "by", param_text(c, P_GetGroups_by));
	json_put_text(out, "aggregation",
	              type_is_gauge(r->type) ? "mean" : "sum");
	json_put_time(out, "from", r->from_ms);
	json_put_time(out, "to", r->to_ms);
	json_put_int(out, "stepSeconds", g->whole.steps.step_ms / MS_PER_S);
	json_put_real(out, "cost", g->whole.cost);
	put_rate(out, &g->whole);
	put_keys(out, g);
	json_open(out, "groups", '[');
	for (size_t i = 0; i < g->n; i++)
		put_group(out, g, &g->groups[i]);
	json_close(out, ']');
	json_put_int(out, "groupsLeft", k ? (int64_t)k->more : 0);
	return answer_end(c);
}

int
groups_get(struct call *c)
{
	CLEANUP_RANGE struct range r = range_asked(c, RANGE_ROWS(GetGroups));
	CLEANUP(grouping_done)
	struct grouping g = {
		.range = &r,
		.end_ns = clock_mono_ns() + GROUPS_NS,
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct key *k;
	int rc;

	r.origin = param_text(c, P_GetGroups_origin);
	if (range_check(c, &r))
		return -1;
	rc = range_series(&r) ?: find_keys(&g);
	if (rc)
		return range_fail(c, &r, rc, &why);
	k = find_key(&g, param_text(c, P_GetGroups_by));
	rc = read_groups(&g, k, &why);
	return rc ? range_fail(c, &r, rc, &why) : answer(c, &g, k);
}
