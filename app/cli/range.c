/* stoker history, series, groups, when, merge: a service over time. */
#include "range.h"

#include "base/quantity.h"
#include "profile.h"
#include "profile/types.h"
#include "result.h"
#include "session.h"
#include "table.h"
#include "text.h"
#include "top.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define BAR_COLUMNS 22 /* columns left on a line of 80 */

static const char *
unit_of(const char *type)
{
	const struct type *t = type_find(type);

	return t ? t->unit : "";
}

static int
add_label(struct buf *path, const char *option, const char *word)
{
	CLEANUP_BUF struct buf key = BUF_INIT(BUF_MAX_SMALL);
	const char *eq = strchr(word, '=');

	if (!eq || eq == word)
		return usage_error("--%s takes K=V, not '%s'", option, word);
	buf_addf(&key, "%s.%.*s", option, (int)(eq - word), word);
	query_add(path, buf_str(&key), eq + 1);
	return LEAVE_OK;
}

int
range_path(struct cli *c, const char *rest, const char *type, struct buf *out)
{
	const struct options *o = &c->opt;
	int rc = LEAVE_OK;

	buf_addf(out, PROFILES "%s", rest);
	query_add(out, "service", c->operands[0]);
	query_add(out, "profileType", o->type ? o->type : type);
	query_add(out, "host", o->host);
	query_add(out, "origin", o->origin);
	rc = query_time(c, "--from", "from", o->from, out);
	if (!rc)
		rc = query_time(c, "--to", "to", o->to, out);
	for (size_t i = 0; i < o->label.n && !rc; i++)
		rc = add_label(out, "label", o->label.p[i]);
	for (size_t i = 0; i < o->sample.n && !rc; i++)
		rc = add_label(out, "sample", o->sample.p[i]);
	return rc;
}

/* Removes the label host if all profiles with it are from one host. */
static void
hide_host(const json_t *profiles)
{
	const json_t *only = NULL, *host;
	json_t *p;
	size_t i;

	json_array_foreach(profiles, i, p) {
		host = json_object_get(json_object_get(p, "labels"), "host");
		only = only ? only : host;
		if (host && !json_equal(host, only))
			return;
	}
	json_array_foreach(profiles, i, p)
		json_object_del(json_object_get(p, "labels"), "host");
}

int
cmd_history(struct cli *c)
{
	static const struct column columns[] = {
		{"ID", "id", LEFT, ID},
		{"STARTED", "startedAt", LEFT, TIME},
		{"SECONDS", "durationSeconds", RIGHT, PLAIN},
		{"TYPE", "profileType", LEFT, PLAIN},
		{"SAMPLES", "sampleCount", RIGHT, PLAIN},
		{"RESULT", "result", LEFT, PLAIN},
		{"LABELS", "labels", LEFT, PLAIN},
	};
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *items = NULL;
	size_t n = ARRAY_LEN(columns);
	int rc = range_path(c, "/history", NULL, &path);

	if (!rc)
		rc = list_ask(c, buf_str(&path), &items);
	if (rc)
		return rc;
	if (!c->opt.json)
		session_results_put(items, &c->screen);
	if (!c->opt.json && c->screen.width) {
		hide_host(items);
		table_note(items, "labels");
		n--;
	}
	return items_show(c, items, columns, n);
}

/* --- series --- */

/* Returns the rate of a point, or its value if that is a mean. */
static double
height_of(const json_t *point)
{
	const json_t *rate = json_object_get(point, "rate");

	return json_number_value(
		json_is_null(rate) ? json_object_get(point, "value") : rate);
}

static void
put_bar(json_t *point, double most)
{
	char bar[BAR_COLUMNS + 1] = "";
	size_t n =
		most > 0 ? (size_t)lrint(height_of(point) / most * BAR_COLUMNS)
			 : 0;

	memset(bar, '#', n < BAR_COLUMNS ? n : BAR_COLUMNS);
	json_object_set_new(point, "bar", json_string(bar));
}

