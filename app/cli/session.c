/* stoker sessions, analysis, diff, compare: profiles, and two of them. */
#include "session.h"

#include "profile.h"
#include "table.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void
family_path(struct buf *out, const char *rest, const char *id)
{
	buf_addf(out, FAMILY "%s/", rest);
	url_escape(out, id);
}

void
filter_path(const struct cli *c, struct buf *out)
{
	query_add(out, "service", c->opt.service);
	query_add(out, "profileType", c->opt.type);
}

const char *
json_member(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

int
ask_session(struct cli *c, const char *id, struct reply *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	family_path(&path, "/sessions", id);
	return ask(c, "GET", buf_str(&path), NULL, out);
}

int
cmd_sessions(struct cli *c)
{
	static const struct column columns[] = {
		{"ID", "id", LEFT, PLAIN},
		{"STARTED", "startedAt", LEFT, PLAIN},
		{"TYPE", "profileType", LEFT, PLAIN},
		{"STATUS", "status", LEFT, PLAIN},
		{"SAMPLES", "sampleCount", RIGHT, PLAIN},
		{"SERVICE", "service", LEFT, PLAIN},
	};
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&path, FAMILY "/sessions");
	filter_path(c, &path);
	return list_show(c, buf_str(&path), columns, ARRAY_LEN(columns));
}

/* --- stacks --- */

/* A stack's line: its leaf and who called it tell it apart. */
static const struct column stack_columns[] = {
	{"COUNT", "count", RIGHT, PLAIN},
	{"STATE", "state", LEFT, PLAIN},
	{"WAITS FOR", "waitReason", LEFT, PLAIN},
	{"CREATED BY", "createdBy", LEFT, NAME},
	{"STACK", "frames", LEFT, STACK},
};
static const struct column leak_columns[] = {
	{"SEVERITY", "severity", LEFT, PLAIN},
	{"RULE", "rule", LEFT, PLAIN},
	{"COUNT", "count", RIGHT, PLAIN},
	{"BEFORE", "baseCount", RIGHT, PLAIN},
	{"WAITS FOR", "waitReason", LEFT, PLAIN},
	{"SITE", "site", LEFT, NAME},
};
/* Only goroutines and threads have a state. */
static const struct column waiting_columns[] = {
	{"BEFORE", "baseCount", RIGHT, PLAIN},
	{"NOW", "compareCount", RIGHT, PLAIN},
	{"STATE", "state", LEFT, PLAIN},
	{"WAITS FOR", "waitReason", LEFT, PLAIN},
	{"STACK", "frames", LEFT, STACK},
};
static const struct column delta_columns[] = {
	{"BEFORE", "baseCount", RIGHT, PLAIN},
	{"NOW", "compareCount", RIGHT, PLAIN},
	{"STACK", "frames", LEFT, STACK},
};
static const struct column change_columns[] = {
	{"BASE %", "basePct", RIGHT, PERCENT},
	{"NOW %", "comparisonPct", RIGHT, PERCENT},
	{"POINTS", "deltaPct", RIGHT, PERCENT},
	{"P", "pValue", RIGHT, PLAIN},
	{"PACKAGE", "package", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

/* A titled table of the first rows of a list, nothing for an empty one. */
static void
rows_show(struct buf *out, const char *title, const struct column *columns,
          size_t n, const json_t *all, int64_t limit)
{
	CLEANUP_JSON json_t *rows = json_array();
	json_t *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		if (limit >= 0 && (int64_t)i >= limit)
			break;
		json_array_append(rows, row);
	}
	if (!json_array_size(rows))
		return;
	buf_addf(out, "%s%s\n", out->len ? "\n" : "", title);
	table_show_used(out, columns, n, rows, screen_width(STDOUT_FILENO));
}
#define ROWS_SHOW(out, title, columns, all, limit) \
	rows_show(out, title, columns, ARRAY_LEN(columns), all, limit)

void
diff_link_show(struct buf *out, const json_t *j)
{
	const char *url = json_member(json_object_get(j, "links"), "diff");

	if (!*url)
		return; /* of a server before it had any */
	buf_puts(out, "\ndifferential flame graph: ");
	safe_puts(out, url);
	buf_putc(out, '\n');
}

int
cmd_analysis(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int64_t limit = c->opt.limit < 0 ? TOP_ROWS : c->opt.limit;
	const json_t *j;
	int rc;

	family_path(&path, "/sessions", c->operands[0]);
	buf_addf(&path, "/analysis?top=%lld",
	         (long long)(limit < 1 ? 1 : limit));
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	j = r.json;
	buf_puts(&out, "count:  ");
	value_show(&out, json_object_get(j, "goroutineCount"));
	buf_addf(&out, "\ngrowth: %.2f times ",
	         json_number_value(json_object_get(j, "goroutineGrowthRate")));
	safe_puts(&out, json_member(j, "growthBase"));
	buf_putc(&out, '\n');
	ROWS_SHOW(&out, "may leak", leak_columns,
	          json_object_get(j, "leakSuspects"), -1);
	ROWS_SHOW(&out, "stacks", stack_columns,
	          json_object_get(j, "topStacks"), limit);
	return print(&out);
}

static void
deltas_show(struct buf *out, const json_t *j, const char *type, int64_t limit)
{
	static const struct {
		const char *title, *key;
	} lists[] = {
		{"new", "newStacks"},
		{"grown", "grownStacks"},
		{"shrunk", "shrunkStacks"},
		{"gone", "goneStacks"},
	};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const json_t *rows = json_object_get(j, lists[i].key);

		if (!strcmp(type, "goroutine"))
			ROWS_SHOW(out, lists[i].title, waiting_columns, rows,
			          limit);
		else
			ROWS_SHOW(out, lists[i].title, delta_columns, rows,
			          limit);
	}
}

