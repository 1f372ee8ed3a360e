/*
 * /healthz, /readyz and /metrics, for the systems that run Stoker.
 */
#include "checks.h"

#include "base/clock.h"
#include "base/version.h"
#include "collectors.h"
#include "continuous_state.h"
#include "endpoint/call.h"
#include "store/job.h"
#include "store/lease.h"
#include "store/quota.h"
#include "store/worker.h"
#include "workers.h"

#include <stdlib.h>
#include <string.h>

int
health_get(struct call *c)
{
	struct buf *out = answer_json(c);

	json_put_text(out, "status", "ok");
	json_put_text(out, "version", stoker_version);
	return answer_end(c);
}

static int64_t
count_alive(const struct worker_list *list)
{
	int64_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += list->items[i].alive;
	return n;
}

/* Returns the check that keeps every live worker from capturing; NULL when one
 * of them can capture, or none is alive. */
static const char *
blocked_by(const struct worker_list *list)
{
	const char *name = NULL;

	for (size_t i = 0; i < list->n; i++) {
		CLEANUP_JSON json_t *findings =
			checks_of_worker(&list->items[i]);

		if (!list->items[i].alive)
			continue;
		name = checks_block(findings);
		if (!name)
			return NULL;
	}
	return name;
}

/* Writes how many clocks differ from the store's, and the largest
 * difference. */
static void
put_clocks(struct buf *out, const struct worker_list *list)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char offset[CLOCK_OFFSET_LEN];
	int64_t worst = 0, n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct worker *w = &list->items[i];

		if (!w->alive || clock_agrees(w->clock_ms))
			continue;
		n++;
		if (llabs(w->clock_ms) > llabs(worst))
			worst = w->clock_ms;
	}
	clock_format_offset(worst, offset);
	if (n)
		buf_addf(&text, "%lld of %lld hosts are off, by up to %s",
		         (long long)n, (long long)count_alive(list), offset);
	json_put_text(out, "clocks", n ? buf_str(&text) : "ok");
}

/* Fails with details of the missing part; /api/v1/checks has all findings. */
static int
not_ready(struct call *c, const char *store, const char *worker,
          const char *text)
{
	detail_text(c, "store", store);
	detail_text(c, "worker", worker);
	return fail_retry(c, 1, NotReady, text);
}

int
readiness_get(struct call *c)
{
	CLEANUP_WORKERS struct worker_list list = {0};
	const struct finding *own = checks_own(c),
			     *importers = checks_importers(c);
	int rc = worker_list(&c->env->store, "", &list);
	const char *blocked;
	struct buf *out;

	if (rc) {
		buf_addf(&c->reply->cause, "%s", strerror(-rc));
		return not_ready(c, "can't be read", "unknown",
		                 "the store can't be read");
	}
	if (own->verdict == BROKEN)
		return not_ready(c, own->found, "unknown",
		                 "the API can't write to the store");
	if (!count_alive(&list))
		return not_ready(c, "ok", "none is alive",
		                 "no worker is alive");
	blocked = blocked_by(&list);
	if (blocked)
		return not_ready(c, "ok", blocked,
		                 "no worker is able to capture: stoker doctor "
		                 "shows why");
	out = answer_json(c);
	json_put_text(out, "status", "ready");
	json_put_text(out, "store", "ok");
	json_put_text(out, "worker", "ok");
	json_put_text(out, "importers",
	              importers->verdict == FINE ? "ok" : importers->found);
	put_clocks(out, &list);
	return answer_end(c);
}

static void
gauge(struct buf *out, const char *name, const char *help)
{
	metric_head(out, name, "gauge", help);
}

static void
write_build(struct buf *out)
{
	gauge(out, "stoker_build_info", "Release of the API; always 1.");
	buf_addf(out, "stoker_build_info{version=\"%s\"} 1\n", stoker_version);
}

static void
write_workers(const struct worker_list *shown, struct buf *out)
{
	gauge(out, "stoker_worker_up",
	      "Whether the worker of a host is within its lease.");
	for (size_t i = 0; i < shown->n; i++) {
		buf_puts(out, "stoker_worker_up{host=");
		json_escape(out, shown->items[i].host,
		            strlen(shown->items[i].host));
		buf_addf(out, "} %d\n", shown->items[i].alive != 0);
	}
}

