#include "pushed.h"

#include "base/clock.h"
#include "base/rows.h"
#include "store/service.h"

#include <errno.h>
#include <string.h>

/* Clients can't make a label with this prefix. */
#define VALUES_LABEL "__values__"

int
pushed_service(struct call *c, const char *name, const char *description)
{
	const struct service s = {
		.tenant = c->caller.tenant,
		.name = (char *)name,
		.kind = "auto",
		.host = "",
		.match_kind = "",
		.match_value = "",
		.pprof_url = "",
		.source = "auto",
		.allow = "{}",
		.labels = "{}",
		.description = (char *)description,
	};
	CLEANUP_SERVICE struct service known = {0};
	struct store *store = &c->env->store;
	int rc = service_get(store, c->caller.tenant, name, &known);

	if (rc != -ENOENT || !c->env->conf->upload_create_services)
		return rc;
	rc = service_add(store, &s);
	return rc == -EEXIST ? 0 : rc;
}

/* Makes "samples/count,cpu/nanoseconds". */
static json_t *
values_of(const struct profile *p)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(&b, "%s%s/%s", i ? "," : "",
		         profile_text(p, p->types[i].type),
		         profile_text(p, p->types[i].unit));
	return buf_err(&b) ? NULL : json_text(buf_str(&b));
}

char *
pushed_labels(const char *text, const struct profile *p)
{
	CLEANUP_JSON json_t *labels = json_loads(text, 0, NULL);

	if (!labels ||
	    json_object_set_new(labels, VALUES_LABEL,
	                        p ? values_of(p) : json_string("jfr")))
		return NULL;
	return json_dumps(labels, JSON_SORT_KEYS | JSON_COMPACT);
}

int
pushed_types(struct profile *p, const void *file, size_t n,
             const struct type *(*type_of)(const void *arg,
                                           const struct profile *p,
                                           uint32_t at),
             const void *arg, struct push_windows *out, struct buf *why)
{
	uint32_t seen = 0, shown = profile_type_index(p, NULL);
	int rc = 0;

	for (uint32_t i = 0; i < p->ntypes && !rc; i++) {
		const struct type *t = type_of(arg, p, i);
		bool as_is = file && i == shown;

		if (!t || seen & 1u << type_id(t))
			continue;
		seen |= 1u << type_id(t);
		p->default_type = p->types[i].type;
		rc = push_add(out, t->name, p, as_is ? file : NULL,
		              as_is ? n : 0);
		if (rc)
			buf_puts(why, "its values do not add up");
	}
	if (seen)
		return rc;
	buf_clear(why);
	buf_puts(why, "none of its values is of a known type");
	return -EBADMSG;
}

void
pushed_times(const struct taken *t, const struct profile *p,
             struct push_windows *w)
{
	int64_t length;

	taken_times(t, p, &w->start_ms, &length);
	if (!w->start_ms)
		w->start_ms = clock_wall_ms() - length;
	w->end_ms = w->start_ms + length;
}

/* --- any number of profiles ----------------------------------------------- */

void
pushed_list_done(struct pushed_list *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		free(l->parts[i].labels);
		push_windows_done(&l->windows[i]);
	}
	free(l->parts);
	free(l->windows);
}

static const struct type *
own_type(const void *arg, const struct profile *p, uint32_t at)
{
	(void)arg;
	return import_first_type(import_value_types(p, at, NULL));
}

int
pushed_add(struct pushed_list *l, const char *app, const char *labels,
           struct profile *p, struct buf *why)
{
	const struct taken taken = {0};
	struct push_windows *w;
	struct pushed_part *part;
	int rc = ROWS_ROOM_OF(l->parts, l->part_room, l->n, 1, l->most)
	                 ?: ROWS_ROOM_OF(l->windows, l->window_room, l->n, 1,
	                                 l->most);

	if (rc)
		return rc;
	part = &l->parts[l->n];
	w = &l->windows[l->n++];
	*part = (struct pushed_part){.labels = pushed_labels(labels, p)};
	snprintf(part->app, sizeof(part->app), "%s", app);
	*w = (struct push_windows){
		.tenant = l->c->caller.tenant,
		.labels = part->labels,
		.max_series = l->c->env->conf->upload_max_series,
	};
	if (!part->labels)
		return -ENOMEM;
	pushed_times(&taken, p, w);
	return pushed_types(p, NULL, 0, own_type, NULL, w, why);
}

int
pushed_store(struct pushed_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		l->windows[i].service = l->parts[i].app;
	return pushes_store(&l->c->env->pushes, &l->c->env->store, l->windows,
	                    l->n);
}
