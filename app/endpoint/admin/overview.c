/*
 * GET overview: each service with its processes, cost, last capture and fired
 * triggers, in one reply.
 */
#include "base/clock.h"
#include "endpoint/call.h"
#include "lacks.h"
#include "range/steps.h"
#include "store/service.h"
#include "store/trigger.h"

#include <string.h>

#define COST_STEP_MS (60 * MS_PER_S)
#define COST_MS      (60 * COST_STEP_MS)
#define FIRED_MS     (60 * 60 * MS_PER_S)
/* Costs that take longer to read are left out of the reply. */
#define COSTS_NS (5 * NS_PER_S)

struct overview {
	struct service_list services;
	struct service_state_list states;
	struct trigger_list fired; /* in order of services */
	struct lacks lacks;
	int64_t now_ms, until_ns;
};

static void
overview_done(struct overview *o)
{
	service_list_done(&o->services);
	service_state_list_done(&o->states);
	trigger_list_done(&o->fired);
	lacks_done(&o->lacks);
}

/* Writes the CPU time of windows; nothing if it cannot be read in time. */
static void
put_cpu(struct call *c, const struct overview *o, const char *service,
        struct buf *out)
{
	CLEANUP_STEPS struct steps s = {
		.range = {.store = &c->env->store,
	                  .tenant = c->caller.tenant,
	                  .service = service,
	                  .type = "cpu",
	                  .host = "",
	                  .from_ms = o->now_ms - COST_MS,
	                  .to_ms = o->now_ms},
		.step_ms = COST_STEP_MS,
		.function = "",
		.windows_only = true,
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	double cost, ms;

	if (clock_mono_ns() >= o->until_ns || steps_read(&s, &why))
		s.n = 0;
	cost = steps_total(&s, &ms);
	if (ms <= 0)
		s.n = 0;
	json_put_known(out, "cpuPerSecond", steps_rate(&s, cost, ms), ms > 0);
	steps_put_rates(&s, "cpu", out);
}

static void
put_fired(const struct overview *o, const char *service, struct buf *out)
{
	json_open(out, "fired", '[');
	for (size_t i = 0; i < o->fired.n; i++) {
		const struct trigger *t = &o->fired.items[i];

		if (strcmp(t->service, service) != 0)
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "id", t->id);
		json_put_text(out, "trigger", t->name);
		json_put_time(out, "firedAt", t->fired_ms);
		json_put_text(out, "profileType", t->type);
		json_put_text(out, "profileId", t->session);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static const struct service_state *
state_of(const struct overview *o, const char *service)
{
	static const struct service_state none = {
		.host = (char *)"",
		.session = (char *)"",
		.type = (char *)"",
		.status = (char *)"",
		.error = (char *)"",
	};

	for (size_t i = 0; i < o->states.n; i++)
		if (!strcmp(o->states.items[i].service, service))
			return &o->states.items[i];
	return &none; /* it was removed a moment ago */
}

static void
put_service(struct call *c, const struct overview *o, const struct service *s,
            struct buf *out)
{
	const struct service_state *now = state_of(o, s->name);

	json_open(out, NULL, '{');
	json_put_text(out, "name", s->name);
	json_put_text(out, "kind", s->kind);
	json_put_text(out, "description", s->description);
	json_put_int(out, "processes", now->processes);
	json_put_int(out, "hosts", now->hosts);
	json_put_text(out, "host", now->host);
	put_cpu(c, o, s->name, out);
	json_put_text(out, "lastProfileId", now->session);
	json_put_text(out, "lastProfileType", now->type);
	json_put_text(out, "lastStatus", now->status);
	json_put_text(out, "lastError", now->error);
	json_put_time_or_null(out, "lastStartedAt", now->started_ms);
	put_fired(o, s->name, out);
	lacks_put(&o->lacks, s, out);
	json_close(out, '}');
}

int
overview_get(struct call *c)
{
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	struct page page = PAGE_OF(c, GetOverview);
	CLEANUP(overview_done)
	struct overview o = {
		.now_ms = clock_wall_ms(),
		.until_ns = clock_mono_ns() + COSTS_NS,
	};
	struct buf *out;
	int rc = service_list(store, tenant, page, &o.services);

	if (rc)
		return page_fail(c, rc, page.cursor);
	if (o.services.n)
		rc = service_states(store, tenant, o.services.items[0].name,
		                    o.services.items[o.services.n - 1].name,
		                    &o.states);
	rc = rc ?: trigger_list_fired(store, tenant, FIRED_MS, &o.fired)
	             ?: lacks_read(store, tenant, &o.lacks);
	if (rc)
		return fail_store(c, rc);
	out = page_begin(c);
	for (size_t i = 0; i < o.services.n; i++)
		put_service(c, &o, &o.services.items[i], out);
	return page_end(c, o.services.next);
}