/* Adds a text for people about a value of a point. */
static void
put_text(json_t *point, const char *key, const char *unit, const char *as)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const json_t *v = json_object_get(point, key);

	if (!json_is_number(v))
		return;
	quantity(&text, llround(json_number_value(v)), unit);
	json_object_set_new(point, as, json_string(buf_str(&text)));
}

/* Adds the share of a row in percent, if it is known. */
static void
put_percent(json_t *row)
{
	const json_t *share = json_object_get(row, "share");

	if (json_is_number(share))
		json_object_set_new(row, "percent",
		                    json_real(100 * json_number_value(share)));
}

/* Adds texts and a bar to each point; returns the greatest height. */
static double
put_texts(json_t *trend, bool shares)
{
	const char *unit = unit_of(json_member(trend, "profileType"));
	json_t *points = json_object_get(trend, "points"), *point;
	double most = 0;
	size_t i;

	json_array_foreach(points, i, point)
		most = fmax(most, height_of(point));
	json_array_foreach(points, i, point) {
		if (shares)
			put_percent(point);
		put_text(point, "value", unit, "valueText");
		put_text(point, "rate", unit, "rateText");
		put_bar(point, most);
	}
	return most;
}

/* Notes that a function has no samples: it may be mistyped, or inlined. */
static void
note_function(const struct cli *c)
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&name, c->opt.function);
	fprintf(stderr,
	        "note: no sample of that time contains '%s'\n"
	        "  stoker merge %s lists functions\n",
	        buf_str(&name), c->operands[0]);
}

static bool
is_covered(const json_t *point)
{
	return json_number_value(json_object_get(point, "coveredSeconds")) > 0;
}

/* Removes the points before the first covered one, and after the last. */
static void
trim_points(json_t *points)
{
	while (json_array_size(points) &&
	       !is_covered(json_array_get(points, 0)))
		json_array_remove(points, 0);
	while (json_array_size(points) &&
	       !is_covered(json_array_get(points, json_array_size(points) - 1)))
		json_array_remove(points, json_array_size(points) - 1);
}

static int
no_profile(const struct cli *c)
{
	return failed("%s has no profile of that time\n"
	              "  stoker continuous on %s makes some all the time",
	              c->operands[0], c->operands[0]);
}

int
cmd_series(struct cli *c)
{
	static const struct column columns[] = {
		{"TIME", "t", LEFT, TIME},
		{"COVERED S", "coveredSeconds", RIGHT, PERCENT},
		{"COST", "valueText", RIGHT, PLAIN},
		{"PER SECOND", "rateText", RIGHT, PLAIN},
		{"SHARE %", "percent", RIGHT, PERCENT},
		{"", "bar", LEFT, PLAIN},
	};
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	json_t *points;
	double most;
	int rc = range_path(c, "/history/series", "cpu", &path);

	if (rc)
		return rc;
	query_add(&path, "function", c->opt.function);
	query_add(&path, "step", c->opt.step);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	points = json_object_get(r.json, "points");
	trim_points(points);
	if (!json_array_size(points))
		return no_profile(c);
	/* for all functions together, shares would be 100 % */
	most = put_texts(r.json, c->opt.function || !c->screen.width);
	table_show_to(&out, columns, ARRAY_LEN(columns), points, &c->screen);
	notices_show(&out, r.json, &c->screen);
	rc = print(&out);
	if (!rc && c->opt.function && most <= 0)
		note_function(c);
	return rc;
}

/* --- groups --- */

static void
put_group(json_t *group, const char *unit, bool mean)
{
	if (!*json_member(group, "value"))
		json_object_set_new(group, "value", json_string("(none)"));
	put_percent(group);
	put_text(group, "cost", unit, "costText");
	if (!mean)
		put_text(group, "perSecond", unit, "rateText");
}

/* Appends the keys by which a range can be grouped, except one. */
static void
put_keys(const json_t *keys, const char *but, const char *before,
         struct buf *out)
{
	const json_t *key;
	size_t i;

	json_array_foreach(keys, i, key) {
		const char *by = json_member(key, "by");

		if (!strcmp(by, but) ||
		    !json_integer_value(json_object_get(key, "values")))
			continue;
		buf_puts(out, before);
		safe_puts(out, by);
		before = ", ";
	}
}

