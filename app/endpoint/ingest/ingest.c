/*
 * POST /ingest, for pushes of Pyroscope's clients: a few seconds of one
 * application, in which each type becomes a window (store/window.h).
 *
 * A client expects 200 and ignores the body; it drops pushes that are refused.
 * jfr, trie and tree are refused.
 * Source: pkg/og/ingestion of grafana/pyroscope; upstream/remote of
 * grafana/pyroscope-go.
 */
#include "base/clock.h"
#include "endpoint/call/multipart.h"
#include "ingest_name.h"
#include "store/service.h"
#include "store_upload.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_RATE 100
#define CONFIG_MAX   ((size_t)64 << 10)
#define DAY_MS       (INT64_C(86400) * MS_PER_S)
#define OLDEST_DAYS  3650 /* more than any retentionDays */
#define LONGEST_DAYS 31   /* as for an upload: taken_times() */
/* Label of series with the same value types, since only these add up; clients
 * can't make a label with that prefix. */
#define VALUES_LABEL "__values__"

struct push {
	char app[INGEST_APP_MAX];
	struct buf labels, why;
	struct taken taken;
	struct part profile, config;
	const struct input *format;
	const char *type; /* end of the name; NULL: it has no type */
	bool lines;
	bool mutex; /* waits are for locks */
};

static void
push_done(struct push *p)
{
	buf_done(&p->labels);
	buf_done(&p->why);
}

/* Values of ?format=, and the readers. */
static const struct {
	const char *name, *input;
	bool lines; /* each line is one sample, without a count */
} formats_in[] = {
	{"pprof", "pprof", false},   {"groups", "folded", false},
	{"folded", "folded", false}, {"lines", "folded", true},
	{"", "folded", false},       {"speedscope", "speedscope", false},
};

/* The type of profile for each value type of a pprof file. */
static const struct {
	const char *sample, *type;
} samples[] = {
	{"cpu", "cpu"},
	{"inuse_space", "memory"},
	{"alloc_space", "alloc"},
	{"goroutine", "goroutine"},
	{"goroutines", "goroutine"},
};

/* ?units= of the formats that have no units. */
static const struct {
	const char *unit, *type;
} units[] = {
	{"samples", "cpu"},
	{"", "cpu"},
	{"bytes", "alloc"},
	{"goroutines", "goroutine"},
	{"lock_nanoseconds", "mutex"},
};

static int
read_format(struct call *c, struct push *p)
{
	const char *name = param_text(c, P_IngestProfile_format);

	if (!*name && multipart_is(c->req->content_type))
		name = "pprof";
	for (size_t i = 0; i < ARRAY_LEN(formats_in); i++) {
		if (strcmp(formats_in[i].name, name))
			continue;
		p->format = input_find(formats_in[i].input);
		p->lines = formats_in[i].lines;
		return 0;
	}
	detail_text(c, "format", name);
	return fail(c, UnsupportedMediaType,
	            "pprof, groups, folded, lines or speedscope");
}

static int
fail_time(struct call *c, const char *name, int64_t ms, const char *expected)
{
	char got[RFC3339_LEN];

	clock_format(ms, got);
	return fail_param(c, name, expected, got);
}

/* Refuses wrong times, so that a client with a wrong clock notices: old samples
 * would be past their retention, and future ones in no range. */
static int
check_time(struct call *c, enum param p, const char *name)
{
	int64_t ms = param_int(c, p), now = clock_wall_ms();

	if (!param_given(c, p) ||
	    (ms >= now - OLDEST_DAYS * DAY_MS && ms <= now + DAY_MS))
		return 0;
	return fail_time(c, name, ms,
	                 "a time of the last 3650 days, a day ahead at most");
}

static int
read_times(struct call *c, struct push *p)
{
	int64_t start = param_int(c, P_IngestProfile_from);
	int64_t end = param_int(c, P_IngestProfile_until);

	if (check_time(c, P_IngestProfile_from, "from") ||
	    check_time(c, P_IngestProfile_until, "until"))
		return -1;
	p->taken.started_ms = start;
	if (!start || !end)
		return 0;
	if (end < start || end - start > LONGEST_DAYS * DAY_MS)
		return fail_time(c, "until", end,
		                 "a time after from, by 31 days at most");
	p->taken.duration_ms = end - start;
	return 0;
}