int
cmd_diff(struct cli *c)
{
	CLEANUP_REPLY struct reply session = REPLY_INIT;
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_JSON json_t *body = NULL;
	const char *type;
	int rc = ask_session(c, c->operands[0], &session);

	if (rc)
		return rc;
	type = json_member(session.json, "profileType");
	body = json_pack("{ss ss ss}", "baseId", c->operands[0], "compareId",
	                 c->operands[1], "type", type);
	if (!body)
		return failed("an argument is not UTF-8");
	rc = ask(c, "POST", FAMILY "/diff", body, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	buf_puts(&out, "growth: ");
	value_show(&out, json_object_get(r.json, "growthCount"));
	buf_putc(&out, '\n');
	deltas_show(&out, r.json, type,
	            c->opt.limit < 0 ? TOP_ROWS : c->opt.limit);
	diff_link_show(&out, r.json);
	return print(&out);
}

/* --- functions --- */

static void
count_query(struct buf *path, const char *name, int64_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&text, "%" PRId64, n);
	if (n >= 0)
		query_add(path, name, buf_str(&text));
}

void
work_query(const struct cli *c, struct buf *path)
{
	query_add(path, "normalize", c->opt.normalize);
	count_query(path, "baseWork", c->opt.base_work);
	count_query(path, "comparisonWork", c->opt.work);
}

static void
test_show(struct buf *out, const json_t *test)
{
	int64_t parts = json_integer_value(json_object_get(test, "blocks"));
	int64_t captures =
		json_integer_value(json_object_get(test, "captures"));

	buf_puts(out, "tested: ");
	safe_puts(out, json_member(test, "normalize"));
	if (parts)
		buf_addf(out, ", variance measured over %" PRId64 " parts",
		         parts);
	else
		buf_puts(out, ", variance guessed");
	if (captures > 1)
		buf_addf(out, " and %" PRId64 " captures of the base",
		         captures);
	buf_putc(out, '\n');
}

void
delta_show(struct buf *out, const json_t *j)
{
	const json_t *test = json_object_get(j, "test");
	const char *by = json_member(test, "normalize");
	const char *per = !strcmp(by, "work")   ? " per unit of work"
	                  : !strcmp(by, "none") ? ""
	                                        : " per second";

	if (json_is_null(json_object_get(j, "overallDelta")))
		buf_addf(out, "cost%s: unknown (a profile has no samples%s)\n",
		         per, *per && by[0] != 'w' ? " or no duration" : "");
	else
		buf_addf(out, "cost%s: %+.1f %% (95 %%: %+.1f to %+.1f)\n", per,
		         json_number_value(json_object_get(j, "overallDelta")),
		         json_number_value(
				 json_object_get(j, "overallDeltaLow")),
		         json_number_value(
				 json_object_get(j, "overallDeltaHigh")));
	test_show(out, test);
}

void
changes_show(struct buf *out, const json_t *rows, int64_t limit)
{
	ROWS_SHOW(out, "functions", change_columns, rows, limit);
}

/* A profile's id, or a range FROM/TO; which of them. */
static bool
side_query(struct buf *path, const char *operand, const char *const names[3])
{
	CLEANUP_BUF struct buf from = BUF_INIT(BUF_MAX_SMALL);
	const char *slash = strchr(operand, '/');

	if (!slash) {
		query_add(path, names[0], operand);
		return false;
	}
	buf_add(&from, operand, (size_t)(slash - operand));
	query_add(path, names[1], buf_str(&from));
	query_add(path, names[2], slash + 1);
	return true;
}

static void
sides_query(struct cli *c, struct buf *path)
{
	static const char *const base[] = {"baseProfileId", "baseFrom",
	                                   "baseTo"};
	static const char *const now[] = {"comparisonProfileId",
	                                  "comparisonFrom", "comparisonTo"};
	bool both = side_query(path, c->operands[0], base);

	both &= side_query(path, c->operands[1], now);
	query_add(path, "service", c->opt.service);
	query_add(path, "profileType",
	          c->opt.type || !both ? c->opt.type : "cpu");
	query_add(path, "host", c->opt.host);
}

int
cmd_compare(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int64_t limit = c->opt.limit < 0 ? TOP_ROWS : c->opt.limit;
	int rc;

	buf_puts(&path, PROFILES "/compare");
	sides_query(c, &path);
	work_query(c, &path);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	buf_puts(&out, "verdict: ");
	safe_puts(&out, json_member(r.json, "verdict"));
	buf_putc(&out, '\n');
	delta_show(&out, r.json);
	ROWS_SHOW(&out, "regressions", change_columns,
	          json_object_get(r.json, "regressions"), limit);
	ROWS_SHOW(&out, "improvements", change_columns,
	          json_object_get(r.json, "improvements"), limit);
	diff_link_show(&out, r.json);
	return print(&out);
}