/* A metric of quotas that is being written. */
struct quota_metric {
	struct store *store;
	const struct conf *conf;
	struct buf *out;
	const char *tenant; /* only this tenant; "": all */
	bool held;          /* write what is held, else the limit */
};

static void
put_quota(const struct quota_metric *m, const char *tenant, enum quota q,
          int64_t value)
{
	buf_addf(m->out, "stoker_quota_%s{tenant=", m->held ? "held" : "limit");
	json_escape(m->out, tenant, strlen(tenant));
	buf_addf(m->out, ",quota=\"%s\"} %lld\n", conf_quotas[q].name,
	         (long long)value);
}

/* Writes a line for each quota that limits the tenant. Unlimited quotas are not
 * counted, to save the query. */
static int
write_tenant(void *arg, const char *tenant)
{
	const struct quota_metric *m = arg;
	int rc = 0;

	if (*m->tenant && strcmp(m->tenant, tenant) != 0)
		return 0;
	for (enum quota q = 0; q < QUOTAS && !rc; q++) {
		int64_t value = conf_quota(m->conf, tenant, q);

		if (!value)
			continue;
		if (m->held)
			rc = quota_held(m->store, tenant, q, &value);
		if (!rc)
			put_quota(m, tenant, q, value);
	}
	return rc;
}

static int
write_quotas(struct call *c, const char *tenant, struct buf *out)
{
	struct quota_metric m = {&c->env->store, c->env->conf, out, tenant,
	                         false};
	int rc;

	gauge(out, "stoker_quota_limit", "Most that a tenant may hold.");
	rc = quota_tenants(m.store, write_tenant, &m);
	m.held = true;
	gauge(out, "stoker_quota_held", "What a tenant with a limit holds.");
	return rc ? rc : quota_tenants(m.store, write_tenant, &m);
}

/* Writes whether a keeper has the lease, as one should if hosts share the
 * database. */
static void
write_keeper(struct store *s, struct buf *out)
{
	char host[CONF_HOST_MAX];
	int64_t left_ms;

	if (!db_is_shared(s->db))
		return;
	gauge(out, "stoker_keeper_alive", "Whether a keeper has the lease.");
	buf_addf(out, "stoker_keeper_alive %d\n",
	         !lease_get(s, LEASE_KEEPER, host, &left_ms) && left_ms > 0);
}

static int
write_store(struct store *s, const char *tenant, struct buf *out)
{
	CLEANUP_WORKERS struct worker_list shown = {0};
	CLEANUP_WORKERS struct worker_list list = {0};
	int64_t queued, running, bytes, blobs;
	int rc = job_counts(s, &queued, &running);

	if (!rc)
		rc = worker_list(s, "", &list)
		             ?: worker_list(s, tenant, &shown);
	if (!rc)
		rc = blob_usage(s, &bytes, &blobs);
	if (rc)
		return rc;
	gauge(out, "stoker_jobs", "Captures that wait or run.");
	buf_addf(out, "stoker_jobs{state=\"queued\"} %lld\n",
	         (long long)queued);
	buf_addf(out, "stoker_jobs{state=\"running\"} %lld\n",
	         (long long)running);
	gauge(out, "stoker_workers_alive", "Workers within their lease.");
	buf_addf(out, "stoker_workers_alive %lld\n",
	         (long long)count_alive(&list));
	write_workers(&shown, out);
	write_keeper(s, out);
	gauge(out, "stoker_profiles", "Profiles on disk.");
	buf_addf(out, "stoker_profiles %lld\n", (long long)blobs);
	gauge(out, "stoker_profile_bytes", "Bytes of profiles on disk.");
	buf_addf(out, "stoker_profile_bytes %lld\n", (long long)bytes);
	continuous_metrics(&shown, out);
	collectors_metrics(&shown, out);
	return workers_metrics(s, tenant, out);
}

int
metrics_get(struct call *c)
{
	struct buf *out = &c->reply->body;
	/* A caller with a token sees its own tenant, as elsewhere. */
	const char *tenant = c->req->metrics_allowed ? "" : c->caller.tenant;
	int rc;

	c->reply->status = c->route->status;
	c->reply->content_type = METRICS_CONTENT_TYPE;
	write_build(out);
	counters_write(c->env->counters, out);
	rc = write_store(&c->env->store, tenant, out)
	             ?: write_quotas(c, tenant, out);
	if (rc) /* the pool's counters are more useful than an error */
		buf_addf(&c->reply->cause, "%s", strerror(-rc));
	return 0;
}
