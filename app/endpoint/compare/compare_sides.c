/*
 * GET compare: two sides, each a profile or a range of time.
 */
#include "base/clock.h"
#include "compare_json.h"
#include "endpoint/profile/load.h"
#include "endpoint/profile/profile_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_PAIRS 40 /* of a link: rows of params.def, and labels */

static const char *
or_text(struct call *c, enum param p, const char *other)
{
	return param_given(c, p) || !other ? param_text(c, p) : other;
}

/* Checks that each side is an id or a range, and not both: a link is signed for
 * what it shows. */
static int
check_side(struct call *c, const struct compared_ids *side, bool *is_range)
{
	CLEANUP_BUF struct buf expected = BUF_INIT(BUF_MAX_SMALL);
	bool ranged = param_given(c, side->from) || param_given(c, side->to);

	*is_range = param_given(c, side->from);
	if (param_given(c, side->id) != ranged && *is_range == ranged)
		return 0;
	buf_addf(&expected, "a profile's id, or a range from %s on",
	         params[side->from].name);
	return fail_param(c, params[side->id].name, buf_str(&expected),
	                  param_text(c, side->id));
}

/* Loads the sides that are ids; ranges are of their service and type. */
static int
load_ids(struct call *c, const struct compared_sides *p,
         const bool is_range[static 2], struct compared *x)
{
	struct session *to[] = {&x->base, &x->now};
	const char *type = param_given(c, p->type) ? param_text(c, p->type)
	                                           : NULL;

	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		if (is_range[i])
			continue;
		if (load_completed(c, p->sides[i].id, type, to[i]))
			return -1;
		type = to[i]->type;
	}
	return 0;
}

static int
plan(struct call *c, const struct compared_sides *p, size_t i,
     const struct session *other, struct compared *x)
{
	struct range *r = &x->ranges[i];
	char to[RFC3339_LEN];
	int rc;

	*r = range_asked(c, &(struct range_rows){p->service, p->type, p->host,
	                                         p->label, p->sides[i].from,
	                                         p->sides[i].to});
	r->service = or_text(c, p->service, other->service);
	r->type = or_text(c, p->type, other->type);
	r->origin = param_text(c, p->origin);
	if (!*r->service)
		return fail_param(c, params[p->service].name,
		                  "a service, where both sides are ranges", "");
	if (!*r->type)
		return fail_param(c, params[p->type].name,
		                  "a profile type, where both sides are ranges",
		                  "");
	if (r->from_ms > r->to_ms) {
		clock_format(r->to_ms, to);
		return fail_param(c, params[p->sides[i].from].name,
		                  "a time not after the range's end", to);
	}
	if (range_check(c, r))
		return -1;
	rc = range_plan(r);
	return rc ? range_fail(c, r, rc, NULL) : 0;
}

/* Names a range as replies and views do. Source: ISO 8601, 4.4.2: interval */
static int
name_range(const struct range *r, struct session *out)
{
	char from[RFC3339_LEN], to[RFC3339_LEN], name[2 * RFC3339_LEN];

	clock_format(r->from_ms, from);
	clock_format(r->to_ms, to);
	snprintf(name, sizeof(name), "%s/%s", from, to);
	out->id = strdup(name);
	out->service = strdup(r->service);
	out->type = strdup(r->type);
	out->started_ms = r->parts[0].span.start_ms;
	out->duration_ms = (int64_t)r->covered_ms;
	return out->id && out->service && out->type ? 0 : -ENOMEM;
}

int
compared_load(struct call *c, const struct compared_sides *p,
              struct compared *x)
{
	struct session *of[] = {&x->base, &x->now};
	bool is_range[2];

	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		if (check_side(c, &p->sides[i], &is_range[i]))
			return -1;
	if (load_ids(c, p, is_range, x))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		if (!is_range[i])
			continue;
		if (plan(c, p, i, is_range[!i] ? &(struct session){0} : of[!i],
		         x))
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		if (is_range[i] && name_range(&x->ranges[i], of[i]))
			return fail_store(c, -ENOMEM);
	return 0;
}

/* --- links ---------------------------------------------------------------- */

/* The query of a link to GetDiffFlameGraph. */
struct diff_query {
	struct query_pair pairs[MAX_PAIRS];
	size_t n;
	char times[4][24], work[2][24];
};

static void
add_pair(struct diff_query *q, const char *name, const char *value)
{
	if (q->n < MAX_PAIRS && *value)
		q->pairs[q->n++] = (struct query_pair){name, value};
}

/* Adds parameters of the test, so that the picture agrees with the comparison
 * that links to it. */
