/* stoker trigger: conditions of a service that start captures. */
#include "session.h"

#include "labels.h"
#include "named.h"
#include "store/trigger.h"
#include "table.h"

#include <string.h>

static const struct {
	const char *kind, *text;
} kinds[] = {
#define TRIGGER(kind, text, number, lowest, highest, count, doc) {#kind, text},
#include "triggers.def"
#undef TRIGGER
};

/* "/api/v1/services/NAME/triggers" */
static void
triggers_path(struct buf *out, const char *service)
{
	buf_puts(out, "/api/v1/services/");
	url_escape(out, service);
	buf_puts(out, "/triggers");
}

/* Returns the member of a kind that is a text; its other members are
 * numbers. */
static const char *
text_member(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].kind, kind))
			return kinds[i].text;
	return "";
}

/* Sets "percent": 20 from "percent=20". */
static int
add_member(json_t *of, const char *word, const char *text)
{
	const char *eq = strchr(word, '=');
	size_t key = eq ? (size_t)(eq - word) : 0;
	json_t *v;

	if (!key)
		return usage_error("a trigger takes KEY=VALUE, not '%s'", word);
	if (strlen(text) == key && !strncmp(text, word, key)) {
		v = json_string(eq + 1);
	} else {
		v = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
		if (!json_is_number(v)) {
			json_decref(v);
			return usage_error("%.*s takes a number, not '%s'",
			                   (int)key, word, eq + 1);
		}
	}
	return json_object_setn_new(of, word, key, v)
	               ? usage_error("'%s' is not UTF-8", word)
	               : LEAVE_OK;
}

/* Makes {"cpuShare": {"function": …, "percent": …}}. */
static int
make_when(const struct cli *c, json_t **out)
{
	CLEANUP_JSON json_t *of = json_object();
	const char *kind = c->operands[2];
	int rc = LEAVE_OK;

	for (size_t i = 3; i < c->noperands && !rc; i++)
		rc = add_member(of, c->operands[i], text_member(kind));
	if (rc)
		return rc;
	*out = json_pack("{sO}", kind, of);
	return *out ? LEAVE_OK : usage_error("'%s' is not UTF-8", kind);
}

static json_t *
make_capture(const struct options *o)
{
	json_t *capture = json_object();

	if (o->type)
		json_object_set_new(capture, "profileType",
		                    json_string(o->type));
	number_set(capture, "durationSeconds", o->seconds);
	number_set(capture, "sampleRate", o->rate);
	return capture;
}

int
cmd_trigger_add(struct cli *c)
{
	CLEANUP_JSON json_t *when = NULL;
	CLEANUP_JSON json_t *body = NULL;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	const struct options *o = &c->opt;
	int rc = make_when(c, &when);

	if (rc)
		return rc;
	body = json_pack("{ss sO so ss}", "trigger", c->operands[1], "when",
	                 when, "capture", make_capture(o), "webhook",
	                 o->webhook ? o->webhook : "");
	if (!body)
		return failed("an argument is not UTF-8");
	number_set(body, "cooldownSeconds", o->cooldown);
	triggers_path(&path, c->operands[0]);
	rc = ask(c, "POST", buf_str(&path), body, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	return print_done(c, c->operands[1], json_member(r.json, "id"));
}

/* Adds texts for people to a trigger. */
static void
put_texts(json_t *trigger)
{
	const json_t *last = json_object_get(trigger, "lastValue");
	double v = json_number_value(last);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&text, "%.*f", v < 1000 ? 1 : 0, v);
	if (json_is_number(last))
		json_object_set_new(trigger, "value",
		                    json_text(buf_str(&text)));
	if (!strcmp(json_member(trigger, "webhookState"), "none"))
		json_object_del(trigger, "webhookState");
}

/* Fetches the triggers of the named service. */
static int
ask_one(struct cli *c, json_t **out)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	triggers_path(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (!rc)
		*out = json_incref(json_object_get(r.json, "items"));
	return rc;
}

int
cmd_trigger_list(struct cli *c)
{
	static const struct column columns[] = {
		{"SERVICE", "service", LEFT, MIDDLE}, /* if all are listed */
		{"NAME", "trigger", LEFT, MIDDLE},
		{"WHEN", "when", LEFT, MIDDLE},
		{"VALUE", "value", RIGHT, PLAIN},
		{"FIRED", "lastFiredAt", LEFT, TIME},
		{"WEBHOOK", "webhookState", LEFT, PLAIN},
		{"PROFILE", "lastProfileId", LEFT, ID},
		/* not shown on a terminal */
		{"TYPE", "capture.profileType", LEFT, PLAIN},
		{"ID", "id", LEFT, ID},
	};
	const size_t one = c->noperands, more = c->screen.width ? 2 : 0;
	CLEANUP_JSON json_t *items = NULL;
	json_t *trigger;
	size_t i;
	int rc;

	rc = one ? ask_one(c, &items) : list_ask(c, "/api/v1/triggers", &items);
	if (rc)
		return rc;
	json_array_foreach(items, i, trigger) {
		if (!c->opt.json)
			put_texts(trigger);
	}
	return items_show(c, items, columns + one,
	                  ARRAY_LEN(columns) - one - more);
}

int
cmd_trigger_remove(struct cli *c)
{
	static const struct kind_named kind = {
		.what = "trigger",
		.prefix = TRIGGER_PREFIX,
		.id = "id",
		.name = "trigger",
	};
	CLEANUP_REPLY struct http_reply list = REPLY_INIT;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	const json_t *item;
	int rc;

	triggers_path(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &list);
	if (!rc)
		rc = item_named(json_object_get(list.json, "items"), &kind,
		                c->operands[1], &item);
	if (!rc)
		rc = confirm(c, "Remove the trigger '%s' (%s) of %s?",
		             json_member(item, "trigger"),
		             json_member(item, "id"), c->operands[0]);
	if (rc)
		return rc;
	buf_putc(&path, '/');
	url_escape(&path, json_member(item, "id"));
	rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	return rc ? rc : print_done(c, c->operands[1], "removed");
}
