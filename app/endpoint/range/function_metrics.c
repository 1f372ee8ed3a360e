/*
 * GET /metrics/functions: the shares of CPU time of the functions and packages
 * that services name in their metrics.
 */
#include "base/clock.h"
#include "profile/tree.h"
#include "range_call.h"
#include "store/service.h"

#include <errno.h>
#include <string.h>

#define SPAN_MS (5 * 60 * MS_PER_S)

/* The lines of one metric must follow one another. */
struct metrics {
	struct buf *self, *total, *samples;
};

/* Writes a label. The format escapes no other characters than these. */
static void
put_label(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, "%s=\"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *text);
	}
	buf_putc(out, '"');
}

static void
put_value(struct buf *out, const char *metric, const struct service *s,
          const char *name)
{
	buf_addf(out, "stoker_%s{", metric);
	put_label(out, "tenant", s->tenant);
	put_label(out, ",service", s->name);
	if (name)
		put_label(out, ",name", name);
	buf_puts(out, "} ");
}

static void
put_shares(const struct service *s, const struct tree *t,
           const struct named_cost *all, size_t n, struct metrics *out)
{
	double whole = (double)t->total[0];

	put_value(out->samples, "function_cpu_samples", s, NULL);
	buf_addf(out->samples, "%lld\n", (long long)t->total_samples);
	for (size_t i = 0; i < n; i++) {
		const struct named_cost *k = &all[i];

		put_value(out->self, "function_cpu_self_ratio", s, k->name);
		buf_addf(out->self, "%.6g\n", (double)k->self / whole);
		put_value(out->total, "function_cpu_ratio", s, k->name);
		buf_addf(out->total, "%.6g\n", (double)k->total / whole);
	}
}

/* Reads the profile of the last minutes, if there is one. Returns 0, -ENODATA,
 * -errno, or 1 with the reply. */
static int
read_profile(struct call *c, const struct service *s, int64_t now,
             struct profile **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RANGE struct range r = {
		.store = &c->env->store,
		.tenant = s->tenant,
		.service = s->name,
		.type = "cpu",
		.host = "",
		.origin = "auto",
		.from_ms = now - SPAN_MS,
		.to_ms = now,
		.end_ns = c->end_ns,
		.peer = &c->req->peer_fd,
	};
	int rc = range_plan(&r);

	if (!rc && !r.n)
		rc = -ENODATA;
	if (rc)
		return rc;
	return call_go_on(c) || range_reads(c, &r)
	               ? 1
	               : range_merge(&r, out, &why);
}

/* Writes the shares of a service. Returns 0, -errno, or 1 with the reply. */
static int
put_service(struct call *c, const struct service *s, int64_t now,
            struct metrics *out)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_JSON json_t *names = json_loads(s->metrics, 0, NULL);
	struct named_cost all[SERVICE_MAX_METRICS] = {0};
	size_t n = 0, i;
	json_t *name;
	int rc = read_profile(c, s, now, &p);

	if (rc)
		return rc == -ENODATA ? 0 : rc;
	json_array_foreach(names, i, name)
		if (n < SERVICE_MAX_METRICS && json_is_string(name))
			all[n++].name = json_string_value(name);
	rc = tree_new(p, profile_type_index(p, NULL), &t)
	             ?: tree_named_cost(t, all, n);
	if (!rc && t->total[0] > 0)
		put_shares(s, t, all, n, out);
	return rc;
}

static void
put_metric(struct buf *out, const char *name, const char *help,
           const struct buf *values)
{
	metric_head(out, name, "gauge", help);
	buf_puts(out, buf_str(values));
}

/* Writes the shares of all services. A service whose profile cannot be read has
 * no values, and the log says why. */
static int
put_services(struct call *c, const struct service_list *list, int64_t now,
             struct metrics *out)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct service *s = &list->items[i];
		int rc = put_service(c, s, now, out);

		if (rc > 0)
			return rc;
		if (rc)
			buf_addf(&c->reply->cause, "%s: %s; ", s->name,
			         strerror(-rc));
	}
	return 0;
}

int
function_metrics_get(struct call *c)
{
	CLEANUP_SERVICES struct service_list list = {0};
	CLEANUP_BUF struct buf self = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf total = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf samples = BUF_INIT(BUF_MAX_REPLY);
	struct metrics m = {&self, &total, &samples};
	struct buf *out = &c->reply->body;
	/* A caller with a token sees its own tenant, as elsewhere. */
	const char *tenant = c->req->metrics_allowed ? "" : c->caller.tenant;
	int64_t now;
	int rc = store_now(&c->env->store, &now)
	                 ?: service_list_metrics(&c->env->store, tenant, &list);

	if (rc)
		return fail_store(c, rc);
	if (put_services(c, &list, now, &m))
		return -1;
	c->reply->status = c->route->status;
	c->reply->content_type = METRICS_CONTENT_TYPE;
	put_metric(out, "stoker_function_cpu_ratio",
	           "Share of a service's CPU time in a function or package and "
	           "what it calls.",
	           &total);
	put_metric(out, "stoker_function_cpu_self_ratio",
	           "Share of a service's CPU time in a function or package "
	           "itself.",
	           &self);
	put_metric(
		out, "stoker_function_cpu_samples",
		"Samples of a service from which these shares are calculated.",
		&samples);
	return 0;
}
