/* stoker continuous: services that are profiled all the time. */
#include "session.h"

#include "labels.h"
#include "profile.h"
#include "table.h"

#include <string.h>

#define CONTINUOUS PROFILES "/continuous"

/* {"service": …} and what is set now; only the former where nothing is. */
static int
ask_settings(struct cli *c, json_t **out)
{
	static const char *const kept[] = {"profileTypes", "sampleRate",
	                                   "retentionDays"};
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *settings =
		json_pack("{ss}", "service", c->operands[0]);
	int rc;

	if (!settings)
		return failed("an argument is not UTF-8");
	buf_puts(&path, CONTINUOUS "/");
	url_escape(&path, c->operands[0]);
	rc = ask_maybe(c, "GET", buf_str(&path), NULL, &r);
	for (size_t i = 0; i < ARRAY_LEN(kept) && !rc && r.status < 300; i++)
		json_object_set(settings, kept[i],
		                json_object_get(r.json, kept[i]));
	if (!rc)
		*out = TAKE(settings);
	return rc;
}

/* "cpu,memory" as a list. */
static int
set_types(json_t *settings, const char *words)
{
	CLEANUP_JSON json_t *list = json_array();

	for (size_t n; *words; words += n + (words[n] == ',')) {
		n = strcspn(words, ",");
		if (json_array_append_new(list, json_stringn(words, n)))
			return failed("--types is not UTF-8");
	}
	json_object_set(settings, "profileTypes", list);
	return LEAVE_OK;
}

static int
set_options(json_t *settings, const struct options *o)
{
	number_set(settings, "sampleRate", o->rate);
	number_set(settings, "retentionDays", o->retention_days);
	return o->types ? set_types(settings, o->types) : LEAVE_OK;
}

static int
show(const struct cli *c, const json_t *j)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	if (c->opt.json)
		return print_json(j);
	object_show(&out, j);
	return print(&out);
}

static int
turn(struct cli *c, bool on)
{
	CLEANUP_JSON json_t *settings = NULL;
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	int rc = ask_settings(c, &settings);

	if (!rc)
		rc = set_options(settings, &c->opt);
	if (rc)
		return rc;
	json_object_set_new(settings, "enabled", json_boolean(on));
	rc = ask(c, "POST", CONTINUOUS, settings, &r);
	return rc ? rc : show(c, r.json);
}

int
cmd_continuous_on(struct cli *c)
{
	return turn(c, true);
}

int
cmd_continuous_off(struct cli *c)
{
	return turn(c, false);
}

int
cmd_continuous_list(struct cli *c)
{
	static const struct column columns[] = {
		{"SERVICE", "service", LEFT, PLAIN},
		{"ENABLED", "enabled", LEFT, PLAIN},
		{"RATE", "sampleRate", RIGHT, PLAIN},
		{"DAYS", "retentionDays", RIGHT, PLAIN},
		{"TYPES", "profileTypes", LEFT, PLAIN},
	};

	return whole_list_show(c, CONTINUOUS, columns, ARRAY_LEN(columns));
}

int
cmd_continuous_show(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	buf_puts(&path, CONTINUOUS "/");
	url_escape(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	return rc ? rc : show(c, r.json);
}
