/* Carries out the centre's orders, which are untrusted. */
#include "agent_parts.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "store/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICES_MAX  10000
#define VALUE_MAX     4096
#define TYPES_MAX     16
#define POLL_MIN_MS   100
#define POLL_MOST_MS  60000
#define LEASE_MIN_MS  2000
#define LEASE_MOST_MS 3600000
#define BYTES_MIN     (INT64_C(1) << 16)

/* Returns a text; NULL if it is too long, or has control characters other than
 * line feeds and tabs. */
static const char *
text_of(const json_t *j, const char *name, size_t max)
{
	const char *s = json_string_value(json_object_get(j, name));

	if (!s || strlen(s) > max)
		return NULL;
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
			return NULL;
	return s;
}

/* Returns a number, or the nearer bound if it is out of bounds. */
static int64_t
number_of(const json_t *j, const char *name, int64_t min, int64_t max)
{
	int64_t n = json_integer_value(json_object_get(j, name));

	return n < min ? min : n > max ? max : n;
}

/* --- services ------------------------------------------------------------- */

static char *
copy_text(const json_t *j, const char *name)
{
	const char *s = text_of(j, name, VALUE_MAX);

	return s ? strdup(s) : NULL;
}

static char *
copy_object(const json_t *j, const char *name)
{
	const json_t *v = json_object_get(j, name);

	return json_is_object(v) ? json_dumps(v, JSON_COMPACT) : NULL;
}

static bool
is_name(const char *s)
{
	return s && id_valid("", s);
}

/* Returns false if a member is missing; *out owns its strings in any case. */
static bool
read_service(const json_t *j, struct service *out)
{
	*out = (struct service){
		.tenant = copy_text(j, "tenant"),
		.name = copy_text(j, "name"),
		.kind = copy_text(j, "kind"),
		.host = copy_text(j, "host"),
		.match_kind = copy_text(j, "matchKind"),
		.match_value = copy_text(j, "matchValue"),
		.pprof_url = copy_text(j, "pprofUrl"),
		.source = copy_text(j, "source"),
		.allow = copy_object(j, "allow"),
		.labels = copy_object(j, "labels"),
		.description = copy_text(j, "description"),
		/* an earlier release of the centre sends none */
		.collector = copy_text(j, "collector"),
	};
	return is_name(out->tenant) && is_name(out->name) && out->kind &&
	       out->host && out->match_kind && out->match_value &&
	       out->pprof_url && out->source && out->allow && out->labels &&
	       out->description;
}

static bool
is_types(const json_t *list)
{
	size_t i;
	json_t *v;

	if (!json_is_array(list) || json_array_size(list) > TYPES_MAX)
		return false;
	json_array_foreach(list, i, v) {
		if (!is_name(json_string_value(v)))
			return false;
	}
	return true;
}

/* Reads a service's continuous profiling; *out borrows its tenant and name,
 * and has no types if there is none. Returns false if it is malformed. */
static bool
read_continuous(const json_t *service, const struct service *v,
                struct continuous *out)
{
	const json_t *j = json_object_get(service, "continuous");
	const json_t *types = json_object_get(j, "types");

	*out = (struct continuous){0};
	if (!types)
		return true; /* none, or the centre runs an older release */
	if (!is_types(types))
		return false;
	*out = (struct continuous){
		.tenant = v->tenant,
		.service = v->name,
		.types = json_dumps(types, JSON_COMPACT),
		.created_by = "centre",
		.sample_rate = number_of(j, "sampleRate", 1, 1000),
		.retention_days = number_of(j, "retentionDays", 0, 3650),
		.enabled = json_is_true(json_object_get(j, "enabled")),
	};
	return out->types;
}

struct settings {
	struct continuous *items;
	size_t n;
};

static void
settings_done(struct settings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].types);
	free(s->items);
}

static int
take_services(struct agent *a, const json_t *reply)
{
	CLEANUP(settings_done) struct settings on = {0};
	CLEANUP_SERVICES struct service_list l = {0};
	const json_t *list = json_object_get(reply, "services");
	const char *generation =
		text_of(reply, "generation", AGENT_GENERATIONS - 1);
	size_t i, n = json_array_size(list);
	json_t *j;
	int rc;

	if (!json_is_true(json_object_get(reply, "changed")))
		return 0;
	if (!json_is_array(list) || n > SERVICES_MAX || !generation)
		return -EBADMSG;
	l.items = calloc(n + 1, sizeof(*l.items));
	on.items = calloc(n + 1, sizeof(*on.items));
	if (!l.items || !on.items)
		return -ENOMEM;
	json_array_foreach(list, i, j) {
		struct service *v = &l.items[l.n++];

		if (!read_service(j, v) ||
		    !read_continuous(j, v, &on.items[on.n++]))
			return -EBADMSG;
	}
	rc = agent_services_put(a->store, &l, on.items);
	if (rc)
		return rc;
	snprintf(a->generation, sizeof(a->generation), "%s", generation);
	a->processes = 0; /* the centre has no rows of a new service */
	a->changed = true;
	return 0;
}

/* --- jobs ----------------------------------------------------------------- */

