/* Links from a comparison to its differential flame graph. */
#include "base/clock.h"
#include "compare_call.h"
#include "endpoint/profile/profile_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The query of a link to GetDiffFlameGraph. */
struct diff_query {
	struct query_pair pairs[REQUEST_MAX_QUERY];
	size_t n;
	char times[4][24], work[2][24];
};

static void
add_pair(struct diff_query *q, const char *name, const char *value)
{
	if (q->n < REQUEST_MAX_QUERY && *value)
		q->pairs[q->n++] = (struct query_pair){name, value};
}

/* Adds parameters of the test, so that the picture agrees with the comparison
 * that links to it. */
static void
add_test(struct diff_query *q, const struct compared *x)
{
	enum compare_by by = x->by;

	if (by != COMPARE_BY_SHARE)
		add_pair(q, "normalize", compare_bys[by]);
	if (by != COMPARE_BY_WORK)
		return;
	for (size_t i = 0; i < ARRAY_LEN(q->work); i++)
		snprintf(q->work[i], sizeof(q->work[i]), "%.0f",
		         x->sides[i].work);
	add_pair(q, "baseWork", q->work[0]);
	add_pair(q, "comparisonWork", q->work[1]);
}

/* One side: its id, or the ends of its range. */
static void
add_side(struct diff_query *q, const struct compare_side_params *names,
         const struct range *r, const char *id, char times[2][24])
{
	if (!r->n) {
		add_pair(q, params[names->id].name, id);
		return;
	}
	snprintf(times[0], 24, "%lld", (long long)r->from_ms);
	snprintf(times[1], 24, "%lld", (long long)r->to_ms);
	add_pair(q, params[names->from].name, times[0]);
	add_pair(q, params[names->to].name, times[1]);
}

/* Adds the filters, which both ranges share. A base of others has no host. */
static void
add_filters(struct diff_query *q, const struct call *c,
            const struct compared *x, const struct range *r)
{
	add_pair(q, "service", r->service);
	add_pair(q, "profileType", r->type);
	add_pair(q, "host", x->against_others ? x->chosen.host : r->host);
	add_pair(q, "origin", r->origin);
	for (size_t i = 0; i < c->req->nquery; i++)
		if (!strncmp(c->req->query[i].name, "label.", 6) ||
		    !strcmp(c->req->query[i].name, "others"))
			add_pair(q, c->req->query[i].name,
			         c->req->query[i].value);
}

static void
add_only(struct diff_query *q, const struct call *c)
{
	for (size_t i = 0; i < c->req->nquery; i++)
		if (!strncmp(c->req->query[i].name, "sample.", 7))
			add_pair(q, c->req->query[i].name,
			         c->req->query[i].value);
}

/* Signs a link to two ids for these two alone: see auth.c. */
static int
link_ids(struct call *c, const struct compared *x, const struct link_query *q,
         struct buf *out)
{
	CLEANUP_BUF struct buf url = BUF_INIT(LINK_URL_MAX);
	CLEANUP_BUF struct buf subject = BUF_INIT(LINK_SUBJECT_MAX);
	const struct conf *conf = c->env->conf;
	struct link_page page = {.claim = {.kind = "diff"}};

	buf_addf(&url, "%s" PROFILE_PATH "diff?", conf->api_public_url);
	link_put_query(q, &url);
	buf_addf(&subject, "%s\n%s", x->base.id, x->now.id);
	if (buf_err(&url) || buf_err(&subject))
		return -E2BIG;
	page.url = buf_str(&url);
	page.claim.subject = buf_str(&subject);
	page.claim.tenant = c->caller.tenant;
	return link_make(
		&c->env->store, &c->env->links, &page, clock_wall_ms(),
		link_ttl(conf->api_link_ttl, x->base.pinned && x->now.pinned),
		out);
}

int
compare_link_put(struct call *c, struct buf *out, const struct compared *x,
                 const char *baseline)
{
	static const struct compare_sides to = COMPARE_SIDES(GetDiffFlameGraph);
	const char *const ids[] = {x->base.id, x->now.id};
	const struct range *r = NULL;
	CLEANUP_BUF struct buf link = BUF_INIT(RANGE_MAX_LINK);
	struct diff_query q = {0};
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		add_side(&q, &to.sides[i], &x->ranges[i], ids[i],
		         &q.times[2 * i]);
		r = x->ranges[i].n ? &x->ranges[i] : r;
	}
	if (r)
		add_filters(&q, c, x, r);
	add_only(&q, c);
	if (baseline)
		add_pair(&q, "baselineId", baseline);
	add_test(&q, x);
	rc = r ? range_link(c, "diff", &(struct link_query){q.pairs, q.n},
	                    &link)
	       : link_ids(c, x, &(struct link_query){q.pairs, q.n}, &link);
	if (rc)
		return fail_store(c, rc);
	json_open(out, "links", '{');
	json_put_text(out, "diff", buf_str(&link));
	json_close(out, '}');
	return 0;
}
