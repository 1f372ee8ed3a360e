#include "material.h"

#include "base/clock.h"
#include "endpoint/profile/load.h"
#include "endpoint/range/range_call.h"
#include "profile/types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOUR_MS (60 * 60 * MS_PER_S)
#define LONG_MS (30 * 24 * HOUR_MS)

void
material_done(struct material *m)
{
	profile_free(m->profile);
	session_done(&m->capture);
	range_done(&m->range);
}

/* Plans the range. Returns whether it has windows or, with sessions, captures;
 * -1 with the reply. */
static int
plan(struct call *c, struct material *m, bool sessions)
{
	int rc = range_plan(&m->range);

	if (rc && rc != -ENODATA)
		return range_fail(c, &m->range, rc, NULL);
	return !rc && (sessions || !m->range.sessions.n);
}

static int
plan_last(struct call *c, struct material *m, int64_t ms)
{
	struct range question = range_question(&m->range);

	range_done(&m->range);
	m->range = question;
	m->range.to_ms = clock_wall_ms();
	m->range.from_ms = m->range.to_ms - ms;
	return plan(c, m, false);
}

static int
read_range(struct call *c, struct material *m)
{
	if (range_merged(c, &m->range, &m->profile))
		return -1;
	m->seconds = m->range.covered_ms / (double)MS_PER_S;
	return 0;
}

static int
read_capture(struct call *c, struct material *m)
{
	if (load_profile(c, &m->capture, &m->profile))
		return -1;
	m->seconds = (double)m->capture.duration_ms / (double)MS_PER_S;
	return 0;
}

/* Finds the newest capture. Returns whether there is one. */
static int
find_capture(struct call *c, struct material *m)
{
	CLEANUP_SESSIONS struct session_list l = {0};
	const struct session_filter f = {
		.tenant = m->range.tenant,
		.service = m->range.service,
		.type = m->type,
		.status = SESSION_COMPLETED,
	};
	int rc = session_history(&c->env->store, &f, (struct page){1, ""}, &l);

	if (rc)
		return fail_store(c, rc);
	if (!l.n || !l.items[0].has_profile)
		return 0;
	m->capture = TAKE(l.items[0]);
	return 1;
}

static int
read_named(struct call *c, const char *session, struct material *m)
{
	int rc = session_get(&c->env->store, m->range.tenant, session,
	                     &m->capture);

	return rc ? fail_store(c, rc) : read_capture(c, m);
}

int
material_read(struct call *c, const char *session, struct material *m)
{
	int rc;

	m->range.type = m->type;
	if (*session)
		return read_named(c, session, m);
	if (m->range.from_ms) {
		rc = plan(c, m, true);
		return rc > 0 ? read_range(c, m) : rc;
	}
	rc = plan_last(c, m, HOUR_MS);
	if (rc > 0)
		return read_range(c, m);
	rc = rc ?: find_capture(c, m);
	if (rc > 0)
		return read_capture(c, m);
	rc = rc ?: plan_last(c, m, LONG_MS);
	return rc > 0 ? read_range(c, m) : rc;
}

void
material_time(int64_t ms, struct buf *out)
{
	char text[RFC3339_LEN];

	clock_format(ms, text);
	buf_addf(out, "%.10s %.8s UTC", text, text + 11);
}

void
material_name(const struct material *m, struct buf *out)
{
	if (m->capture.id) {
		buf_addf(out, "capture %s at ", m->capture.id);
		material_time(m->capture.started_ms, out);
		buf_addf(out, ", %.0f s", m->seconds);
		return;
	}
	material_time(m->range.from_ms, out);
	buf_puts(out, " to ");
	material_time(m->range.to_ms, out);
	buf_addf(out, ", %.0f s covered by %zu %s", m->seconds, m->range.n,
	         m->range.sessions.n ? "captures" : "windows");
}

static int
link_range(struct call *c, const struct range *r, struct buf *out)
{
	char times[2][24];
	const struct query_pair q[] = {
		{"service", r->service}, {"profileType", r->type},
		{"from", times[0]},      {"to", times[1]},
		{"origin", r->origin},
	};

	snprintf(times[0], sizeof(times[0]), "%lld", (long long)r->from_ms);
	snprintf(times[1], sizeof(times[1]), "%lld", (long long)r->to_ms);
	return range_link(c, "merge", &(struct link_query){q, ARRAY_LEN(q)},
	                  out);
}

int
material_link(struct call *c, const struct material *m, struct buf *out)
{
	const struct conf *conf = c->env->conf;
	const struct session *s = &m->capture;

	if (!s->id)
		return link_range(c, &m->range, out);
	return link_flamegraph(&c->env->store, &c->env->links,
	                       conf->api_public_url, s->tenant, s->id,
	                       clock_wall_ms(),
	                       link_ttl(conf->api_link_ttl, s->pinned), out);
}
