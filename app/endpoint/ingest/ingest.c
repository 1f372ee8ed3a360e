/*
 * POST /ingest, for pushes of Pyroscope's clients: a few seconds of one
 * application, in which each type becomes a window (store/window.h).
 *
 * A client expects 200 and ignores the body; it drops pushes that are refused.
 * The formats trie and tree are refused. Source: pkg/og/ingestion of
 * grafana/pyroscope; upstream/remote of grafana/pyroscope-go.
 */
#include "base/clock.h"
#include "base/json.h"
#include "endpoint/call/multipart.h"
#include "ingest_name.h"
#include "profile/gzip.h"
#include "pushed.h"
#include "store/service.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_RATE 100
#define CONFIG_MAX   ((size_t)64 << 10)
#define DAY_MS       (INT64_C(86400) * MS_PER_S)
#define OLDEST_DAYS  3650 /* more than any retentionDays */
#define LONGEST_DAYS 31   /* as for an upload: taken_times() */
struct push {
	char app[INGEST_APP_MAX];
	struct buf labels, why;
	struct buf raw; /* the profile, if it was compressed */
	json_t *names;  /* of values, from sample_type_config; NULL: none */
	struct taken taken;
	struct part profile, config;
	struct part sent; /* the profile, if it can be stored as it came */
	const struct input *format;
	const char *type; /* end of the name; NULL: it has no type */
	bool lines;
	struct profile *made; /* of a recording, the first one */
	struct push_windows windows;
};

static void
push_done(struct push *p)
{
	profile_free(p->made);
	push_windows_done(&p->windows);
	buf_done(&p->labels);
	buf_done(&p->why);
	buf_done(&p->raw);
	json_decref(p->names);
}

/* Values of ?format=, and the readers. */
static const struct {
	const char *name, *input;
	bool lines; /* each line is one sample, without a count */
} formats_in[] = {
	{"pprof", "pprof", false},   {"groups", "folded", false},
	{"folded", "folded", false}, {"lines", "folded", true},
	{"", "folded", false},       {"speedscope", "speedscope", false},
	{"jfr", "jfr", false},
};

/*
 * Types by ?units=, for formats whose values have no name. Other units fit no
 * type. Bytes that are averaged over time are bytes in use.
 */
static const struct {
	const char *unit, *aggregation, *type;
} units[] = {
	{"samples", NULL, "cpu"},          {"", NULL, ""},
	{"bytes", "average", "memory"},    {"bytes", NULL, "alloc"},
	{"goroutines", NULL, "goroutine"}, {"lock_nanoseconds", NULL, "mutex"},
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
	            "pprof, groups, folded, lines, speedscope or jfr");
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

/* True for a file of several types, which is read once for each. */
static bool
is_recording(const struct push *p)
{
	return !strcmp(p->format->name, "jfr");
}

/* Finds the parts of a form. Clients for Java name the profile jfr. */
static int
read_parts(struct call *c, struct push *p)
{
	const struct request *r = c->req;
	int rc;

	p->profile = (struct part){r->body, r->body_len};
	if (!multipart_is(r->content_type))
		return 0;
	rc = multipart_find(r->content_type, r->body, r->body_len,
	                    is_recording(p) ? "jfr" : "profile", &p->profile);
	if (!rc)
		rc = multipart_find(r->content_type, r->body, r->body_len,
		                    "sample_type_config", &p->config);
	if (!rc && p->profile.p)
		return 0;
	return fail_param(c, "body",
	                  "a form with the field profile or, of "
	                  "format jfr, jfr",
	                  "another one");
}

/* Reads the names that a client gives to values. */
static void
read_config(struct push *p)
{
	if (p->config.p && p->config.n < CONFIG_MAX)
		p->names = json_loadb(p->config.p, p->config.n, 0, NULL);
}

/* Reads the type from a name like shop.cpu, as clients without labels send
 * it. */
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
	p->taken.rate = (double)param_int(c, P_IngestProfile_sampleRate);
	return 0;
}

static int
refuse(struct call *c, int rc, const struct push *p)
{
	if (rc != -EBADMSG)
		return taken_refuse(c, rc, buf_str(&p->why));
	detail_text(c, "reason", buf_str(&p->why));
	return fail(c, IngestFailed, buf_str(&p->why));
}

/* Returns the name that a client gives to a value, or NULL. */
static const char *
given_name(const struct push *p, const struct profile *made, uint32_t at)
{
	const char *name = profile_text(made, made->types[at].type);

	return json_string_value(json_object_get(
		json_object_get(p->names, name), "display-name"));
}

/* Finds the type of a value. Returns NULL if it fits none. */
static const struct type *
type_of(const void *arg, const struct profile *made, uint32_t at)
{
	const struct push *p = arg;
	const char *name = given_name(p, made, at);
	const struct type *t = p->type ? type_find(p->type) : NULL;
	uint32_t types = name ? import_value_types(made, at, name) : 0;

	types = types ? types : import_value_types(made, at, NULL);
	return t && types & 1u << type_id(t) ? t : import_first_type(types);
}