static int
read_parts(struct call *c, struct push *p)
{
	const struct request *r = c->req;
	int rc;

	p->profile = (struct part){r->body, r->body_len};
	if (!multipart_is(r->content_type))
		return 0;
	rc = multipart_find(r->content_type, r->body, r->body_len, "profile",
	                    &p->profile);
	if (!rc)
		rc = multipart_find(r->content_type, r->body, r->body_len,
		                    "sample_type_config", &p->config);
	if (!rc && p->profile.p)
		return 0;
	return fail_param(c, "body", "a form with the field profile",
	                  "another one");
}

/* Reads the names that a client gives to values, which distinguish waits for
 * locks from others. */
static void
read_config(struct push *p)
{
	if (p->config.n < CONFIG_MAX)
		p->mutex = memmem(p->config.p ? p->config.p : "", p->config.n,
		                  "\"mutex_", strlen("\"mutex_"));
}

/* Reads the type from a name like shop.cpu, as clients without
 * labels send it. */
static int
read_type(struct call *c, struct push *p)
{
	CLEANUP_SERVICE struct service known = {0};
	size_t n;
	const char *type = ingest_type(p->app, &n);
	int rc = type ? service_get(&c->env->store, c->caller.tenant, p->app,
	                            &known)
	              : 0;

	if (!type || !rc)
		return 0; /* a service may have this name */
	if (rc != -ENOENT)
		return fail_store(c, rc);
	if (!*type) {
		detail_text(c, "reason", p->app + n + 1);
		return fail(c, IngestFailed, "no type of profile here");
	}
	p->app[n] = '\0';
	p->type = type;
	return 0;
}

static int
read_push(struct call *c, struct push *p)
{
	const char *name = param_text(c, P_IngestProfile_name);

	if (ingest_name(name, p->app, &p->labels) || !name_valid(p->app))
		return fail_param(c, "name", "app{label=value,...}", name);
	if (read_times(c, p) || read_type(c, p) || read_format(c, p) ||
	    read_parts(c, p))
		return -1;
	read_config(p);
	p->taken.service = p->app;
	p->taken.format = p->format->name;
	p->taken.rate = (double)param_int(c, P_IngestProfile_sampleRate);
	return 0;
}

