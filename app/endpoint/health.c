/* /healthz, /readyz and /metrics: what runs this asks here. */
#include "continuous_state.h"
#include "endpoint/call.h"
#include "store/job.h"
#include "store/worker.h"

#include <string.h>

int
health_get(struct call *c)
{
	struct buf *out = answer_json(c);

	json_put_text(out, "status", "ok");
	json_put_text(out, "version", STOKER_VERSION);
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

int
readiness_get(struct call *c)
{
	CLEANUP_WORKERS struct worker_list list = {0};
	int rc = worker_list(&c->env->store, &list);
	int64_t alive = count_alive(&list);
	struct buf *out;

	if (rc || !alive) {
		detail_text(c, "store", rc ? "can't be read" : "ok");
		detail_text(c, "worker", rc ? "unknown" : "none is alive");
		buf_addf(&c->reply->cause, "%s", rc ? strerror(-rc) : "");
		return fail_retry(c, 1, NotReady,
		                  rc ? "the store can't be read"
		                     : "no worker is alive");
	}
	out = answer_json(c);
	json_put_text(out, "status", "ready");
	json_put_text(out, "store", "ok");
	json_put_text(out, "worker", "ok");
	return answer_end(c);
}

static void
gauge(struct buf *out, const char *name, const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static int
write_store(struct store *s, struct buf *out)
{
	CLEANUP_WORKERS struct worker_list list = {0};
	int64_t queued, running, bytes, blobs;
	int rc = job_counts(s, &queued, &running);

	if (!rc)
		rc = worker_list(s, &list);
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
	gauge(out, "stoker_profiles", "Profiles on disk.");
	buf_addf(out, "stoker_profiles %lld\n", (long long)blobs);
	gauge(out, "stoker_profile_bytes", "Bytes of profiles on disk.");
	buf_addf(out, "stoker_profile_bytes %lld\n", (long long)bytes);
	continuous_metrics(&list, out);
	return 0;
}

int
metrics_get(struct call *c)
{
	struct buf *out = &c->reply->body;
	int rc;

	c->reply->status = c->route->status;
	c->reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	counters_write(c->env->counters, out);
	rc = write_store(&c->env->store, out);
	if (rc) /* the pool's own counters are worth more than an error */
		buf_addf(&c->reply->cause, "%s", strerror(-rc));
	return 0;
}