static struct import_ask
ask_of(struct call *c, const struct push *p)
{
	return (struct import_ask){
		.type = p->type && !is_recording(p) ? p->type : "",
		.format = p->format->name,
		.content_type = "",
		.rate = p->taken.rate,
		.lines = p->lines,
		.deltas = true,
		.limits = taken_limits(c),
	};
}

/* Takes a profile of a push. Each type of a recording is a window. */
static int
take(void *arg, const struct importer_part *of, struct profile **made)
{
	struct push *p = arg;
	/* Only a recording has several. */
	int rc = !of->type && p->made ? -EOWNERDEAD
	         : of->type
	                 ? push_add(&p->windows, of->type->name, *made, NULL, 0)
	                 : 0;

	if (!rc && !p->made)
		p->made = TAKE(*made);
	return rc;
}

/* Reads the profile: pprof, which every stored profile is, at once, and other
 * formats in an importer. */
static int
read_profile(struct call *c, struct push *p)
{
	bool as_is = false;
	struct import_ask ask = ask_of(c, p);
	int rc = -ENOTSUP;

	if (!strcmp(p->format->name, "pprof")) {
		ask.as_is = &as_is;
		ask.no_patterns = true;
		rc = p->format->read(p->profile.p, p->profile.n, &ask, &p->made,
		                     &p->why);
	}
	if (rc || !as_is)
		p->sent = (struct part){0};
	if (rc != -ENOTSUP)
		return rc;
	ask.as_is = NULL;
	rc = taken_read(c, IMPORTER_PUSH, &ask, &p->profile, take, p, &p->why);
	return rc ? rc : p->made ? 0 : -EOWNERDEAD;
}

/* Stores all pushed types durably, or none. */
static int
store_types(struct call *c, struct push *p)
{
	CLEANUP_FREE char *labels = pushed_labels(
		buf_str(&p->labels), is_recording(p) ? NULL : p->made);
	struct push_windows *w = &p->windows;
	int rc = !labels           ? -ENOMEM
	         : is_recording(p) ? 0
	                           : pushed_types(p->made, p->sent.p, p->sent.n,
	                                          type_of, p, w, &p->why);

	if (rc)
		return refuse(c, rc, p);
	rc = pushed_service(c, p->app, "Pushed to /ingest");
	if (rc) {
		detail_text(c, "service", p->app);
		return rc == -ENOENT ? fail(c, UnknownService, p->app)
		                     : fail_store(c, rc);
	}
	pushed_times(&p->taken, p->made, w);
	w->tenant = c->caller.tenant;
	w->service = p->app;
	w->labels = labels;
	w->max_series = c->env->conf->upload_max_series;
	if (call_begin(c))
		return -1;
	rc = pushes_store(&c->env->pushes, &c->env->store, w, 1) ?: w->refused;
	if (rc != -EDQUOT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", p->app);
	detail_int(c, "maxSeries", w->max_series);
	return fail(c, TooManyPushedSeries, p->app);
}

/* Returns the type of values without a name: "" if the unit in the file
 * decides, NULL if no type has this unit. */
static const char *
type_of_units(const char *unit, const char *aggregation)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].unit, unit) &&
		    (!units[i].aggregation ||
		     !strcmp(units[i].aggregation, aggregation)))
			return units[i].type;
	return NULL;
}

/* Sets the type of values without a name. */
static int
set_type(struct call *c, struct push *p)
{
	const char *unit = param_text(c, P_IngestProfile_units);

	if (!p->type)
		p->type = type_of_units(
			unit, param_text(c, P_IngestProfile_aggregationType));
	if (p->type || !strcmp(p->format->name, "pprof") || is_recording(p))
		return 0;
	buf_addf(&p->why, "no type of profile counts %s", unit);
	return -EBADMSG;
}

static int
import(struct call *c, struct push *p)
{
	const struct import_limits limits = taken_limits(c);
	const struct input *looks = NULL;
	int rc = import_inflate(p->profile.p, p->profile.n, &limits, &p->raw,
	                        &p->why);

	if (rc)
		return rc;
	if (gzip_is(p->profile.p, p->profile.n))
		p->sent = p->profile;
	if (p->raw.len)
		p->profile = (struct part){p->raw.p, p->raw.len};
	if (!*param_text(c, P_IngestProfile_format))
		looks = input_detect(p->profile.p, p->profile.n);
	p->format = looks ? looks : p->format;
	p->taken.format = p->format->name;
	rc = set_type(c, p) ?: read_profile(c, p);
	if (rc == -EBADMSG)
		looks = input_detect(p->profile.p, p->profile.n);
	if (rc == -EBADMSG && looks && looks != p->format)
		buf_addf(&p->why, "; its format looks like %s, not %s",
		         looks->name, p->format->name);
	return rc;
}

int
ingest_post(struct call *c)
{
	CLEANUP(push_done)
	struct push p = {.labels = BUF_INIT(BUF_MAX_SMALL),
	                 .why = BUF_INIT(1024)};
	int rc;

	if (read_push(c, &p))
		return -1;
	rc = import(c, &p);
	if (rc)
		return refuse(c, rc, &p);
	if (store_types(c, &p))
		return -1;
	return c->repeated ? 0 : answer_empty(c, c->route->status);
}
