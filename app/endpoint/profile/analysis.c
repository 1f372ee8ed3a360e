/*
 * GET of the groups of a session's goroutines or threads.
 */
#include "analysis.h"

#include "base/clock.h"
#include "load.h"
#include "range/stored.h"
#include "store/baseline.h"
#include "store/window.h"
#include "window_session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void
put_frames(struct buf *out, const struct groups *g, const struct group *x)
{
	const struct group_frame *f = group_frames(g, x);

	json_open(out, "frames", '[');
	for (uint32_t i = 0; i < x->nframes; i++)
		json_put_text(out, NULL, groups_text(g, f[i].name));
	json_close(out, ']');
	json_put_text(out, "createdBy", groups_text(g, x->creator));
	json_open(out, "locations", '[');
	for (uint32_t i = 0; i < x->nframes; i++)
		json_put_text(out, NULL, groups_text(g, f[i].at));
	json_close(out, ']');
}

static void
put_site(struct buf *out, const struct groups *g, const struct group *x)
{
	uint32_t site = group_site(g, x);

	json_put_text(out, "site",
	              site < x->nframes
	                      ? groups_text(g, group_frames(g, x)[site].name)
	                      : "");
}

void
analysis_put_stack(struct buf *out, const struct groups *g,
                   const struct group *x, int64_t count)
{
	json_put_int(out, "count", count);
	json_put_text(out, "state", groups_text(g, x->state));
	json_put_text(out, "waitReason", groups_text(g, x->reason));
	put_frames(out, g, x);
	put_site(out, g, x);
	json_put_text(out, "waitReasonRaw", groups_text(g, x->raw));
	json_put_text(out, "class", wait_class_names[wait_class_of(g, x)]);
	json_put_known(out, "waitSeconds", (double)x->age_s,
	               x->age_s != GROUPS_NO_AGE);
}

/* The session with which growth is compared. */
struct growth {
	char base[ID_MAX]; /* "none", the id of a baseline, or of a session */
	char session[ID_MAX];
	int64_t samples; /* of that session */
	struct profile *profile;
};

static void
growth_done(struct growth *g)
{
	profile_free(g->profile);
}

static int
find_baseline(struct call *c, const struct session *s, struct growth *g)
{
	CLEANUP_BASELINE struct baseline b = {0};
	CLEANUP_SESSION struct session of = {0};
	const struct baseline_of ask = {
		.tenant = s->tenant,
		.service = s->service,
		.type = s->type,
		.session = s->id,
		.created_ms = s->created_ms,
		.ordinal = s->ordinal,
	};
	int rc = baseline_before(&c->env->store, &ask, &b);

	if (!rc)
		rc = session_get(&c->env->store, s->tenant, b.session, &of);
	if (rc)
		return rc;
	snprintf(g->base, sizeof(g->base), "%s", b.id);
	snprintf(g->session, sizeof(g->session), "%s", of.id);
	g->samples = of.sample_count;
	return 0;
}

static int
find_session(struct call *c, const struct session *s, struct growth *g)
{
	CLEANUP_SESSION struct session before = {0};
	int rc = window_is(s->id) ? window_find_earlier(c, s->id, &before)
	                          : session_before(&c->env->store, s, &before);

	if (rc)
		return rc;
	snprintf(g->base, sizeof(g->base), "%s", before.id);
	snprintf(g->session, sizeof(g->session), "%s", before.id);
	g->samples = before.sample_count;
	return 0;
}

/* Reads the profile that growth is found by, unless it expired or cannot be
 * read. */
static void
read_base(struct call *c, struct growth *g)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	int rc = window_is(g->session)
	                 ? window_profile(c, g->session, &g->profile, &why)
	                 : stored_profile(&c->env->store, g->session,
	                                  &g->profile, &why);

	if (rc)
		g->profile = NULL;
}

/* Finds the newest earlier baseline, else the previous session, or an earlier
 * window, else none. */
static int
find_growth(struct call *c, const struct session *s, struct growth *g)
{
	int rc = find_baseline(c, s, g);

	if (rc == -ENOENT)
		rc = find_session(c, s, g);
	if (!rc)
		read_base(c, g);
	return rc == -ENOENT ? 0 : rc;
}

