#include "compare_json.h"

#include "base/json_out.h"

#include <math.h>

static void
put_since(struct buf *out, const struct compare_since *s)
{
	json_put_time_or_null(out, "since", s->at_ms);
	json_put_time_or_null(out, "sinceEarliest", s->earliest_ms);
	json_put_time_or_null(out, "sinceLatest", s->latest_ms);
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
	put_since(out, &f->since);
	json_close(out, '}');
}

void
compare_json_risen(struct buf *out, const struct comparison *c)
{
	json_open(out, "cumulativeRegressions", '[');
	for (size_t i = 0; i < c->nrisen; i++)
		put_function(out, c, c->risen[i]);
	json_close(out, ']');
}

void
compare_json_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		if (c->functions[i].change == change)
			put_function(out, c, &c->functions[i]);
	json_close(out, ']');
}

void
compare_json_deciding(struct buf *out, const char *key,
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
compare_json_verdict(struct buf *out, const struct comparison *c)
{
	compare_put_verdict(c, out);
	json_put_known(out, "waitSeconds", c->wait_s, c->wait_s > 0);
	json_put_bool(out, "insufficientData",
	              c->verdict == COMPARE_INSUFFICIENT);
	put_test(out, c);
}
