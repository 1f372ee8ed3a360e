/* stoker config: the configuration as the server reads it. */
#include "cli.h"

#include "settings.h"

#include <stdio.h>
#include <string.h>

#define VALUE_TEXT(v)    json_text(v)
#define VALUE_INT(v)     json_integer(v)
#define VALUE_BYTES(v)   counted("BYTES", v, plain)
#define VALUE_SECONDS(v) counted("SECONDS", v, plain)

/* Returns a value as in stoker.conf, or as a number. */
static json_t *
counted(const char *type, int64_t v, bool plain)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (plain)
		return json_integer(v);
	conf_show(type, v, &text);
	return json_text(buf_str(&text));
}

/* Returns all values; plain ones are numbers wherever they can be. */
static json_t *
all_of(const struct conf *c, bool plain)
{
	json_t *all = json_object();

#define KEY(section, key, type, def, min, max, doc) \
	json_object_set_new(all, #section "." #key, \
	                    VALUE_##type(c->section##_##key));
#include "config.def"
#undef KEY
	for (size_t q = 0; q < QUOTAS; q++) {
		char name[64];

		snprintf(name, sizeof(name), "quota.%s", conf_quotas[q].name);
		json_object_set_new(all, name, json_integer(c->quotas[q]));
	}
	return all;
}

static void
put_value(struct buf *out, const json_t *v)
{
	if (json_is_string(v))
		buf_puts(out, json_string_value(v));
	else
		buf_int(out, json_integer_value(v));
	buf_putc(out, '\n');
}

int
cmd_config(struct cli *c)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *all = NULL;
	const char *want = c->noperands ? c->operands[0] : NULL, *key;
	json_t *v;

	if (settings_load(&c->opt, &conf, &out))
		return failed("%s", buf_str(&out));
	all = all_of(&conf, c->opt.json);
	if (want && !json_object_get(all, want))
		return usage_error("no such key: %s", want);
	if (c->opt.json)
		return print_json(want ? json_object_get(all, want) : all);
	json_object_foreach(all, key, v) {
		if (want && strcmp(want, key))
			continue;
		if (!want)
			buf_addf(&out, "%s = ", key);
		put_value(&out, v);
	}
	return print(&out);
}
