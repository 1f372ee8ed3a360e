#include "collectors.h"

#include "base/json_out.h"
#include "host_figures.h"
#include "store/delivery.h"

#include <errno.h>
#include <string.h>

/* Returns what a worker publishes; NULL if it is gone or publishes nothing.
 * *all owns it. */
static const json_t *
published(const struct worker *w, json_t **all)
{
	*all = w->alive ? json_loads(w->capabilities, 0, NULL) : NULL;
	return json_object_get(*all, "collectors");
}

int
collectors_problems(const struct worker_list *workers, json_t **out)
{
	CLEANUP_JSON json_t *found = json_array();

	for (size_t i = 0; i < workers->n; i++) {
		CLEANUP_JSON json_t *all = NULL;
		const json_t *j = published(&workers->items[i], &all);
		json_t *p;
		size_t k;

		json_array_foreach(json_object_get(j, "problems"), k, p) {
			if (!json_is_object(p))
				continue;
			if (json_object_set_new(
				    p, "host",
				    json_string(workers->items[i].host)) ||
			    json_array_append(found, p))
				return -ENOMEM;
		}
	}
	if (!found)
		return -ENOMEM;
	*out = TAKE(found);
	return 0;
}

void
collectors_put(const json_t *problems, const struct service *s, struct buf *out)
{
	json_t *p;
	size_t i;

	json_open(out, "collectorProblems", '[');
	json_array_foreach(problems, i, p) {
		if (strcmp(json_member(p, "tenant"), s->tenant) != 0 ||
		    strcmp(json_member(p, "service"), s->name) != 0)
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "host", json_member(p, "host"));
		json_put_text(out, "message", json_member(p, "message"));
		json_put_time(out, "since",
		              json_integer_value(json_object_get(p, "since")));
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* --- metrics -------------------------------------------------------------- */

static bool
read_host(const struct worker *w, void *out)
{
	CLEANUP_JSON json_t *all = NULL;
	const json_t *j = published(w, &all);

	if (j)
		delivery_host_read(j, out);
	return j;
}

void
collectors_metrics(const struct worker_list *workers, struct buf *out)
{
	static const struct host_figure rows[] = {
#define DELIVERY_FIGURE(member, key, metric, kind, meaning) \
	{offsetof(struct delivery_host, member), #metric, #kind, meaning},
#include "store/delivery_host.def"
	};
	static const struct host_figures figures = {
		"stoker_collector", rows, ARRAY_LEN(rows),
		sizeof(struct delivery_host), read_host};

	host_figures_put(workers, &figures, out);
}
