/*
 * GET history/groups: what a type costs by host, by the value of a label of its
 * series, or of a label of its samples.
 */
#include "base/clock.h"
#include "base/json.h"
#include "profile/profile.h"
#include "profile/types.h"
#include "range/steps.h"
#include "range_call.h"

#include <errno.h>
#include <string.h>

#define GROUPS_MAX \
	50 /* groups that are read: those of the oldest series, or the
	      costliest by a label of samples */
#define KEYS_MAX   64
#define GROUPS_NS  (10 * NS_PER_S)
#define LABEL      "label."
#define SAMPLE     "sample."
#define SAMPLE_LEN (sizeof(SAMPLE) - 1)
/*
 * Keys of samples are looked for in this much time at the end of a range, at
 * the cost of at most this many stored bytes and this much time.
 */
#define LOOK_MS    (INT64_C(300) * MS_PER_S)
#define LOOK_BYTES ((int64_t)1 << 20)
#define LOOK_NS    NS_PER_S

struct group {
	const char *value; /* borrowed from the series, or from merged */
	struct steps steps;
	double cost; /* for a gauge, the mean */
	double ms;   /* covered */
};

/* The ways to group a range: "host", "label.KEY" or "sample.KEY". */
struct key {
	const char *label; /* borrowed; NULL: the host */
	bool of_samples;   /* only the number of its values is known */
	const char **values;
	size_t n;
};

struct grouping {
	struct range *range; /* its series are known */
	json_t **labels;     /* by series */
	struct key keys[KEYS_MAX];
	size_t nkeys;
	struct profile *look;   /* the end of the range */
	struct profile *merged; /* all of it, for groups of samples */
	struct group whole, *groups;
	size_t n, left; /* groups; others that are left out */
	int64_t end_ns;
};

static void
grouping_done(struct grouping *g)
{
	for (size_t i = 0; g->labels && i < g->range->series.n; i++)
		json_decref(g->labels[i]);
	free(g->labels);
	for (size_t i = 0; i < g->nkeys; i++)
		free(g->keys[i].values);
	for (size_t i = 0; i < g->n; i++)
		steps_done(&g->groups[i].steps);
	free(g->groups);
	steps_done(&g->whole.steps);
	profile_free(g->look);
	profile_free(g->merged);
}

/* --- keys and values ------------------------------------------------------ */

/* Adds a value unless the key has it; values has room for one per series. */
static int
add_value(struct grouping *g, struct key *k, const char *value)
{
	if (!k->values)
		k->values = calloc(g->range->series.n, sizeof(*k->values));
	if (!k->values)
		return -ENOMEM;
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->values[i], value))
			return 0;
	k->values[k->n++] = value;
	return 0;
}

/* Finds the key of a label, a new one if there is room; else NULL. */
static struct key *
key_of(struct grouping *g, const char *label, bool of_samples)
{
	for (size_t i = 1; i < g->nkeys; i++)
		if (g->keys[i].of_samples == of_samples &&
		    !strcmp(g->keys[i].label, label))
			return &g->keys[i];
	if (g->nkeys == KEYS_MAX)
		return NULL;
	g->keys[g->nkeys].label = label;
	g->keys[g->nkeys].of_samples = of_samples;
	return &g->keys[g->nkeys++];
}

static int
find_keys(struct grouping *g)
{
	const struct series_list *l = &g->range->series;
	const char *label;
	json_t *value;
	int rc = 0;

	g->labels = calloc(l->n + 1, sizeof(*g->labels));
	if (!g->labels)
		return -ENOMEM;
	g->nkeys = 1; /* the host */
	for (size_t i = 0; i < l->n && !rc; i++) {
		if (!range_is_pushed(&l->items[i]))
			rc = add_value(g, &g->keys[0], l->items[i].host);
		g->labels[i] = json_loads(l->items[i].labels, 0, NULL);
		json_object_foreach(g->labels[i], label, value) {
			struct key *k = *label != '_' ? key_of(g, label, false)
			                              : NULL; /* from ingest */

			if (k && json_is_string(value) && !rc)
				rc = add_value(g, k, json_string_value(value));
		}
	}
	return rc;
}

/* Counts the values of the keys of a profile's labels. */
static int
count_sample_keys(struct grouping *g, const struct profile *p)
{
	uint32_t texts = strings_count(p->strings);
	CLEANUP_FREE bool *known = calloc(texts, sizeof(*known));
	CLEANUP_FREE uint32_t *in = calloc(texts, sizeof(*in));

	if (!known || !in)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlabels; i++) {
		uint32_t key = p->labels[i].key, text = p->labels[i].str;
		const char *name = profile_text(p, key);
		struct key *k = NULL;

		if (known[key] || !text)
			continue;
		known[key] = true;
		k = key_of(g, name, true);
		for (uint32_t m = i; k && m < p->nlabels; m++) {
			text = p->labels[m].str;
			if (p->labels[m].key != key || !text || in[text] == key)
				continue;
			in[text] = key;
			k->n++;
		}
	}
	return 0;
}

/* Finds keys of labels of samples in the end of the range; none where that
 * would cost much, or cannot be read. */
static int
find_sample_keys(struct grouping *g)
{
	CLEANUP_RANGE struct range r = range_question(g->range);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int64_t bytes = 0;

	if (r.from_ms < r.to_ms - LOOK_MS)
		r.from_ms = r.to_ms - LOOK_MS;
	r.end_ns = clock_mono_ns() + LOOK_NS;
	if (range_plan(&r))
		return 0;
	for (size_t i = 0; i < r.n; i++)
		bytes += r.parts[i].length;
	if (bytes > LOOK_BYTES || range_merge(&r, &g->look, &why))
		return 0;
	return count_sample_keys(g, g->look);
}

