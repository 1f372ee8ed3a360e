/*
 * Loads the types of services that are captured periodically.
 */
#include "base/clock.h"
#include "base/json.h"
#include "left_out.h"
#include "periodic_private.h"
#include "profile/types.h"
#include "store/allow.h"
#include "store/continuous.h"
#include "store/source.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

static void
periodic_done(const struct periodics *t, struct periodic *v)
{
	periodic_rest(t, v);
	periodic_forget(v);
	free(v->kept);
	free(v->tenant);
	free(v->service);
	free(v->url);
	*v = NO_PERIODIC;
}

static void
free_takes(const struct periodics *t, struct periodic *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		periodic_done(t, &items[i]);
	free(items);
}

void
periodics_done(struct periodics *t)
{
	free_takes(t, t->items, t->n);
	left_out_done(&t->left);
	t->items = NULL;
	t->n = 0;
}

static bool
same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static struct periodic *
same(struct periodics *t, const struct periodic *v)
{
	for (size_t i = 0; i < t->n; i++) {
		struct periodic *old = &t->items[i];

		if (old->type == v->type &&
		    same_text(old->service, v->service) &&
		    same_text(old->tenant, v->tenant) &&
		    same_text(old->url, v->url))
			return old;
	}
	return NULL;
}

/* True if this worker asks the service's endpoint: only one worker does. */
static bool
is_ours(const struct periodics *t, const struct service *s)
{
	CLEANUP_FREE char *host = NULL;

	return !worker_for(t->watches->store, s->tenant, s->name, s->host,
	                   &host) &&
	       !strcmp(host, t->watches->host);
}

/* Returns what to make the program count, if its service allows that. */
static uint32_t
keep_of(const struct periodic *v, const struct service *s)
{
	if (!v->grows || !allow_has(s, ALLOW_GO_PROFILE_RATES))
		return 0;
	return !strcmp(v->type, "block")   ? WORKER_MAY_KEEP_BLOCK
	       : !strcmp(v->type, "mutex") ? WORKER_MAY_KEEP_MUTEX
	                                   : 0;
}

static int
fill(struct periodics *t, const struct targets *targets,
     const struct service *s, size_t type, const char *url,
     struct periodic *out)
{
	const struct conf *conf = t->watches->conf;
	struct periodic v = NO_PERIODIC, *old;

	*out = NO_PERIODIC;
	v.type = profile_types[type].name;
	v.gauge = profile_types[type].gauge;
	v.grows = !v.gauge && !url;
	v.period_ns = (v.gauge ? conf->continuous_gauges
	                       : conf->continuous_counters) *
	              NS_PER_S;
	v.tenant = strdup(s->tenant);
	v.service = strdup(s->name);
	v.url = url ? strdup(url) : NULL;
	if (!v.tenant || !v.service || (url && !v.url)) {
		periodic_done(t, &v);
		return -ENOMEM;
	}
	old = same(t, &v);
	if (old) {
		periodic_done(t, &v);
		v = *old;
		*old = NO_PERIODIC;
	} else if (!v.grows) {
		v.next_ns = periodic_first_time(&v, clock_mono_ns());
	}
	v.ways = ways_all_the_time(service_ways_kind(s), v.type, v.gauge);
	v.java = allow_has(s, ALLOW_JAVA_PERF_MAP);
	v.keep = keep_of(&v, s);
	if (!v.keep)
		periodic_keep_end(t, &v);
	*out = v;
	return watches_series(t->watches, targets, s, v.type, out->series);
}

static int
add(struct periodics *t, const struct targets *targets, const struct service *s,
    size_t type, struct periodic *items, size_t *n)
{
	const char *name = profile_types[type].name;
	enum source source = source_of(s, name);
	const char *url = source == SOURCE_ENDPOINT ? s->pprof_url : NULL;

	if (!source || (!url && (watches_ways(service_ways_kind(s), name) ||
	                         !targets_find(targets, s->tenant, s->name))))
		return 0; /* sampled instead, reported by the API, or on
		             another host */
	if (url && !is_ours(t, s))
		return 0;
	if (*n == PERIODICS_MAX)
		return left_out_add(&t->left, s->tenant, s->name, name);
	return fill(t, targets, s, type, url, &items[(*n)++]);
}

static int
add_row(struct periodics *t, const struct targets *targets,
        const struct continuous *c, struct periodic *items, size_t *n)
{
	CLEANUP_SERVICE struct service s = {0};
	int rc = c->enabled ? service_get(t->watches->store, c->tenant,
	                                  c->service, &s)
	                    : -ENOENT;

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	for (size_t i = 0; i < profile_ntypes && !rc; i++)
		if (watches_wants(c, profile_types[i].name))
			rc = add(t, targets, &s, i, items, n);
	return rc;
}

int
periodics_load(struct periodics *t, const struct targets *targets)
{
	CLEANUP_CONTINUOUS_LIST struct continuous_list l = {0};
	struct periodic *items = calloc(PERIODICS_MAX, sizeof(*items));
	size_t n = 0;
	int rc = items ? continuous_list(t->watches->store, "", &l) : -ENOMEM;

	left_out_begin(&t->left);
	for (size_t i = 0; i < l.n && !rc; i++)
		rc = add_row(t, targets, &l.items[i], items, &n);
	/* the items that are left are no longer wanted */
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].service) {
			periodic_report(t, &t->items[i], CAPTURE_OK);
			periodic_keep_end(t, &t->items[i]);
		}
	free_takes(t, t->items, t->n);
	t->items = items;
	t->n = n;
	if (!rc)
		left_out_end(&t->left, t->watches);
	t->watches->others = n;
	t->watches->others_left_out = t->left.n;
	return rc;
}