static void
add_test(struct diff_query *q, const struct compared *x)
{
	enum compare_by by = x->by;

	if (x->baseline)
		add_pair(q, "baselineId", x->baseline);
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
add_side(struct diff_query *q, const struct compared_ids *names,
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

/* Ranges of both sides are chosen by the same filters. */
static void
add_filters(struct diff_query *q, const struct call *c, const struct range *r)
{
	add_pair(q, "service", r->service);
	add_pair(q, "profileType", r->type);
	add_pair(q, "host", r->host);
	add_pair(q, "origin", r->origin);
	for (size_t i = 0; i < c->req->nquery; i++)
		if (!strncmp(c->req->query[i].name, "label.", 6))
			add_pair(q, c->req->query[i].name,
			         c->req->query[i].value);
}

/* A link to two ids is signed for these alone: see auth.c. */
static int
link_ids(struct call *c, const char *base, const char *now, bool pinned,
         const struct link_query *q, struct buf *out)
{
	CLEANUP_BUF struct buf url = BUF_INIT(LINK_MAX);
	CLEANUP_BUF struct buf subject = BUF_INIT(LINK_SUBJECT_MAX);
	const struct conf *conf = c->env->conf;
	struct link_page page = {.claim = {.kind = "diff"}};

	buf_addf(&url, "%s" PROFILE_PATH "diff?", conf->api_public_url);
	link_put_query(q, &url);
	buf_addf(&subject, "%s\n%s", base, now);
	if (buf_err(&url) || buf_err(&subject))
		return -E2BIG;
	page.url = buf_str(&url);
	page.claim.subject = buf_str(&subject);
	page.claim.tenant = c->caller.tenant;
	return link_make(&c->env->store, &c->env->links, &page, clock_wall_ms(),
	                 link_ttl(conf->api_link_ttl, pinned), out);
}

int
compared_put_links(struct call *c, struct buf *out, const char *base,
                   const char *now, const struct compared *x)
{
	static const struct compared_sides to =
		COMPARED_SIDES(GetDiffFlameGraph);
	static const struct compared none;
	const char *const ids[] = {base, now};
	const struct range *r = NULL;
	CLEANUP_BUF struct buf link = BUF_INIT(RANGE_MAX_LINK);
	struct diff_query q = {0};
	bool tested = x;
	int rc;

	x = x ? x : &none;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		add_side(&q, &to.sides[i], &x->ranges[i], ids[i],
		         &q.times[2 * i]);
		r = x->ranges[i].n ? &x->ranges[i] : r;
	}
	if (r)
		add_filters(&q, c, r);
	if (tested)
		add_test(&q, x);
	rc = r ? range_link(c, "diff", &(struct link_query){q.pairs, q.n},
	                    &link)
	       : link_ids(c, base, now, x->base.pinned && x->now.pinned,
	                  &(struct link_query){q.pairs, q.n}, &link);
	if (rc)
		return fail_store(c, rc);
	json_open(out, "links", '{');
	json_put_text(out, "diff", buf_str(&link));
	json_close(out, '}');
	return 0;
}

/* --- GET compare ---------------------------------------------------------- */

static const struct compared_sides sides = COMPARED_SIDES(CompareProfiles);

static void
put_result(struct buf *out, const struct compared *x)
{
	const struct comparison *r = x->c;

	json_put_text(out, "baseProfile", x->base.id);
	json_put_text(out, "comparisonProfile", x->now.id);
	compared_put_changes(out, "improvements", r, COMPARE_IMPROVEMENT);
	compared_put_changes(out, "regressions", r, COMPARE_REGRESSION);
	compared_put_risen(out, r);
	json_put_int(out, "unchanged",
	             (int64_t)(r->n - r->nregressions - r->nimprovements));
	compared_put_verdict(out, r);
}

/* Links are new in each reply, since they expire. */
static int
answer(struct call *c, const struct compared *x)
{
	struct buf *out = &c->reply->body;

	if (compared_put_links(c, out, x->base.id, x->now.id, x))
		return -1;
	return answer_end(c);
}

int
compare_get(struct call *c)
{
	CLEANUP_COMPARED struct compared x = {0};
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_SMALL);

	if (compared_ask(c, COMPARED_PARAMS(CompareProfiles), &x) ||
	    compared_load(c, &sides, &x))
		return -1;
	compared_made_of(c, &x, &of);
	(void)answer_json(c);
	if (kept_find(c, &of)) {
		compared_question(c, &x.base, &x.now);
		return answer(c, &x);
	}
	if (compared_run(c, &x))
		return -1;
	put_result(answer_json(c), &x);
	kept_add(c, &of);
	return answer(c, &x);
}