static bool
read_job(const json_t *j, struct agent_job *out)
{
	*out = (struct agent_job){
		.session = (char *)text_of(j, "sessionId", ID_MAX - 1),
		.tenant = (char *)text_of(j, "tenant", STORE_TENANT_MAX - 1),
		.service = (char *)text_of(j, "service", STORE_NAME_MAX - 1),
		.type = (char *)text_of(j, "profileType", 32),
		.origin = (char *)text_of(j, "origin", 16),
		.created_by = (char *)text_of(j, "createdBy", VALUE_MAX),
		.labels = copy_object(j, "labels"),
		.attempt = number_of(j, "attempt", 0, INT32_MAX),
		.ordinal = number_of(j, "ordinal", -1, INT32_MAX),
		.asked_seconds = number_of(j, "durationSeconds", 0, INT32_MAX),
		.asked_rate = number_of(j, "sampleRate", 0, INT32_MAX),
	};
	return out->session && id_valid(SESSION_PREFIX, out->session) &&
	       is_name(out->tenant) && is_name(out->service) && out->type &&
	       out->origin && out->created_by && out->labels && out->attempt &&
	       (!strcmp(out->origin, SESSION_CAPTURE) ||
	        !strcmp(out->origin, SESSION_SAMPLY));
}

/* Takes a job. If that fails, the next poll's reply offers the job again. */
static int
take_job(struct agent *a, const json_t *j)
{
	struct agent_job job;
	int rc = read_job(j, &job) ? 0 : -EBADMSG;

	if (!rc)
		rc = agent_take(a->store, a->host, &job);
	if (rc == -ENOENT) { /* this host lacks its service */
		log_warn("centre: %s: no service '%s' here", job.session,
		         job.service);
		a->generation[0] = '\0';
	} else if (rc == -EEXIST) {
		log_info("centre: %s waits for a capture of '%s'", job.session,
		         job.service);
	} else if (!rc) {
		log_info("centre: %s: %s of '%s', attempt %lld", job.session,
		         job.type, job.service, (long long)job.attempt);
		a->changed = a->holds = true;
	}
	free(job.labels);
	return rc == -ENOENT || rc == -EEXIST ? 0 : rc;
}

static int
take_jobs(struct agent *a, const json_t *reply)
{
	const json_t *list = json_object_get(reply, "jobs");
	size_t i;
	json_t *j;
	int rc = json_is_array(list) ? 0 : -EBADMSG;

	json_array_foreach(list, i, j) {
		if (rc || i == AGENT_JOBS_MAX)
			break;
		rc = take_job(a, j);
	}
	return rc;
}

static const struct agent_held *
find_held(const struct agent_held_list *l, const char *session)
{
	for (size_t i = 0; session && i < l->n; i++)
		if (!strcmp(l->items[i].session, session))
			return &l->items[i];
	return NULL;
}

static int
cancel(struct agent *a, const struct agent_held *h)
{
	int rc = job_cancel(a->store, h->tenant, h->session);

	if (!rc)
		log_info("centre: %s is cancelled", h->session);
	return rc == -ENOENT || rc == -EALREADY ? 0 : rc;
}

static int
complete(struct agent *a, const struct agent_held *h)
{
	int rc = job_complete(a->store, h->tenant, h->session);

	if (!rc)
		log_info("centre: %s is to end now", h->session);
	return rc == -ENOENT || rc == -EALREADY ? 0 : rc;
}

static int
drop(struct agent *a, const struct agent_held *h)
{
	log_warn("centre: %s is no longer wanted", h->session);
	return agent_drop(a->store, h->tenant, h->session);
}

/* Calls a function for each listed session that this host holds. A centre of an
 * earlier release does not send the list "complete". */
static int
each_held(struct agent *a, const json_t *reply, const char *name,
          int (*fn)(struct agent *a, const struct agent_held *h))
{
	CLEANUP_HELD struct agent_held_list l = {0};
	const json_t *list = json_object_get(reply, name);
	size_t i;
	json_t *j;
	int rc = json_is_array(list) || (!list && fn == complete) ? 0
	                                                          : -EBADMSG;

	if (rc || !json_array_size(list))
		return rc;
	rc = agent_held(a->store, &l);
	json_array_foreach(list, i, j) {
		const struct agent_held *h =
			find_held(&l, json_string_value(j));

		if (h && !rc) {
			rc = fn(a, h);
			a->changed = true;
		}
	}
	return rc;
}

/* --- the reply ------------------------------------------------------------ */

static int
take_look(struct agent *a, const json_t *reply)
{
	int64_t look = json_integer_value(json_object_get(reply, "look"));
	int rc;

	if (look <= 0 || look == a->look || look == a->looked)
		return 0;
	rc = worker_look_ask(a->store, a->host, &a->look_ms);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	a->look = look;
	a->changed = true;
	return 0;
}

/* Compares the clocks. A centre of an earlier release sends no time. */
static void
take_clock(struct agent *a, const json_t *reply)
{
	int64_t ms = json_integer_value(json_object_get(reply, "nowMs"));

	a->clock_ms = ms > 0 ? clock_ahead(a->asked_ms, ms, clock_wall_ms())
	                     : 0;
}

int
agent_take_orders(struct agent *a, const char *text, size_t n,
                  int64_t *out_poll_ms)
{
	CLEANUP_JSON json_t *reply =
		json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	int rc = json_is_object(reply) ? 0 : -EBADMSG;

	if (!rc)
		rc = take_services(a, reply) ?: take_jobs(a, reply);
	if (!rc)
		rc = each_held(a, reply, "cancel", cancel)
		             ?: each_held(a, reply, "complete", complete)
		             ?: each_held(a, reply, "stale", drop)
		             ?: take_look(a, reply);
	if (rc)
		return rc;
	take_clock(a, reply);
	a->lease_ms = number_of(reply, "leaseMs", LEASE_MIN_MS, LEASE_MOST_MS);
	a->max_bytes = number_of(reply, "maxBytes", BYTES_MIN, BLOB_MAX_BYTES);
	*out_poll_ms = number_of(reply, "pollMs", POLL_MIN_MS, POLL_MOST_MS);
	return 0;
}
