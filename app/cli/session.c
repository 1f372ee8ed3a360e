/* stoker sessions: lists profiles. */
#include "session.h"

#include "table.h"

#include <string.h>

void
session_path(struct buf *out, const char *rest, const char *id)
{
	buf_addf(out, PROFILING "%s/", rest);
	url_escape(out, id);
}

void
session_filter(const struct cli *c, struct buf *out)
{
	query_add(out, "service", c->opt.service);
	query_add(out, "profileType", c->opt.type);
}

int
session_ask(struct cli *c, const char *id, struct http_reply *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	session_path(&path, "/sessions", id);
	return ask(c, "GET", buf_str(&path), NULL, out);
}

static const char *
failure_of(const json_t *p)
{
	return json_member(json_object_get(p, "error"), "message");
}

static void
put_result(const json_t *p, bool is_short, struct buf *out)
{
	const char *status = json_member(p, "status"),
		   *phase = json_member(p, "phase");
	const json_t *quality = json_object_get(p, "quality");

	if (!strcmp(status, "running") && is_short)
		buf_puts(out, phase);
	else if (!strcmp(status, "running"))
		buf_addf(out, "%s, %.0f %%", phase,
		         100 * json_number_value(
				       json_object_get(p, "progress")));
	else if (!strcmp(phase, "cancelled"))
		buf_puts(out, "cancelled");
	else if (!strcmp(status, "failed"))
		buf_addf(out, "failed%s%s", is_short ? "" : ": ",
		         is_short ? "" : failure_of(p));
	else if (!strcmp(json_member(quality, "verdict"), "poor"))
		buf_puts(out, result_is_empty(p) ? "empty" : "poor");
	else if (!json_is_true(json_object_get(p, "pinned")))
		buf_puts(out, "complete");
	if (json_is_true(json_object_get(p, "pinned")))
		buf_addf(out, "%spinned", out->len ? ", " : "");
}

/* Removes the server's internal labels, which begin with two underscores. */
static void
hide_labels(json_t *labels)
{
	const char *key;
	json_t *v;
	void *next;

	json_object_foreach_safe(labels, next, key, v)
	{
		if (!strncmp(key, "__", 2))
			json_object_del(labels, key);
	}
}

void
session_results_put(json_t *profiles, const struct screen *s)
{
	json_t *p;
	size_t i;

	json_array_foreach(profiles, i, p) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		hide_labels(json_object_get(p, "labels"));
		put_result(p, s->width, &text);
		json_object_set_new(p, "result", json_text(buf_str(&text)));
		if (s->width && !strncmp(buf_str(&text), "failed", 6))
			json_object_set_new(p, TABLE_NOTE,
			                    json_text(failure_of(p)));
	}
}

int
cmd_sessions(struct cli *c)
{
	static const struct column columns[] = {
		{"ID", "id", LEFT, ID},
		{"STARTED", "startedAt", LEFT, TIME},
		{"TYPE", "profileType", LEFT, PLAIN},
		{"SERVICE", "service", LEFT, MIDDLE},
		{"SAMPLES", "sampleCount", RIGHT, PLAIN},
		{"RESULT", "result", LEFT, PLAIN},
	};
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *items = NULL;
	int rc;

	buf_puts(&path, PROFILING "/sessions");
	session_filter(c, &path);
	rc = list_of_service(c, buf_str(&path), &items);
	if (rc)
		return rc;
	if (!c->opt.json)
		session_results_put(items, &c->screen);
	return items_show(c, items, columns, ARRAY_LEN(columns));
}