/* Fails because nothing in the range has the key; prints the keys that
 * exist. */
static int
no_groups(const struct cli *c, const json_t *reply)
{
	CLEANUP_BUF struct buf keys = BUF_INIT(BUF_MAX_SMALL);

	put_keys(json_object_get(reply, "keys"), "", "\n  keys: ", &keys);
	if (!keys.len)
		return failed(
			"no %s profile of %s of that time has a host or a "
			"label to group by\n"
			"  stoker continuous on %s makes some that have",
			json_member(reply, "profileType"), c->operands[0],
			c->operands[0]);
	return failed("no %s profile of %s of that time has %s%s",
	              json_member(reply, "profileType"), c->operands[0],
	              json_member(reply, "by"), buf_str(&keys));
}

int
cmd_groups(struct cli *c)
{
	static const struct column columns[] = {
		{"VALUE", "value", LEFT, MIDDLE},
		{"COST", "costText", RIGHT, PLAIN},
		{"PER SECOND", "rateText", RIGHT, PLAIN},
		{"SHARE %", "percent", RIGHT, PERCENT},
	};
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	json_t *groups, *group, *left;
	size_t i;
	int rc = range_path(c, "/history/groups", "cpu", &path);

	if (rc)
		return rc;
	query_add(&path, "by", c->opt.by);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	groups = json_object_get(r.json, "groups");
	if (!json_array_size(groups))
		return no_groups(c, r.json);
	json_array_foreach(groups, i, group)
		put_group(group, unit_of(json_member(r.json, "profileType")),
		          !strcmp(json_member(r.json, "aggregation"), "mean"));
	table_show_to(&out, columns, ARRAY_LEN(columns), groups, &c->screen);
	left = json_object_get(r.json, "groupsLeft");
	if (json_integer_value(left))
		buf_addf(&out, "%lld more are not shown\n",
		         (long long)json_integer_value(left));
	buf_puts(&said, "by ");
	safe_puts(&said, json_member(r.json, "by"));
	put_keys(json_object_get(r.json, "keys"), json_member(r.json, "by"),
	         "; other keys: ", &said);
	text_wrap(&out, buf_str(&said), 0, 2, c->screen.width);
	buf_putc(&out, '\n');
	notices_show(&out, r.json, &c->screen);
	return print(&out);
}

/* --- when --- */

static double
number_of(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

/* Appends "costs 2.6 times as much since 20:16:30 (between 20:15:50 and
 * 20:16:40)". */
static void
put_since(const json_t *shift, const struct screen *s, struct buf *out)
{
	double factor = number_of(shift, "factor");

	if (json_is_null(json_object_get(shift, "factor")))
		buf_puts(out, "is new");
	else if (factor <= 0)
		buf_puts(out, "is gone");
	else if (factor >= 2)
		buf_addf(out, "costs %.1f times as much", factor);
	else
		buf_addf(out, "costs %.0f %% %s", 100 * fabs(factor - 1),
		         factor < 1 ? "less" : "more");
	buf_puts(out, " since ");
	screen_time(s, json_member(shift, "at"), out);
	buf_puts(out, " (between ");
	screen_time(s, json_member(shift, "earliest"), out);
	buf_puts(out, " and ");
	screen_time(s, json_member(shift, "latest"), out);
	buf_putc(out, ')');
}

static void
put_level(const json_t *level, const char *unit, bool mean, struct buf *out)
{
	quantity(out, llround(number_of(level, "perSecond")), unit);
	buf_puts(out, mean ? "" : " per second");
	if (number_of(level, "share") < 1)
		buf_addf(out, ", %.1f %% of all",
		         100 * number_of(level, "share"));
}

static void
put_steady(const json_t *of, struct buf *out)
{
	double least = number_of(of, "leastFactor");

	if (least > 0)
		buf_addf(out,
		         "no change found in %.0f samples; one to %.1f times "
		         "as much would show",
		         number_of(of, "samples"), least);
	else
		buf_addf(out, "cannot be determined: %.0f samples are too few",
		         number_of(of, "samples"));
}

/* Appends the shifts of a function, or of the total, as one paragraph. */
static void
put_shifted(const json_t *of, const json_t *reply, const struct screen *s,
            struct buf *out)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	const json_t *list = json_object_get(of, "shifts"), *shift;
	const char *name = json_member(of, "function");
	const char *unit = unit_of(json_member(reply, "profileType"));
	bool mean = !strcmp(json_member(reply, "aggregation"), "mean");
	size_t i;

	safe_puts(&line, *name ? name : "The service as a whole");
	if (*name && !strcmp(json_member(of, "cost"), "total"))
		buf_puts(&line, ", with what it calls,");
	if (!json_array_size(list)) {
		buf_puts(&line, *name ? ": " : " is steady: ");
		put_steady(of, &line);
	}
	json_array_foreach(list, i, shift) {
		buf_puts(&line, i ? "; then it " : " ");
		put_since(shift, s, &line);
		buf_puts(&line, ": ");
		put_level(json_object_get(shift, "after"), unit, mean, &line);
		buf_puts(&line, "; before, ");
		put_level(json_object_get(shift, "before"), unit, mean, &line);
	}
	buf_putc(&line, '.');
	text_wrap(out, buf_str(&line), 0, 2, s->width);
	buf_putc(out, '\n');
}

