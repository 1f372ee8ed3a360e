#include "continuous_state.h"

#include "store/source.h"

#include <errno.h>
#include <string.h>

/* Numbers that a worker tells, and what they are called in metrics. */
static const struct {
	const char *name, *metric, *kind, *help;
} numbers[] = {
	{"windowSeconds", "window_seconds", "gauge",
         "How long a window of CPU samples is."},
	{"watched", "watched", "gauge", "Services whose CPU is sampled."},
	{"taken", "taken", "gauge", "Other types of services that are taken."},
	{"leftOut", "left_out", "gauge",
         "Services beyond what one worker takes."},
	{"stored", "windows_stored_total", "counter", "Windows stored."},
	{"dropped", "windows_dropped_total", "counter",
         "Windows made and not kept."},
	{"widened", "windows_widened_total", "counter",
         "Windows that are wider than asked: cut late, or a turn failed."},
	{"refused", "windows_refused_total", "counter",
         "Windows not made because the disk is nearly full."},
	{"gaps", "gaps_total", "counter",
         "Windows not made for another reason."},
};

static const char *const states[] = {"idle", "running", "behind", "refused"};

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
	int rc = worker_list(s, &v.workers)
	                 ?: continuous_problem_list(s, tenant, service,
	                                            &v.problems);

	if (rc)
		return rc;
	*out = v;
	v = (struct continuous_view){0};
	return 0;
}

json_t *
continuous_of_worker(const struct worker *w)
{
	CLEANUP_JSON json_t *all = json_loads(w->capabilities, 0, NULL);

	return w->alive ? json_incref(json_object_get(all, "continuous"))
	                : NULL;
}

static const char *
state_of(const json_t *j)
{
	const char *state = json_string_value(json_object_get(j, "state"));

	return state ? state : "";
}

/* --- replies ---------------------------------------------------------------
 */

static void
put_unsupported(const struct continuous *c, const struct service *s,
                struct buf *out)
{
	CLEANUP_JSON json_t *types = json_loads(c->types, 0, NULL);
	size_t i;
	json_t *type;

	json_open(out, "unsupported", '[');
	json_array_foreach(types, i, type) {
		const char *name = json_string_value(type);

		if (!name || source_of(s, name))
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "profileType", name);
		json_put_text(out, "missing", source_missing(s, name));
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_failing(const struct continuous_view *v, const struct continuous *c,
            struct buf *out)
{
	json_open(out, "failing", '[');
	for (size_t i = 0; i < v->problems.n; i++) {
		const struct continuous_problem *p = &v->problems.items[i];

		if (strcmp(p->service, c->service) != 0)
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
put_host(const char *host, const json_t *j, struct buf *out)
{
	json_open(out, NULL, '{');
	json_put_text(out, "host", host);
	json_put_text(out, "state", state_of(j));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		json_put_int(out, numbers[i].name,
		             json_integer_value(
				     json_object_get(j, numbers[i].name)));
	json_close(out, '}');
}

static void
put_hosts(const struct continuous_view *v, const struct service *s,
          struct buf *out)
{
	json_open(out, "hosts", '[');
	for (size_t i = 0; i < v->workers.n; i++) {
		const struct worker *w = &v->workers.items[i];
		CLEANUP_JSON json_t *j = continuous_of_worker(w);

		if (j && (!*s->host || !strcmp(s->host, w->host)))
			put_host(w->host, j, out);
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

/* --- metrics ---------------------------------------------------------------
 */

static void
write_states(const char *host, const json_t *j, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		buf_addf(out,
		         "stoker_continuous_state{host=\"%s\",state=\"%s\"} "
		         "%d\n",
		         host, states[i], !strcmp(states[i], state_of(j)));
}

/* row: of numbers; past them: the state. */
static void
write_metric(const struct worker_list *workers, size_t row, struct buf *out)
{
	for (size_t i = 0; i < workers->n; i++) {
		const struct worker *w = &workers->items[i];
		CLEANUP_JSON json_t *j = continuous_of_worker(w);

		if (!j)
			continue;
		if (row == ARRAY_LEN(numbers))
			write_states(w->host, j, out);
		else
			buf_addf(out,
			         "stoker_continuous_%s{host=\"%s\"} %lld\n",
			         numbers[row].metric, w->host,
			         (long long)json_integer_value(json_object_get(
					 j, numbers[row].name)));
	}
}

void
continuous_metrics(const struct worker_list *workers, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		buf_addf(out,
		         "# HELP stoker_continuous_%s %s\n"
		         "# TYPE stoker_continuous_%s %s\n",
		         numbers[i].metric, numbers[i].help, numbers[i].metric,
		         numbers[i].kind);
		write_metric(workers, i, out);
	}
	buf_puts(out, "# HELP stoker_continuous_state What continuous "
	              "profiling does on a host.\n"
	              "# TYPE stoker_continuous_state gauge\n");
	write_metric(workers, ARRAY_LEN(numbers), out);
}
