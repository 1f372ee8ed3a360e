/* Shows replies of the API to people. */
#include "table.h"

#include "text.h"
#include "tunnel.h"
#include "values.h"

#include <string.h>

void
error_show(struct buf *out, long status, const json_t *reply, long retry_after)
{
	const json_t *details = json_object_get(reply, "details");
	const char *message = json_member(reply, "message"), *key;
	json_t *v;

	buf_puts(out, "stoker: ");
	if (*message)
		safe_puts(out, message);
	else
		buf_puts(out, "the server did not answer as its API says");
	if (*json_member(reply, "error_code")) {
		buf_puts(out, " (");
		safe_puts(out, json_member(reply, "error_code"));
		buf_puts(out, ")\n");
	} else {
		buf_addf(out, " (HTTP %ld)\n", status);
	}
	json_object_foreach((json_t *)details, key, v) {
		if (json_is_string(v) && strstr(message, json_string_value(v)))
			continue; /* the message contains it */
		buf_puts(out, "  ");
		safe_puts(out, key);
		buf_puts(out, ": ");
		value_show(out, v);
		buf_putc(out, '\n');
	}
	if (retry_after > 0)
		buf_addf(out, "  try again in %ld s\n", retry_after);
}

void
link_show(struct buf *out, const char *name, const char *url)
{
	buf_addf(out, "%s:\n", name);
	safe_puts(out, url);
	buf_putc(out, '\n');
	tunnel_show(out, url);
}

static const struct column top_columns[] = {
	{"SELF %", "selfPct", RIGHT, PERCENT},
	{"TOTAL %", "cumulativePct", RIGHT, PERCENT},
	{"SAMPLES", "sampleCount", RIGHT, PLAIN},
	{"PACKAGE", "package", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

void
top_show(struct buf *out, const json_t *result, int64_t limit,
         const struct screen *s)
{
	CLEANUP_JSON json_t *rows = json_array();
	const json_t *all = json_object_get(result, "topFunctions");
	json_t *row;
	size_t i;

	json_array_foreach(all, i, row) {
		if ((int64_t)i >= (limit < 0 ? TOP_ROWS : limit))
			break;
		json_array_append(rows, row);
	}
	if (!json_array_size(all))
		buf_puts(out, "no samples\n");
	else
		table_show(out, top_columns, ARRAY_LEN(top_columns), rows, s);
}

/* Figures of a quality report for its summary. */
static const struct {
	const char *key, *what;
	bool unwinding;
} glance[] = {
	{"samplesKept", "samples", false},
	{"samplesLost", "lost", false},
	{"stacksComplete", "stacks complete", true},
	{"stacksTruncated", "cut", true},
	{"unwindFailed", "broken", true},
};

static bool
was_unwound(const json_t *quality)
{
	for (size_t i = 0; i < ARRAY_LEN(glance); i++)
		if (glance[i].unwinding &&
		    json_integer_value(json_object_get(quality, glance[i].key)))
			return true;
	return false;
}

/* Appends "title: text" for each text, wrapped. */
static void
show_each(struct buf *out, const char *title, const json_t *texts,
          const struct screen *s)
{
	size_t indent = strlen(title) + 2, i;
	const json_t *text;

	json_array_foreach(texts, i, text) {
		CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);

		value_show(&line, text);
		screen_puts(s, STYLE_WARNING, title, out);
		buf_puts(out, ": ");
		text_wrap(out, buf_str(&line), indent, indent, s->width);
		buf_putc(out, '\n');
	}
}

bool
result_is_empty(const json_t *result)
{
	const json_t *samples = json_object_get(result, "sampleCount");

	return json_is_integer(samples) && !json_integer_value(samples);
}

void
reasons_show(struct buf *out, const json_t *result, const struct screen *s)
{
	const json_t *quality = json_object_get(result, "quality");

	show_each(out, result_is_empty(result) ? "EMPTY" : "POOR RESULT",
	          json_object_get(quality, "reasons"), s);
	show_each(out, "note", json_object_get(quality, "notes"), s);
}

void
notices_show(struct buf *out, const json_t *result, const struct screen *s)
{
	show_each(out, "note", json_object_get(result, "notices"), s);
}

void
quality_show(struct buf *out, const json_t *result)
{
	const json_t *quality = json_object_get(result, "quality");
	const char *between = "quality: ";
	bool unwound = was_unwound(quality);

	if (values_wanted(json_member(result, "profileType")))
		return; /* a program's own counters lose no samples */
	for (size_t i = 0; i < ARRAY_LEN(glance); i++) {
		const json_t *v = json_object_get(quality, glance[i].key);

		if (!json_is_integer(v) || (glance[i].unwinding && !unwound))
			continue;
		buf_addf(out, "%s%" JSON_INTEGER_FORMAT " %s", between,
		         json_integer_value(v), glance[i].what);
		between = ", ";
	}
	if (*between == ',')
		buf_putc(out, '\n');
}