static void
put_suspects(struct buf *out, const struct analysis *a)
{
	const struct groups *g = a->groups;

	json_open(out, "leakSuspects", '[');
	for (size_t i = 0; i < a->nsuspects; i++) {
		const struct leak_suspect *s = &a->suspects[i];
		const struct group *x = &g->items[s->group];

		json_open(out, NULL, '{');
		json_put_text(out, "severity",
		              leak_severities[s->rule->severity]);
		json_put_text(out, "rule", s->rule->name);
		json_put_text(out, "why", s->rule->why);
		json_put_text(out, "source", s->rule->source);
		json_put_int(out, "baseCount", s->base_count);
		analysis_put_stack(out, g, x, s->count);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_stacks(struct buf *out, const char *key, const struct analysis *a,
           int64_t top, bool blocked)
{
	json_open(out, key, '[');
	for (uint32_t i = 0; i < a->groups->n && top; i++) {
		const struct group *x = &a->groups->items[i];

		if (blocked && !wait_class_blocked(a->classes[i]))
			continue;
		json_open(out, NULL, '{');
		analysis_put_stack(out, a->groups, x, x->count[1]);
		json_close(out, '}');
		top--;
	}
	json_close(out, ']');
}

static void
put_targets(struct buf *out, const struct analysis *a, int64_t top)
{
	json_open(out, "waitTargets", '[');
	for (size_t i = 0; i < a->ntargets && (int64_t)i < top; i++) {
		const struct wait_target *t = &a->targets[i];
		char address[sizeof("0x") + 16];

		snprintf(address, sizeof(address), "0x%" PRIx64, t->address);
		json_open(out, NULL, '{');
		json_put_text(out, "address", address);
		json_put_int(out, "stackCount", t->nstacks);
		analysis_put_stack(out, a->groups, &t->most, t->count);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static double
growth_rate(const struct analysis *a, const struct growth *g)
{
	int64_t before = a->has_base ? a->base_count : g->samples;

	if (!strcmp(g->base, "none") || a->count == before)
		return 1;
	return (double)a->count / (double)(before > 0 ? before : 1);
}

static int
answer(struct call *c, const struct session *s, const struct analysis *a,
       const struct growth *g)
{
	int64_t top = param_int(c, P_GetGoroutineAnalysis_top);
	struct buf *out = answer_json(c);

	json_put_text(out, "sessionId", s->id);
	json_put_int(out, "goroutineCount", a->count);
	put_stacks(out, "topStacks", a, top, false);
	put_stacks(out, "blockedGoroutines", a, top, true);
	json_put_real(out, "goroutineGrowthRate", growth_rate(a, g));
	json_put_text(out, "growthBase", g->base);
	put_suspects(out, a);
	put_targets(out, a, top);
	json_put_time(out, "analyzedAt", clock_wall_ms());
	return answer_end(c);
}

static struct leak_limits
limits_of(const struct conf *conf)
{
	return (struct leak_limits){
		.group = conf->analysis_leak_group,
		.share_percent = conf->analysis_leak_share,
		.age_s = conf->analysis_leak_age,
		.growth = conf->analysis_leak_growth,
		.growth_percent = conf->analysis_leak_growth_percent,
		.survivors_percent = conf->analysis_leak_survivors,
		.crowd = conf->analysis_leak_crowd,
		.allow = conf->analysis_leak_allow,
	};
}

static int
analyse(struct call *c, const struct session *s, const struct profile *p,
        struct growth *g, struct analysis **out)
{
	const struct leak_limits limits = limits_of(c->env->conf);
	int rc = find_growth(c, s, g)
	                 ?: analysis_new(p, g->profile, &limits, out);

	return rc ? fail_store(c, rc) : 0;
}

int
analysis_of(struct call *c, const struct session *s, const struct profile *p,
            struct analysis **out)
{
	CLEANUP(growth_done) struct growth g = {.base = "none"};

	return analyse(c, s, p, &g, out);
}

int
analysis_get(struct call *c)
{
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_ANALYSIS struct analysis *a = NULL;
	CLEANUP(growth_done) struct growth g = {.base = "none"};

	if (load_completed(c, P_GetGoroutineAnalysis_sessionId, "goroutine",
	                   &s) ||
	    load_profile(c, &s, &p) || analyse(c, &s, p, &g, &a))
		return -1;
	return answer(c, &s, a, &g);
}