/* Creates the service of a push, if the configuration allows it. */
static int
need_service(struct call *c, char *name)
{
	struct service s = {
		.tenant = c->caller.tenant,
		.name = name,
		.kind = "auto",
		.host = "",
		.match_kind = "",
		.match_value = "",
		.pprof_url = "",
		.source = "auto",
		.allow = "{}",
		.labels = "{}",
		.description = "Pushed to /ingest",
	};
	CLEANUP_SERVICE struct service known = {0};
	struct store *store = &c->env->store;
	int rc = service_get(store, c->caller.tenant, name, &known);

	if (rc == -ENOENT && c->env->conf->upload_create_services) {
		rc = service_add(store, &s);
		rc = rc == -EEXIST ? 0 : rc;
	}
	if (rc != -ENOENT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", name);
	return fail(c, UnknownService, name);
}

static int
refuse(struct call *c, int rc, const struct push *p)
{
	if (rc != -EBADMSG)
		return taken_refuse(c, rc, buf_str(&p->why));
	detail_text(c, "reason", buf_str(&p->why));
	return fail(c, IngestFailed, buf_str(&p->why));
}

/* Finds the types of the values in a file, by their names. */
static size_t
types_of(const struct push *p, const struct profile *made,
         const char *types[static ARRAY_LEN(samples) + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		if (profile_type_index(made, samples[i].sample) != PROFILE_NONE)
			types[n++] = samples[i].type;
	if (profile_type_index(made, "delay") != PROFILE_NONE)
		types[n++] = p->mutex ? "mutex" : "block";
	return n;
}

/* Makes "samples/count,cpu/nanoseconds". */
static json_t *
values_of(const struct profile *p)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(&b, "%s%s/%s", i ? "," : "",
		         strings_get(p->strings, p->types[i].type, NULL),
		         strings_get(p->strings, p->types[i].unit, NULL));
	return buf_err(&b) ? NULL : json_text(buf_str(&b));
}

/* Makes the labels of the series: the application's, and the value types. */
static char *
labels_of(const struct push *p, const struct profile *made)
{
	CLEANUP_JSON json_t *labels = json_loads(buf_str(&p->labels), 0, NULL);

	if (!labels ||
	    json_object_set_new(labels, VALUES_LABEL, values_of(made)))
		return NULL;
	return json_dumps(labels, JSON_SORT_KEYS | JSON_COMPACT);
}

static int
add_types(struct push *p, struct profile *made, struct push_windows *out)
{
	const char *types[ARRAY_LEN(samples) + 1];
	size_t n = types_of(p, made, types);
	int rc = n ? 0 : -EBADMSG;

	if (!n)
		buf_puts(&p->why, "none of its values is of a known type");
	for (size_t i = 0; i < n && !rc; i++) {
		import_set_type(made, types[i]);
		rc = push_add(out, types[i], made);
		if (rc)
			buf_puts(&p->why, "its values do not add up");
	}
	return rc;
}

/* Stores all pushed types durably, or none. */
static int
store_types(struct call *c, struct push *p, struct profile *made)
{
	CLEANUP_FREE char *labels = labels_of(p, made);
	CLEANUP_PUSH struct push_windows w = {
		.tenant = c->caller.tenant,
		.service = p->app,
		.labels = labels,
		.max_series = c->env->conf->upload_max_series,
	};
	int64_t length;
	int rc = labels ? add_types(p, made, &w) : -ENOMEM;

	if (rc)
		return refuse(c, rc, p);
	taken_times(&p->taken, made, &w.start_ms, &length);
	if (!w.start_ms)
		w.start_ms = clock_wall_ms() - length;
	w.end_ms = w.start_ms + length;
	if (call_begin(c))
		return -1;
	rc = pushes_store(&c->env->pushes, &c->env->store, &w);
	if (rc != -EDQUOT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", p->app);
	detail_int(c, "maxSeries", w.max_series);
	return fail(c, TooManyPushedSeries, p->app);
}

/* Returns the only type of formats whose values have no name. */
static const char *
type_of_units(const char *unit)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].unit, unit))
			return units[i].type;
	return "cpu";
}

static int
import(struct call *c, struct push *p, struct profile **out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(0);
	const struct import_ask ask = {
		.type = p->type ? p->type
	                        : type_of_units(
					  param_text(c, P_IngestProfile_units)),
		.content_type = "",
		.rate = p->taken.rate,
		.lines = p->lines,
		.deltas = true,
		.limits = taken_limits(c->env->conf),
	};
	int rc;

	p->mutex |= !strcmp(ask.type, "mutex");
	rc = import_inflate(p->profile.p, p->profile.n, &ask.limits, &raw,
	                    &p->why);

	if (!rc && raw.len)
		p->profile = (struct part){raw.p, raw.len};
	if (!rc)
		rc = p->format->read(p->profile.p, p->profile.n, &ask, out,
		                     &p->why);
	return rc;
}

int
ingest_post(struct call *c)
{
	CLEANUP(push_done)
	struct push p = {.labels = BUF_INIT(BUF_MAX_SMALL),
	                 .why = BUF_INIT(1024)};
	CLEANUP_PROFILE struct profile *made = NULL;
	int rc;

	if (read_push(c, &p))
		return -1;
	rc = import(c, &p, &made);
	if (rc)
		return refuse(c, rc, &p);
	if (need_service(c, p.app) || store_types(c, &p, made))
		return -1;
	return c->repeated ? 0 : answer_empty(c, c->route->status);
}