/*
 * Returns the first key that makes more than one group, or else the first that
 * makes one. A key of samples counts only if the whole range was searched,
 * since others cost too much unless requested, and if it is not an id, which
 * differs by request.
 */
static const struct key *
usual_key(const struct grouping *g)
{
	bool all = g->range->to_ms - g->range->from_ms <= LOOK_MS;

	for (size_t most = 2; most > 0; most--)
		for (size_t i = 0; i < g->nkeys; i++)
			if (g->keys[i].n >= most &&
			    (!g->keys[i].of_samples ||
			     (all && !profile_label_is_id(g->keys[i].label))))
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
	for (size_t i = 1; i < g->nkeys; i++) {
		const struct key *k = &g->keys[i];
		const char *prefix = k->of_samples ? SAMPLE : LABEL;

		if (!strncmp(by, prefix, strlen(prefix)) &&
		    !strcmp(k->label, by + strlen(prefix)))
			return k;
	}
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
	for (size_t i = 0; k && i < k->n && i < GROUPS_MAX && !rc; i++)
		rc = read_group(g, k->label, k->values[i], &g->groups[g->n++],
		                why);
	if (!rc)
		qsort(g->groups, g->n, sizeof(*g->groups), by_cost);
	g->left = k ? k->n - g->n : 0;
	return rc;
}

/* Returns the text of a sample's label, 0 without one. */
static uint32_t
value_of(const struct profile *p, const struct sample *s, uint32_t key)
{
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (p->labels[s->label0 + i].key == key)
			return p->labels[s->label0 + i].str;
	return 0;
}

/* Makes groups of sums by text, as many as there is room for. */
static int
group_sums(struct grouping *g, const double *sums, double ms)
{
	const struct profile *p = g->merged;
	uint32_t texts = strings_count(p->strings);

	g->groups = calloc(texts, sizeof(*g->groups));
	if (!g->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < texts; i++)
		if (sums[i] > 0)
			g->groups[g->n++] = (struct group){
				.value = profile_text(p, i),
				.steps.gauge = g->whole.steps.gauge,
				.cost = sums[i],
				.ms = ms,
			};
	qsort(g->groups, g->n, sizeof(*g->groups), by_cost);
	if (g->n > GROUPS_MAX) {
		g->left = g->n - GROUPS_MAX;
		g->n = GROUPS_MAX;
	}
	return 0;
}

/* Groups the samples of merged by a label of theirs. Those without it are in
 * the group "", unless all are. */
static int
group_samples(struct grouping *g, const char *label, double ms)
{
	const struct profile *p = g->merged;
	CLEANUP_FREE double *sums = NULL;
	uint32_t key, type = profile_type_index(p, NULL);

	if (type == PROFILE_NONE)
		return 0;
	g->whole.cost = (double)profile_total(p, type);
	g->whole.ms = ms;
	if (strings_find(p->strings, label, strlen(label), &key))
		return 0;
	sums = calloc(strings_count(p->strings), sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nsamples; i++)
		sums[value_of(p, &p->samples[i], key)] +=
			(double)p->values[(size_t)i * p->ntypes + type];
	return sums[0] < g->whole.cost ? group_sums(g, sums, ms) : 0;
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

	buf_puts(&by, !k->label ? "host" : k->of_samples ? SAMPLE : LABEL);
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
		json_put_int(out, "values", (int64_t)k->n);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static int
answer(struct call *c, const struct grouping *g, const struct range *r,
       const struct key *k)
{
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
	json_open(out, "notices", '[');
	range_put_notices(r, out);
	json_close(out, ']');
	put_keys(out, g);
	json_open(out, "groups", '[');
	for (size_t i = 0; i < g->n; i++)
		put_group(out, g, &g->groups[i]);
	json_close(out, ']');
	json_put_int(out, "groupsLeft", (int64_t)g->left);
	return answer_end(c);
}

/* Groups by a label of samples; this merges the whole range. */
static int
answer_samples(struct call *c, struct grouping *g, const struct key *k,
               const char *label)
{
	CLEANUP_RANGE struct range r = range_question(g->range);
	int rc;

	r.with_ids = profile_label_is_id(label);
	rc = range_plan(&r);
	if (rc)
		return range_fail(c, &r, rc, NULL);
	r.end_ns = g->end_ns;
	g->whole.steps.gauge = type_is_gauge(r.type);
	g->whole.steps.step_ms = steps_usual(r.to_ms - r.from_ms);
	if (r.n && range_merged(c, &r, &g->merged))
		return -1;
	rc = r.n ? group_samples(g, label, r.covered_ms) : 0;
	return rc ? range_fail(c, &r, rc, NULL) : answer(c, g, &r, k);
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
	const char *by = param_text(c, P_GetGroups_by);
	const struct key *k;
	int rc;

	r.origin = param_text(c, P_GetGroups_origin);
	if (range_check(c, &r))
		return -1;
	rc = range_series(&r) ?: find_keys(&g) ?: find_sample_keys(&g);
	if (rc)
		return range_fail(c, &r, rc, &why);
	k = find_key(&g, by);
	if (k && k->of_samples)
		return answer_samples(c, &g, k, k->label);
	if (!strncmp(by, SAMPLE, SAMPLE_LEN))
		return answer_samples(c, &g, NULL, by + SAMPLE_LEN);
	rc = read_groups(&g, k, &why);
	return rc ? range_fail(c, &r, rc, &why) : answer(c, &g, &r, k);
}
