#include "trigger_fields.h"

#include "base/url.h"
#include "endpoint/profile/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_MAX 1000
#define MINIMUM_MAX  1000000000

static const struct {
	const char *text, *number;
	double lowest, highest;
	const char *count;
} conditions[] = {
#define TRIGGER(kind, text, number, lowest, highest, count, doc) \
	{text, number, lowest, highest, count},
#include "triggers.def"
#undef TRIGGER
};

/* --- reading --- */

static int
read_function(struct call *c, enum trigger_kind kind, const json_t *of,
              struct trigger *out)
{
	const char *text =
		json_string_value(json_object_get(of, conditions[kind].text));

	out->function = (char *)"";
	if (!*conditions[kind].text)
		return 0;
	if (!text || !*text || strlen(text) > FUNCTION_MAX)
		return fail_value(
			c, "when",
			"a function, by the name that topFunctions has", of);
	out->function = (char *)text;
	return 0;
}

static int
read_minimum(struct call *c, enum trigger_kind kind, const json_t *of,
             struct trigger *out)
{
	const json_t *v = *conditions[kind].count
	                          ? json_object_get(of, conditions[kind].count)
	                          : NULL;

	if (v && (!json_is_integer(v) || json_integer_value(v) < 0 ||
	          json_integer_value(v) > MINIMUM_MAX))
		return fail_value(c, "when",
		                  "min: an integer from 0 to 1000000000", of);
	out->minimum = json_integer_value(v);
	return 0;
}

/* Reads {"rss": {"bytes": 1e9}}. */
static int
read_when(struct call *c, const json_t *when, struct trigger *out)
{
	void *at = json_object_iter((json_t *)when);
	const char *name = at ? json_object_iter_key(at) : "";
	const json_t *of = at ? json_object_iter_value(at) : NULL;
	enum trigger_kind kind = trigger_kind_of(name);
	const json_t *number;
	double v;

	if (kind == TRIGGER_KINDS || json_object_size(when) != 1)
		return fail_value(c, "when",
		                  "exactly one of cpuShare, goroutineGrowth, "
		                  "shift, rss, cpu",
		                  when);
	number = json_object_get(of, conditions[kind].number);
	v = json_number_value(number);
	if (!json_is_number(number) || v < conditions[kind].lowest ||
	    v > conditions[kind].highest) {
		char expected[128];

		snprintf(expected, sizeof(expected),
		         "%s: {\"%s\": a number from %.16g to %.16g}", name,
		         conditions[kind].number, conditions[kind].lowest,
		         conditions[kind].highest);
		return fail_value(c, "when", expected, of);
	}
	out->kind = (char *)trigger_kind_name(kind);
	out->threshold = v;
	return read_function(c, kind, of, out) ? -1
	                                       : read_minimum(c, kind, of, out);
}

static bool
read_int(const json_t *capture, const char *name, int64_t *out)
{
	const struct param_row *row = member_find("capture", name);
	const json_t *v = json_object_get(capture, name);

	*out = v ? json_integer_value(v) : strtoll(row->def, NULL, 10);
	return (!v || json_is_integer(v)) && *out >= row->min &&
	       *out <= row->max;
}

static const char *
type_of(const json_t *capture)
{
	const json_t *v = json_object_get(capture, "profileType");
	const char *const *words = param_words(PT_CAPTURED);

	if (!v)
		return member_find("capture", "profileType")->def;
	while (*words && (!json_is_string(v) ||
	                  strcmp(*words, json_string_value(v)) != 0))
		words++;
	return *words;
}

static int
read_capture(struct call *c, const json_t *capture, struct trigger *out)
{
	out->type = (char *)type_of(capture);
	if (!out->type)
		return fail_value(c, "capture", "a known profileType", capture);
	if (!read_int(capture, "durationSeconds", &out->seconds) ||
	    !read_int(capture, "sampleRate", &out->rate))
		return fail_value(c, "capture",
		                  "durationSeconds from 1 to 3600, sampleRate "
		                  "from 1 to 10000",
		                  capture);
	return 0;
}

static int
check_service(struct call *c, const struct trigger *t)
{
	CLEANUP_SERVICE struct service s = {0};

	return call_service(c, t->service, &s)
	               ?: start_check_type(c, t->type, &s);
}

/* Checks that the worker may call a webhook. */
static int
check_webhook(struct call *c, const char *text)
{
	char own[CONF_HOST_MAX] = "";
	struct url u;

	if (!*text)
		return 0;
	if (url_parse(text, &u))
		return fail_param(c, "webhook", "an http or https address",
		                  text);
	if (conf_host(c->env->conf, own))
		own[0] = '\0';
	if (conf_allows_webhook(c->env->conf, c->caller.tenant, &u, own))
		return 0;
	detail_text(c, "parameter", "webhook");
	detail_text(c, "host", u.host);
	return fail(c, WebhookForbidden, u.host);
}

int
trigger_read(struct call *c, const struct trigger_rows *rows,
             struct trigger *out)
{
	struct trigger t = {
		.tenant = c->caller.tenant,
		.service = (char *)param_text(c, rows->service),
		.name = (char *)param_text(c, rows->name),
		.webhook = (char *)param_text(c, rows->webhook),
		.cooldown_ms = param_int(c, rows->cooldown) * 1000,
		.enabled = !param_given(c, rows->enabled) ||
	                   param_int(c, rows->enabled),
		.created_by = c->caller.id,
	};

	if (read_when(c, param_json(c, rows->when), &t) ||
	    read_capture(c, param_json(c, rows->capture), &t) ||
	    check_webhook(c, t.webhook) || check_service(c, &t))
		return -1;
	*out = t;
	return 0;
}

/* --- writing --- */

static void
put_when(struct buf *out, const struct trigger *t)
{
	enum trigger_kind kind = trigger_kind_of(t->kind);

	json_open(out, "when", '{');
	if (kind < TRIGGER_KINDS) { /* otherwise the kind is from a later
	                               release */
		json_open(out, t->kind, '{');
		if (*conditions[kind].text)
			json_put_text(out, conditions[kind].text, t->function);
		json_put_real(out, conditions[kind].number, t->threshold);
		if (*conditions[kind].count)
			json_put_int(out, conditions[kind].count, t->minimum);
		json_close(out, '}');
	}
	json_close(out, '}');
}

void
trigger_put(struct buf *out, const struct trigger *t, bool whole)
{
	json_put_text(out, "id", t->id);
	json_put_text(out, "trigger", t->name);
	json_put_text(out, "service", t->service);
	put_when(out, t);
	json_open(out, "capture", '{');
	json_put_text(out, "profileType", t->type);
	json_put_int(out, "durationSeconds", t->seconds);
	json_put_int(out, "sampleRate", t->rate);
	json_close(out, '}');
	json_put_text(out, "webhook", whole ? t->webhook : "");
	json_put_int(out, "cooldownSeconds", t->cooldown_ms / 1000);
	json_put_bool(out, "enabled", t->enabled);
	json_put_time(out, "createdAt", t->created_ms);
	json_put_time(out, "updatedAt", t->updated_ms);
	json_put_real(out, "lastValue", t->value);
	json_put_time_or_null(out, "lastValueAt", t->value_ms);
	json_put_time_or_null(out, "lastFiredAt", t->fired_ms);
	json_put_text(out, "lastProfileId", t->session);
	json_put_text(out, "webhookState", t->sent);
}
