#include "compare_json.h"

#include "base/clock.h"
#include "endpoint/profile/load.h"
#include "endpoint/profile/profile_json.h"
#include "endpoint/profile/window_session.h"
#include "profile/types.h"

#include <errno.h>
#include <math.h>
#include <string.h>

bool
compared_is_gauge(const struct compared *x)
{
	return type_is_gauge(x->base.type);
}

void
compared_done(struct compared *x)
{
	comparison_free(x->c);
	for (size_t i = 0; i < ARRAY_LEN(x->trees); i++) {
		blocks_free(x->blocks[i]);
		blocks_free(x->nodes[i]);
		tree_free(x->trees[i]);
		tree_free(x->stacks[i]);
		profile_free(x->profiles[i]);
		range_done(&x->ranges[i]);
	}
	for (size_t i = 0; i < x->nothers; i++) {
		tree_free(x->others[i]);
		profile_free(x->other_profiles[i]);
	}
	session_done(&x->base);
	session_done(&x->now);
}

static double
seconds_of(const struct session *s, const struct profile *p)
{
	return p->duration_ns > 0 ? (double)p->duration_ns / (double)NS_PER_S
	                          : (double)s->duration_ms / (double)MS_PER_S;
}

int
fail_baseline(struct call *c, int rc, const char *id)
{
	if (rc != -ENOENT)
		return fail_store(c, rc);
	detail_text(c, "baselineId", id);
	return fail(c, UnknownBaseline, id);
}

int
compared_baseline(struct call *c, const char *id, struct baseline *out)
{
	int rc = baseline_get(&c->env->store, c->caller.tenant, id, out);

	return rc ? fail_baseline(c, rc, id) : 0;
}

int
compared_word(const struct call *c, enum param p, const char *const *words,
              int or_else)
{
	for (int i = 0; param_given(c, p) && words[i]; i++)
		if (!strcmp(words[i], param_text(c, p)))
			return i;
	return or_else;
}

int
compared_ask(struct call *c, const struct compared_params *p,
             struct compared *x)
{
	const enum param work[] = {p->base_work, p->now_work};
	bool known = true;

	for (size_t i = 0; i < ARRAY_LEN(work); i++) {
		known &= param_given(c, work[i]);
		x->sides[i].work = (double)param_int(c, work[i]);
	}
	x->by = (enum compare_by)compared_word(c, p->normalize, compare_bys,
	                                       known ? COMPARE_BY_WORK
	                                             : COMPARE_BY_SHARE);
	if (known || x->by != COMPARE_BY_WORK)
		return 0;
	return fail_param(c, params[p->normalize].name,
	                  "work along with baseWork and comparisonWork",
	                  compare_bys[x->by]);
}

static struct blocks *
blocks_of_session(struct call *c, const struct session *s, const struct tree *t,
                  enum blocks_what what)
{
	CLEANUP_TIMELINE struct timeline *line = load_timeline(c, s);
	struct blocks *b = NULL;

	if (!line)
		return NULL;
	return blocks_of_timeline(t, line, what, &b) ? NULL : b;
}

/*
 * Finds blocks for both sides, or for neither: a capture without a timeline, or
 * with one that is too short, is compared without blocks, and so is the other
 * side.
 */
static void
find_blocks(struct call *c, const struct compared *x, enum blocks_what what,
            struct blocks *out[static 2])
{
	const struct session *of[] = {&x->base, &x->now};

	for (size_t i = 0; i < ARRAY_LEN(of) && (!i || out[0]); i++) {
		const struct tree *t = what == BLOCKS_OF_NODES ? x->stacks[i]
		                                               : x->trees[i];

		out[i] = x->ranges[i].n ? range_blocks(&x->ranges[i], t, what)
		         : window_is(of[i]->id)
		                 ? range_window_blocks(&c->env->store,
		                                       c->caller.tenant,
		                                       of[i]->id, t, what)
		                 : blocks_of_session(c, of[i], t, what);
	}
}

int
compared_stacks(struct call *c, struct compared *x, uint32_t most,
                int64_t left_out[static 2])
{
	for (size_t i = 0; i < ARRAY_LEN(x->stacks); i++) {
		int rc;

		if (call_go_on(c))
			return -1;
		rc = tree_visible(x->trees[i], most, &x->stacks[i],
		                  &left_out[i]);
		if (rc)
			return fail_store(c, rc);
		x->sides[i].tree = x->stacks[i];
	}
	return 0;
}

static void
measure_nodes(struct call *c, struct compared *x)
{
	find_blocks(c, x, BLOCKS_OF_NODES, x->nodes);
	x->sides[0].nodes = x->nodes[0];
	x->sides[1].nodes = x->nodes[1];
}

