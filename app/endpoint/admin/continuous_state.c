#include "continuous_state.h"

#include "endpoint/call.h"
#include "host_figures.h"

#include "store/source.h"

#include <errno.h>
#include <string.h>

void
continuous_view_done(struct continuous_view *v)
{
	worker_list_done(&v->workers);
	continuous_problem_list_done(&v->problems);
}

int
continuous_view(struct store *s, const char *tenant, const char *service,
                struct continuous_view *out)
{
	CLEANUP_CONTINUOUS_VIEW struct continuous_view v = {0};
	int rc = worker_list(s, tenant, &v.workers)
	                 ?: continuous_problem_list(s, tenant, service,
	                                            &v.problems);

	if (rc)
		return rc;
	*out = TAKE(v);
	return 0;
}

/* Reads the state that a worker publishes; false if the worker is gone or
 * publishes none. */
static bool
read_host(const struct worker *w, void *out)
{
	CLEANUP_JSON json_t *all = json_loads(w->capabilities, 0, NULL);
	const json_t *j = json_object_get(all, "continuous");

	if (!w->alive || !j)
		return false;
	continuous_host_read(j, out);
	return true;
}

/* --- replies -------------------------------------------------------------- */

static void
put_unsupported(const struct continuous *c, const struct service *s,
                struct buf *out)
{
	CLEANUP_JSON json_t *types = json_loads(c->types, 0, NULL);
	size_t i;
	json_t *type;

	json_open(out, "unsupported", '[');
	json_array_foreach(types, i, type) {
		CLEANUP_BUF struct buf fix = BUF_INIT(BUF_MAX_SMALL);
		const char *name = json_string_value(type);

		if (!name || source_of(s, name))
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "profileType", name);
		json_put_text(out, "missing", source_missing(s, name));
		source_fix(s, name, &fix);
		json_put_text(out, "fix", buf_str(&fix));
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Leaves out failures of types that are no longer taken. */
static void
put_failing(const struct continuous_view *v, const struct continuous *c,
            struct buf *out)
{
	json_open(out, "failing", '[');
	for (size_t i = 0; i < v->problems.n; i++) {
		const struct continuous_problem *p = &v->problems.items[i];

		if (strcmp(p->service, c->service) != 0 ||
		    !continuous_has_type(c, p->type))
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "profileType", p->type);
		json_put_text(out, "host", p->host);
		json_put_text(out, "error_code", p->code);
		json_put_text(out, "message", p->message);
		json_put_time(out, "since", p->since_ms);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_hosts(const struct continuous_view *v, const struct service *s,
          struct buf *out)
{
	struct continuous_host h;

	json_open(out, "hosts", '[');
	for (size_t i = 0; i < v->workers.n; i++) {
		const struct worker *w = &v->workers.items[i];

		if ((*s->host && strcmp(s->host, w->host) != 0) ||
		    !read_host(w, &h))
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "host", w->host);
		continuous_host_put(&h, out);
		json_close(out, '}');
	}
	json_close(out, ']');
}

int
continuous_view_put(struct store *s, const struct continuous_view *v,
                    const struct continuous *c, struct buf *out)
{
	CLEANUP_SERVICE struct service service = {0};
	int rc = service_get(s, c->tenant, c->service, &service);

	if (rc)
		return rc;
	put_unsupported(c, &service, out);
	put_failing(v, c, out);
	put_hosts(v, &service, out);
	return 0;
}

/* --- metrics -------------------------------------------------------------- */

static void
write_states(const struct worker_list *workers, struct buf *out)
{
	struct continuous_host h;

	metric_head(out, "stoker_continuous_state", "gauge",
	            "State of continuous profiling on a host.");
	for (size_t i = 0; i < workers->n; i++) {
		const struct worker *w = &workers->items[i];

		if (!read_host(w, &h))
			continue;
		for (size_t k = 0; k < CONTINUOUS_HOST_STATES; k++)
			buf_addf(out,
			         "stoker_continuous_state{host=\"%s\","
			         "state=\"%s\"} %d\n",
			         w->host, continuous_host_state_name(k),
			         k == h.state);
	}
}

void
continuous_metrics(const struct worker_list *workers, struct buf *out)
{
	static const struct host_figure rows[] = {
#define HOST_FIGURE(member, key, metric, kind, meaning) \
	{offsetof(struct continuous_host, member), #metric, #kind, meaning},
#include "store/continuous_host.def"
	};
	static const struct host_figures figures = {
		"stoker_continuous", rows, ARRAY_LEN(rows),
		sizeof(struct continuous_host), read_host};

	host_figures_put(workers, &figures, out);
	write_states(workers, out);
}
