#include "compare_json.h"

#include "base/clock.h"
#include "kinds.h"
#include "load.h"
#include "profile_json.h"

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
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(x->sides); i++) {
		if (load_profile(c, sessions[i], &x->profiles[i]))
			return -1;
		rc = tree_new(x->profiles[i],
		              profile_type_index(x->profiles[i], NULL),
		              &x->trees[i]);
		if (rc)
			return fail_store(c, rc);
		x->sides[i] = (struct compare_side){
			x->trees[i], seconds_of(sessions[i], x->profiles[i])};
	}
	rc = compare_new(&x->sides[0], &x->sides[1], compared_is_gauge(x),
	                 &x->c);
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

static int
diff_link(struct call *c, const char *base, const char *now, struct buf *out)
{
	CLEANUP_BUF struct buf url = BUF_INIT(LINK_MAX);
	CLEANUP_BUF struct buf subject = BUF_INIT(LINK_SUBJECT_MAX);
	const struct conf *conf = c->env->conf;
	struct link_page page = {.claim = {.kind = "diff"}};

	buf_addf(&url,
	         "%s" PROFILE_PATH
	         "diff?baseProfileId=%s&comparisonProfileId=%s",
	         conf->api_public_url, base, now);
	buf_addf(&subject, "%s\n%s", base, now);
	page.url = buf_str(&url);
	page.claim.subject = buf_str(&subject);
	page.claim.tenant = c->caller.tenant;
	return link_make(&c->env->store, &c->env->links, &page, clock_wall_ms(),
	                 conf->api_link_ttl, out);
}

int
compared_put_links(struct call *c, struct buf *out, const char *base,
                   const char *now)
{
	CLEANUP_BUF struct buf link = BUF_INIT(LINK_MAX);
	int rc = diff_link(c, base, now, &link);

	if (rc)
		return fail_store(c, rc);
	json_open(out, "links", '{');
	json_put_text(out, "diff", buf_str(&link));
	json_close(out, '}');
	return 0;
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