/* Measures nodes; where no function is listed, no node is sure. */
void
compared_nodes(struct call *c, struct compared *x)
{
	if (x->c->method != COMPARE_FROM_BLOCKS ||
	    x->c->nregressions + x->c->nimprovements + x->c->nrisen == 0)
		return;
	measure_nodes(c, x);
}

static int
add_other(struct call *c, struct compared *x, const char *session)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc;

	if (x->nothers == COMPARED_OTHERS)
		return 0;
	load_if_kept(c, session, &p);
	if (!p)
		return 0;
	rc = tree_functions(p, profile_type_index(p, NULL),
	                    &x->others[x->nothers]);
	if (rc)
		return fail_store(c, rc);
	x->other_profiles[x->nothers++] = TAKE(p);
	return 0;
}

/* True when an earlier item is the same session, which may be several
 * baselines. */
static bool
is_told(const struct baseline_list *list, size_t n, const struct compared *x)
{
	const char *id = list->items[n].session;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(list->items[i].session, id))
			return true;
	return !strcmp(x->base.id, id) || !strcmp(x->now.id, id);
}

int
compared_others(struct call *c, const struct baseline *b, struct compared *x)
{
	CLEANUP_BASELINES struct baseline_list list = {0};
	const struct baseline_filter same = {
		.tenant = b->tenant,
		.service = b->service,
		.type = b->type,
		.label = b->label,
		.tag = "",
	};
	int rc = baseline_list(&c->env->store, &same,
	                       (struct page){COMPARED_OTHERS + 1, ""}, &list);

	if (rc)
		return fail_store(c, rc);
	for (size_t i = 0; i < list.n; i++)
		if (!is_told(&list, i, x) &&
		    add_other(c, x, list.items[i].session))
			return -1;
	x->baseline = b->id;
	return 0;
}

static int
load_side(struct call *c, const struct session *s, struct compared *x, size_t i)
{
	struct range *r = &x->ranges[i];
	int rc = r->n ? range_merged(c, r, &x->profiles[i])
	              : load_known(c, s, &x->profiles[i]);

	if (rc || call_go_on(c))
		return -1;
	rc = tree_functions(x->profiles[i],
	                    profile_type_index(x->profiles[i], NULL),
	                    &x->trees[i]);
	if (rc)
		return fail_store(c, rc);
	x->sides[i].tree = x->trees[i];
	x->sides[i].seconds = seconds_of(s, x->profiles[i]);
	return 0;
}

void
compared_question(struct call *c, const struct session *base,
                  const struct session *now)
{
	const char *host = base->host ? base->host : "";
	const char *other = now->host ? now->host : "";

	if (strcmp(base->service, now->service) != 0)
		warn_client(c, "the base is of service '%s', not '%s'",
		            base->service, now->service);
	else if (!strcmp(base->id, now->id))
		warn_client(c, "a profile is compared with itself");
	if (*host && *other && strcmp(host, other) != 0)
		warn_client(c, "the base was captured on host '%s', not '%s'",
		            host, other);
}

void
compared_made_of(struct call *c, const struct compared *x, struct buf *out)
{
	const struct session *of[] = {&x->base, &x->now};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		load_made_of(c, of[i], out);
		buf_addf(out, "%016llx %.17g\n",
		         (unsigned long long)range_hash(&x->ranges[i]),
		         x->sides[i].work);
	}
	buf_addf(out, "%s\n", compare_bys[x->by]);
}

/* Nodes of trees that totals are measured on: a smaller node tells nothing. */
#define TOTALS_NODES (1u << 16)

/* Finds functions that cost more with what they call. The trees go again: a
 * picture of them may need more nodes. */
static int
find_totals(struct call *c, struct compared *x)
{
	int64_t left_out[2];
	int rc;

	if (compared_stacks(c, x, TOTALS_NODES, left_out))
		return -1;
	if (x->c->method == COMPARE_FROM_BLOCKS)
		measure_nodes(c, x);
	rc = compare_totals(x->c, &x->sides[0], &x->sides[1]);
	for (size_t i = 0; i < ARRAY_LEN(x->sides); i++) {
		blocks_free(TAKE(x->nodes[i]));
		tree_free(TAKE(x->stacks[i]));
		x->sides[i].nodes = NULL;
		x->sides[i].tree = x->trees[i];
	}
	return rc ? fail_store(c, rc) : 0;
}