int
cmd_when(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const json_t *list, *of;
	size_t i;
	int rc = range_path(c, "/history/shifts", "cpu", &path);

	if (rc)
		return rc;
	query_add(&path, "function", c->noperands > 1 ? c->operands[1] : NULL);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	list = json_object_get(r.json, "functions");
	json_array_foreach(list, i, of)
		put_shifted(of, r.json, &c->screen, &out);
	if (!i)
		buf_addf(&out, "None of %.0f functions changed.\n",
		         number_of(r.json, "tested"));
	put_shifted(json_object_get(r.json, "whole"), r.json, &c->screen, &out);
	notices_show(&out, r.json, &c->screen);
	return print(&out);
}

/* --- merge --- */

static void
put_title(struct buf *out, const char *title)
{
	buf_addf(out, "%-13s", title);
}

static void
put_range(struct buf *out, const json_t *j, const struct screen *s)
{
	int gaps = (int)json_integer_value(json_object_get(j, "gapCount"));

	put_title(out, "range:");
	screen_time(s, json_member(j, "from"), out);
	buf_puts(out, " to ");
	screen_time(s, json_member(j, "to"), out);
	buf_addf(out, ", %.1f s covered",
	         json_number_value(json_object_get(j, "coveredSeconds")));
	if (gaps)
		buf_addf(out, ", %d gap%s", gaps, gaps == 1 ? "" : "s");
	buf_putc(out, '\n');
}

static void
summary_show(struct buf *out, const json_t *j, const struct screen *s)
{
	buf_putc(out, '\n');
	put_range(out, j, s);
	put_title(out, "made of:");
	safe_puts(out, json_member(j, "source"));
	buf_addf(out, ", %" JSON_INTEGER_FORMAT " samples\n",
	         json_integer_value(json_object_get(j, "sampleCount")));
	put_title(out, !strcmp(json_member(j, "aggregation"), "mean")
	                       ? "mean:"
	                       : "total:");
	quantity(out, json_integer_value(json_object_get(j, "total")),
	         unit_of(json_member(j, "profileType")));
	buf_putc(out, '\n');
	link_show(out, "flame graph", json_member(j, "flameGraphUrl"));
	notices_show(out, j, s);
}

static int
show_merged(struct cli *c, const char *path)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_JSON json_t *graph = NULL;
	int rc = ask(c, "GET", path, NULL, &r);

	if (rc)
		return rc;
	if (c->opt.json)
		return top_print_json(c, r.json, r.json, path);
	graph = top_graph(c, r.json, path);
	rc = top_of(c, r.json, path, graph, &out);
	summary_show(&out, r.json, &c->screen);
	return rc ? rc : print(&out);
}

int
cmd_merge(struct cli *c)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc = range_path(c, "/merge", "cpu", &path);

	if (rc)
		return rc;
	if (c->opt.format || c->opt.output)
		return profile_fetch(c, buf_str(&path));
	return show_merged(c, buf_str(&path));
}
