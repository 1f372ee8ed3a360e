/* stoker hosts: hosts with a worker and, in a fleet, the age of the data that
 * they have sent. */
#include "cli.h"

#include "base/clock.h"
#include "table.h"
#include "values.h"

#include <string.h>
#include <time.h>

/* Appends a span in at most three digits: "45s", "12m", "3h", "9d". */
static void
put_span(struct buf *out, int64_t s)
{
	static const struct {
		int64_t s;
		char unit;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (s >= 2 * units[i].s) {
			buf_addf(out, "%lld%c", (long long)(s / units[i].s),
			         units[i].unit);
			return;
		}
	buf_addf(out, "%llds", (long long)(s > 0 ? s : 0));
}

static void
set_span(json_t *row, const char *key, int64_t s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(64);

	put_span(&text, s);
	json_object_set_new(row, key, json_string(buf_str(&text)));
}

/* Sets a member to the time since another member; does nothing without one. */
static void
set_age(json_t *row, const char *key, const char *of, int64_t now_ms)
{
	int64_t ms;

	if (!clock_parse(json_member(row, of), &ms))
		set_span(row, key, (now_ms - ms) / MS_PER_S);
}

static void
set_lags(json_t *row)
{
	const json_t *a;
	size_t i;

	json_array_foreach(json_object_get(row, "arrived"), i, a)
		set_span(row, json_member(a, "level"),
		         json_integer_value(json_object_get(a, "lagSeconds")));
}

/* Sets the note below a row: what does not fit into its columns. */
static void
set_note(json_t *row)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const json_t *off = json_object_get(row, "clockOffsetSeconds");
	char offset[CLOCK_OFFSET_LEN];
	double results =
		json_number_value(json_object_get(row, "waitingResults"));

	if (!json_is_true(json_object_get(row, "alive")))
		buf_puts(&text, "its worker is silent");
	if (results > 0)
		buf_addf(&text, "%s%.0f results of captures wait",
		         text.len ? "; " : "", results);
	if (json_is_number(off)) {
		clock_format_offset((int64_t)(json_number_value(off) * 1e3),
		                    offset);
		buf_addf(&text, "%sits clock is %s", text.len ? "; " : "",
		         offset);
	}
	if (text.len)
		json_object_set_new(row, TABLE_NOTE, json_text(buf_str(&text)));
}

static void
describe(json_t *row, int64_t now_ms)
{
	const json_t *bytes = json_object_get(row, "waitingBytes");

	set_age(row, "heard", "heartbeatAt", now_ms);
	set_age(row, "oldest", "waitingSince", now_ms);
	set_lags(row);
	if (json_is_number(bytes))
		value_set(row, "waits", (int64_t)json_number_value(bytes),
		          "bytes");
	set_note(row);
}

int
cmd_hosts(struct cli *c)
{
	static const struct column columns[] = {
		{"HOST", "host", LEFT, MIDDLE},
		{"VERSION", "version", LEFT, PLAIN},
		{"HEARD", "heard", RIGHT, PLAIN},
		{"MINUTES", "minute", RIGHT, PLAIN},
		{"HOURS", "hour", RIGHT, PLAIN},
		{"DAYS", "day", RIGHT, PLAIN},
		{"OLDEST", "oldest", RIGHT, PLAIN},
		{"WAITS", "waits", RIGHT, PLAIN},
	};
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	int rc = ask(c, "GET", "/api/v1/workers", NULL, &r);
	json_t *items = json_object_get(r.json, "items"), *row;
	int64_t now_s = r.date_s ? r.date_s : time(NULL);
	size_t i;

	if (rc)
		return rc;
	if (!c->opt.json)
		json_array_foreach(items, i, row)
			describe(row, now_s * MS_PER_S);
	return items_show(c, items, columns, ARRAY_LEN(columns));
}
