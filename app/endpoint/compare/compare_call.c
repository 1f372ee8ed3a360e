#include "compare_call.h"

#include "base/clock.h"
#include "base/json.h"
#include "endpoint/profile/load.h"
#include "endpoint/profile/view.h"

#include <errno.h>
#include <string.h>

/* --- parameters ----------------------------------------------------------- */

int
compare_call_baseline(struct call *c, const char *id, struct baseline *out)
{
	int rc = baseline_get(&c->env->store, c->caller.tenant, id, out);

	if (rc != -ENOENT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "baselineId", id);
	return fail(c, UnknownBaseline, id);
}

int
compare_call_word(const struct call *c, enum param p, const char *const *words,
                  int or_else)
{
	for (int i = 0; param_given(c, p) && words[i]; i++)
		if (!strcmp(words[i], param_text(c, p)))
			return i;
	return or_else;
}

int
compare_call_test(struct call *c, const struct compare_test_params *p,
                  struct compared *x)
{
	const enum param work[] = {p->base_work, p->now_work};
	bool known = true;

	x->store = &c->env->store;
	x->tenant = c->caller.tenant;
	x->end_ns = c->end_ns;
	x->peer = &c->req->peer_fd;
	for (size_t i = 0; i < ARRAY_LEN(work); i++) {
		known &= param_given(c, work[i]);
		x->sides[i].work = (double)param_int(c, work[i]);
	}
	x->by = (enum compare_by)compare_call_word(
		c, p->normalize, compare_bys, known ? COMPARE_BY_WORK : x->by);
	if (known || x->by != COMPARE_BY_WORK)
		return 0;
	return fail_param(c, params[p->normalize].name,
	                  "work along with baseWork and comparisonWork",
	                  compare_bys[x->by]);
}

static const char *
or_text(struct call *c, enum param p, const char *other)
{
	return param_given(c, p) || !other ? param_text(c, p) : other;
}

/* Checks that a side is either an id or a range. A link is signed for one of
 * them. */
static int
check_side(struct call *c, const struct compare_side_params *side,
           bool *is_range)
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

/* Loads the sides that are ids. A range takes their service and type. */
static int
load_ids(struct call *c, const struct compare_sides *p,
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

static bool
is_other(const struct range *r, const char *host, const char *labels)
{
	const struct range *chosen = r->only.of;

	return (*chosen->host && strcmp(host, chosen->host) != 0) ||
	       !range_labels_match(chosen, labels);
}

/* Makes everything that host and label do not select the base. */
static int
take_others(struct call *c, const struct compare_sides *p, struct compared *x,
            struct range *r)
{
	if (!*r->host && !r->nlabels)
		return fail_param(c, params[p->others].name,
		                  "true with a host or a label only", "true");
	x->against_others = true;
	x->chosen = range_question(r);
	r->only = (struct range_only){is_other, &x->chosen, *r->host != '\0'};
	r->host = "";
	r->nlabels = 0;
	return 0;
}

static int
plan(struct call *c, const struct compare_sides *p, size_t i,
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
	if (!i && param_int(c, p->others) && take_others(c, p, x, r))
		return -1;
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
	r->with_ids = range_asks_ids(&x->only);
	rc = range_plan(r);
	if (rc)
		(void)range_fail(c, r, rc, NULL);
	return rc ? -1 : 0;
}

int
compare_call_sides(struct call *c, const struct compare_sides *p,
                   struct compared *x)
{
	struct session *of[] = {&x->base, &x->now};
	bool is_range[2];
	int rc;

	view_labels(c, p->sample, &x->only);
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		if (check_side(c, &p->sides[i], &is_range[i]))
			return -1;
	if (!is_range[0] && param_int(c, p->others))
		return fail_param(c, params[p->others].name,
		                  "true only where the base is a range",
		                  "true");
	if (load_ids(c, p, is_range, x))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		if (!is_range[i])
			continue;
		if (plan(c, p, i, is_range[!i] ? &(struct session){0} : of[!i],
		         x))
			return -1;
	}
	rc = compared_name_ranges(x);
	return rc ? fail_store(c, rc) : 0;
}

int
compare_call_side(struct call *c, const struct compare_sides *p, size_t i,
                  const struct session *beside, struct compared *x)
{
	bool is_range;
	int rc;

	view_labels(c, p->sample, &x->only);
	if (check_side(c, &p->sides[i], &is_range))
		return -1;
	if (!is_range)
		return load_completed(c, p->sides[i].id, beside->type,
		                      i ? &x->now : &x->base);
	if (plan(c, p, i, beside, x))
		return -1;
	rc = compared_name_ranges(x);
	return rc ? fail_store(c, rc) : 0;
}

void
compare_call_warn(struct call *c, const struct session *base,
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
compare_call_put_only(const struct compared *x, struct buf *out)
{
	for (uint32_t i = 0; i < x->only.nlabels; i++) {
		json_put_text(out, NULL, x->only.labels[i].key);
		json_put_text(out, NULL, x->only.labels[i].value);
	}
}

void
compare_call_made_of(struct call *c, const struct compared *x, struct buf *out)
{
	const struct session *of[] = {&x->base, &x->now};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		load_made_of(c, of[i], out);
		buf_addf(out, "%016llx %.17g\n",
		         (unsigned long long)range_hash(&x->ranges[i]),
		         x->sides[i].work);
	}
	compare_call_put_only(x, out);
	buf_addf(out, "%s\n", compare_bys[x->by]);
}

/* --- the call ------------------------------------------------------------- */

int
compare_call_fail(struct call *c, int rc)
{
	/* out of time, or the client has gone */
	if ((rc == -ETIME || rc == -ECANCELED) && call_go_on(c))
		return -1;
	return fail_store(c, rc);
}

static int
add_side(struct call *c, struct compared *x, size_t i)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct range *r = &x->ranges[i];
	int rc = r->n ? range_merged(c, r, &p)
	              : load_known(c, i ? &x->now : &x->base, &p);

	if (rc)
		return -1;
	if (r->lost.n) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		range_put_lost(r, &text);
		warn_client(c, "%s", buf_str(&text));
	}
	rc = compared_add(x, i, TAKE(p));
	return rc ? compare_call_fail(c, rc) : 0;
}

int
compare_call_run(struct call *c, struct compared *x)
{
	int rc;

	compare_call_warn(c, &x->base, &x->now);
	if ((!x->ranges[0].n && load_reads(c, &x->base)) ||
	    (!x->ranges[1].n && load_reads(c, &x->now)))
		return -1;
	compared_begin(x);
	if (add_side(c, x, 0) || (!compared_ready(x) && add_side(c, x, 1)))
		return -1;
	rc = compared_run(x);
	return rc ? compare_call_fail(c, rc) : 0;
}