int
compared_run(struct call *c, struct compared *x)
{
	int rc;

	compared_question(c, &x->base, &x->now);
	if ((!x->ranges[0].n && load_reads(c, &x->base)) ||
	    (!x->ranges[1].n && load_reads(c, &x->now)))
		return -1;
	if (load_side(c, &x->base, x, 0) || load_side(c, &x->now, x, 1))
		return -1;
	if (call_go_on(c))
		return -1;
	find_blocks(c, x, BLOCKS_OF_FUNCTIONS, x->blocks);
	x->sides[0].blocks = x->blocks[0];
	x->sides[1].blocks = x->blocks[1];
	x->sides[0].others = (const struct tree *const *)x->others;
	x->sides[0].nothers = x->nothers;
	rc = compare_new(&x->sides[0], &x->sides[1], compared_is_gauge(x),
	                 x->by, &x->c);
	if (rc)
		return fail_store(c, rc);
	return compare_totals_tell(x->c) ? find_totals(c, x) : 0;
}

static void
put_function(struct buf *out, const struct comparison *c,
             const struct compare_function *f)
{
	json_open(out, NULL, '{');
	json_put_text(out, "funcName", f->name);
	json_put_text(out, "package", f->package);
	json_put_real(out, "basePct", f->base.pct);
	json_put_real(out, "comparisonPct", f->now.pct);
	json_put_real(out, "deltaPct", f->delta);
	json_put_real(out, "baseCumulativePct", f->base.cumulative_pct);
	json_put_real(out, "comparisonCumulativePct", f->now.cumulative_pct);
	json_put_int(out, "baseValue", f->base.self);
	json_put_int(out, "comparisonValue", f->now.self);
	json_put_known(out, "basePerSecond", f->base.rate, c->base_timed);
	json_put_known(out, "comparisonPerSecond", f->now.rate, c->now_timed);
	json_put_known(out, "costDeltaPct", f->cost, c->known);
	json_put_real(out, "dispersion",
	              fmax(f->base.share.dispersion, f->now.share.dispersion));
	json_put_real(out, "pValue", f->p);
	json_put_real(out, "cumulativeDeltaPct",
	              f->now.cumulative_pct - f->base.cumulative_pct);
	json_put_real(out, "cumulativePValue", f->total_p);
	json_close(out, '}');
}

void
compared_put_risen(struct buf *out, const struct comparison *c)
{
	json_open(out, "cumulativeRegressions", '[');
	for (size_t i = 0; i < c->nrisen; i++)
		put_function(out, c, c->risen[i]);
	json_close(out, ']');
}

void
compared_put_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		if (c->functions[i].change == change)
			put_function(out, c, &c->functions[i]);
	json_close(out, ']');
}

void
compared_put_deciding(struct buf *out, const char *key,
                      const struct comparison *c)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		if (compare_decides(c, &c->functions[i]))
			put_function(out, c, &c->functions[i]);
	json_close(out, ']');
}

static const char *
method_of(const struct comparison *c)
{
	if (c->by != COMPARE_BY_SHARE)
		return c->method == COMPARE_FROM_BLOCKS
		               ? "Welch's t of two rates, pooled, two-sided; "
		                 "Benjamini-Hochberg"
		               : "z of two rates, pooled, two-sided; "
		                 "Benjamini-Hochberg";
	return c->method == COMPARE_FROM_BLOCKS
	               ? "Welch's t of two proportions, pooled, two-sided, "
	                 "Yates; Benjamini-Hochberg"
	               : "two-proportion z over samples, pooled, two-sided, "
	                 "Yates; Benjamini-Hochberg";
}

static void
put_test(struct buf *out, const struct comparison *c)
{
	json_open(out, "test", '{');
	json_put_text(out, "method", method_of(c));
	json_put_text(out, "normalize", compare_bys[c->by]);
	json_put_text(out, "variance", compare_methods[c->method]);
	json_put_int(out, "blocks", c->blocks);
	json_put_int(out, "captures", (int64_t)c->captures);
	json_put_real(out, "falseDiscoveryRate", COMPARE_FDR);
	json_put_real(out, "leastPoints", COMPARE_POINTS);
	json_put_int(out, "leastSamples", COMPARE_SAMPLES);
	json_put_real(out, "dispersion", c->dispersion);
	json_put_int(out, "tested", (int64_t)c->ntested);
	json_put_real(out, "baseSamples", c->base_samples);
	json_put_real(out, "comparisonSamples", c->now_samples);
	json_close(out, '}');
}

void
compared_put_verdict(struct buf *out, const struct comparison *c)
{
	CLEANUP_BUF struct buf reason = BUF_INIT(BUF_MAX_SMALL);

	compare_reason(c, &reason);
	json_put_known(out, "overallDelta", c->delta, c->known);
	json_put_known(out, "overallDeltaLow", c->low, c->known);
	json_put_known(out, "overallDeltaHigh", c->high, c->known);
	json_put_text(out, "verdict", compare_verdicts[c->verdict]);
	json_put_text(out, "reason", buf_str(&reason));
	json_put_bool(out, "insufficientData",
	              c->verdict == COMPARE_INSUFFICIENT);
	put_test(out, c);
}
