/*
 * Loads the services to watch: the rows of continuous that apply to this host.
 */
#include "base/json.h"
#include "left_out.h"
#include "profile/types.h"
#include "store/allow.h"
#include "store/block.h"
#include "store/source.h"
#include "watches_private.h"

#include <errno.h>
#include <string.h>

static void
watch_done(struct watch *v)
{
	free(v->tenant);
	free(v->service);
	*v = (struct watch){0};
}

static void
free_watches(struct watch *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		watch_done(&items[i]);
	free(items);
}

void
watches_done(struct watches *w)
{
	free_watches(w->items, w->n);
	left_out_done(&w->left);
	segment_close(&w->segment);
	close_ptr(&w->data);
	close_ptr(&w->rows);
	*w = (struct watches)WATCHES_INIT;
}

uint64_t
watches_ways(const char *service_kind, const char *type)
{
	return ways_of(
		ways_all_the_time(service_kind, type, type_is_gauge(type)),
		ENGINE_RECORDER);
}

bool
watches_wants(const struct continuous *c, const char *type)
{
	return c->enabled && continuous_has_type(c, type);
}

/* Returns the labels of new windows as text, in canonical form. */
static char *
labels_of(const struct target *t, const struct service *s)
{
	CLEANUP_JSON json_t *own = json_loads(s->labels, 0, NULL)
	                                   ?: json_object();
	CLEANUP_JSON json_t *all = json_copy(own);
	char *text;

	json_object_update_missing(all, t ? t->labels : NULL);
	text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
	if (text && strlen(text) < BLOCK_LABELS_MAX)
		return text;
	free(text);
	return json_dumps(own, JSON_SORT_KEYS | JSON_COMPACT);
}

int
watches_series(struct watches *w, const struct targets *targets,
               const struct service *s, const char *type,
               char out[static ID_MAX])
{
	CLEANUP_FREE char *text =
		labels_of(targets_find(targets, s->tenant, s->name), s);

	return text ? series_of(w->store, s->tenant, s->name, type, w->host,
	                        text, out)
	            : -ENOMEM;
}

static struct watch *
same(struct watches *w, const struct continuous *c, const struct watch *wanted)
{
	for (size_t i = 0; i < w->n; i++) {
		struct watch *v = &w->items[i];

		if (v->service && v->rate == c->sample_rate &&
		    v->type == wanted->type && v->ways == wanted->ways &&
		    v->threads == wanted->threads &&
		    !strcmp(v->service, c->service) &&
		    !strcmp(v->tenant, c->tenant))
			return v;
	}
	return NULL;
}

static int
add(struct watches *w, const struct targets *targets,
    const struct continuous *c, const struct service *s,
    const struct watch *wanted, struct watch *out)
{
	struct watch *old = same(w, c, wanted);
	int rc;

	if (old) {
		*out = *old;
		*old = (struct watch){0};
	} else {
		*out = *wanted;
		id_new("watch-", out->id);
		out->rate = c->sample_rate;
		out->tenant = strdup(c->tenant);
		out->service = strdup(c->service);
	}
	out->java = allow_has(s, ALLOW_JAVA_PERF_MAP);
	rc = out->tenant && out->service
	             ? watches_series(w, targets, s, out->type, out->series)
	             : -ENOMEM;
	return rc;
}

/* Adds a watch, unless the profiles are fetched from an endpoint, or programs
 * count the type themselves. */
static int
add_type(struct watches *w, const struct targets *targets,
         const struct continuous *c, const struct service *s, const char *type,
         struct watch *items, size_t *n)
{
	const struct watch wanted = {
		.type = type,
		.ways = watches_ways(service_ways_kind(s), type),
		.threads = allow_has(s, ALLOW_THREAD_NAMES)};

	if (!wanted.ways || source_of(s, type) != SOURCE_OUTSIDE)
		return 0;
	if (*n < WATCHES_MAX)
		return add(w, targets, c, s, &wanted, &items[(*n)++]);
	return left_out_add(&w->left, c->tenant, c->service, type);
}

static int
add_row(struct watches *w, const struct targets *targets,
        const struct continuous *c, struct watch *items, size_t *n)
{
	CLEANUP_SERVICE struct service s = {0};
	int rc = service_get(w->store, c->tenant, c->service, &s);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	for (size_t i = 0; i < profile_ntypes && !rc; i++)
		if (watches_wants(c, profile_types[i].name))
			rc = add_type(w, targets, c, &s, profile_types[i].name,
			              items, n);
	return rc;
}

static int
add_all(struct watches *w, const struct targets *targets,
        const struct continuous_list *l, struct watch *items, size_t *n)
{
	int rc = 0;

	left_out_begin(&w->left);
	for (size_t i = 0; i < l->n && !rc; i++) {
		const struct continuous *c = &l->items[i];

		if (targets_find(targets, c->tenant, c->service))
			rc = add_row(w, targets, c, items, n);
	}
	return rc;
}

int
watches_load(struct watches *w, const struct targets *targets)
{
	CLEANUP_CONTINUOUS_LIST struct continuous_list l = {0};
	struct watch *items = calloc(WATCHES_MAX, sizeof(*items));
	size_t n = 0;
	int rc = items ? continuous_list(w->store, "", &l) : -ENOMEM;

	if (!rc)
		rc = add_all(w, targets, &l, items, &n);
	/* the items that are left are no longer wanted */
	for (size_t i = 0; i < w->n; i++)
		if (w->items[i].service) {
			watches_report_watch(w, &w->items[i], CAPTURE_OK);
			watches_unwatch(w, &w->items[i]);
		}
	free_watches(w->items, w->n);
	w->items = items;
	w->n = n;
	if (!rc)
		left_out_end(&w->left, w);
	return rc;
}
