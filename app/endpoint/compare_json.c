#include "compare_json.h"

#include "base/clock.h"
#include "load.h"

#include <string.h>

static const struct {
	const char *type;
	enum { GAUGE, COUNTER } kind;
} kinds[] = {
#define PROFILE_TYPE(name, sample, unit, kind, doc) {#name, kind},
#include "types.def"
#undef PROFILE_TYPE
};

static bool
is_gauge(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].type, type))
			return kinds[i].kind == GAUGE;
	return false;
}

void
compared_done(struct compared *x)
{
	comparison_free(x->c);
	for (size_t i = 0; i < ARRAY_LEN(x->trees); i++) {
		tree_free(x->trees[i]);
		profile_free(x->profiles[i]);
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
compared_run(struct call *c, struct compared *x)
{
	const struct session *sessions[] = {&x->base, &x->now};
	struct compare_side sides[2];
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		if (load_profile(c, sessions[i], &x->profiles[i]))
			return -1;
		rc = tree_new(x->profiles[i],
		              profile_type_index(x->profiles[i], NULL),
		              &x->trees[i]);
		if (rc)
			return fail_store(c, rc);
		sides[i] = (struct compare_side){
			x->trees[i], seconds_of(sessions[i], x->profiles[i])};
	}
	rc = compare_new(&sides[0], &sides[1], is_gauge(x->base.type), &x->c);
	return rc ? fail_store(c, rc) : 0;
}

static void
put_function(struct buf *out, const struct compare_function *f)
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
	json_put_real(out, "basePerSecond", f->base.rate);
	json_put_real(out, "comparisonPerSecond", f->now.rate);
	json_put_real(out, "pValue", f->p);
	json_close(out, '}');
}

void
compared_put_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		if (c->functions[i].change == change)
			put_function(out, &c->functions[i]);
	json_close(out, ']');
}

void
compared_put_deciding(struct buf *out, const char *key,
                      const struct comparison *c)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		if (compare_decides(c, &c->functions[i]))
			put_function(out, &c->functions[i]);
	json_close(out, ']');
}

static void
put_test(struct buf *out, const struct comparison *c)
{
	json_open(out, "test", '{');
	json_put_text(out, "method",
	              "two-proportion z over samples, pooled, two-sided, "
	              "Yates; Benjamini-Hochberg");
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
	json_put_real(out, "overallDelta", c->delta);
	json_put_real(out, "overallDeltaLow", c->low);
	json_put_real(out, "overallDeltaHigh", c->high);
	json_put_text(out, "verdict", compare_verdicts[c->verdict]);
	json_put_bool(out, "insufficientData",
	              c->verdict == COMPARE_INSUFFICIENT);
	put_test(out, c);
}
