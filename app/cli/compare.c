/* stoker compare: functions of two profiles, or ranges of time. */
#include "session.h"

#include "named.h"
#include "profile.h"
#include "profile/types.h"
#include "table.h"
#include "text.h"
#include "values.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void
diff_link_show(struct buf *out, const json_t *j)
{
	const char *url = json_member(json_object_get(j, "links"), "diff");

	if (!*url)
		return; /* the server is too old to send it */
	buf_putc(out, '\n');
	link_show(out, "differential flame graph", url);
}

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
		buf_addf(out, ", noise measured over %" PRId64 " parts", parts);
	else
		buf_puts(out, ", noise estimated from how all functions "
		              "differ");
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
	bool work = !strcmp(by, "work"), rate = !work && strcmp(by, "none");

	buf_addf(out, "cost%s: ",
	         work   ? " per unit of work"
	         : rate ? " per second"
	                : "");
	if (json_is_null(json_object_get(j, "overallDelta")))
		buf_addf(out, "unknown (a profile has no samples%s)\n",
		         rate ? " or no duration" : "");
	else
		buf_addf(out, "%+.1f %% (95 %%: %+.1f to %+.1f)\n",
		         json_number_value(json_object_get(j, "overallDelta")),
		         json_number_value(
				 json_object_get(j, "overallDeltaLow")),
		         json_number_value(
				 json_object_get(j, "overallDeltaHigh")));
	test_show(out, test);
}

void
verdict_show(struct buf *out, const char *verdict, const struct screen *s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&text, verdict);
	screen_puts(s,
	            !strcmp(verdict, "regressed")           ? STYLE_BAD
	            : !strcmp(verdict, "costs-more")        ? STYLE_BAD
	            : !strcmp(verdict, "insufficient-data") ? STYLE_WARNING
	                                                    : STYLE_GOOD,
	            buf_str(&text), out);
}

void
reason_show(struct buf *out, const json_t *comparison, const struct screen *s)
{
	CLEANUP_BUF struct buf reason = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&reason, json_member(comparison, "reason"));
	if (!reason.len)
		return; /* the server is too old to send it */
	text_wrap(out, buf_str(&reason), 0, 0, s->width);
	buf_putc(out, '\n');
}

/* --- functions ------------------------------------------------------------ */

static const struct column share_columns[] = {
	{"BASE %", "basePct", RIGHT, PERCENT},
	{"NOW %", "comparisonPct", RIGHT, PERCENT},
	{"POINTS", "deltaPct", RIGHT, PERCENT},
	{"P", "pValue", RIGHT, PLAIN},
	{"PACKAGE", "package", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

static const struct column total_columns[] = {
	{"BASE TOTAL %", "baseCumulativePct", RIGHT, PERCENT},
	{"NOW TOTAL %", "comparisonCumulativePct", RIGHT, PERCENT},
	{"POINTS", "cumulativeDeltaPct", RIGHT, PERCENT},
	{"P", "cumulativePValue", RIGHT, PLAIN},
	{"PACKAGE", "package", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

#define COST_BASE   "baseText"
#define COST_NOW    "nowText"
#define COST_CHANGE "changeText"

/* Columns for tests that are not of shares: shares would belong to another
 * test. */
static const struct way {
	const char *by, *base_key, *now_key;
	struct column columns[6];
} ways[] = {
#define COLUMNS(base, now)                                       \
	{                                                        \
		{base, COST_BASE, RIGHT, PLAIN},                 \
			{now, COST_NOW, RIGHT, PLAIN},           \
			{"CHANGE %", COST_CHANGE, RIGHT, PLAIN}, \
			{"P", "pValue", RIGHT, PLAIN},           \
			{"PACKAGE", "package", LEFT, NAME},      \
			{"FUNCTION", "funcName", LEFT, NAME},    \
	}
	{"rate", "basePerSecond", "comparisonPerSecond",
         COLUMNS("BASE/S", "NOW/S")},
	{"work", "baseValue", "comparisonValue",
         COLUMNS("BASE/WORK", "NOW/WORK")},
	{"none", "baseValue", "comparisonValue", COLUMNS("BASE", "NOW")},
#undef COLUMNS
};

static const struct way *
way_of(const struct cost *cost)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (!strcmp(ways[i].by, cost->by))
			return &ways[i];
	return NULL;
}

static double
cost_at(const json_t *row, const char *key, const struct cost *cost,
        int64_t work)
{
	double v = json_number_value(json_object_get(row, key));

	return strcmp(cost->by, "work") || work < 1 ? v : v / (double)work;
}

static void
put_costs(json_t *row, const struct way *way, const struct cost *cost)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	double base = cost_at(row, way->base_key, cost, cost->base_work);
	double now = cost_at(row, way->now_key, cost, cost->work);

	value_set(row, COST_BASE, llround(base), cost->unit);
	value_set(row, COST_NOW, llround(now), cost->unit);
	if (base > 0)
		buf_addf(&text, "%+.1f", 100 * (now / base - 1));
	else
		buf_puts(&text, "new");
	json_object_set_new(row, COST_CHANGE, json_text(buf_str(&text)));
}

/* Returns the unit of the profile that was judged, or of the ranges. */
static const char *
unit_compared(struct cli *c, const char *now)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *profile = NULL;
	const struct type *t = NULL;

	if (id_valid("", now)) {
		profile_path(&path, now);
		profile = ask_quietly(c, buf_str(&path));
		t = type_find(json_member(profile, "profileType"));
	}
	if (!t)
		t = type_find(type_asked(c));
	return t ? t->unit : "";
}

struct cost
cost_of(struct cli *c, const json_t *j, const char *now)
{
	struct cost cost = {
		.by = json_member(json_object_get(j, "test"), "normalize"),
		.unit = "",
		.base_work = c->opt.base_work,
		.work = c->opt.work,
	};

	if (way_of(&cost))
		cost.unit = unit_compared(c, now);
	return cost;
}

void
changes_show(struct buf *out, const char *title, json_t *all,
             const struct cost *cost, int64_t limit, const struct screen *s)
{
	CLEANUP_JSON json_t *rows = json_array();
	const struct way *way = cost ? way_of(cost) : NULL;
	json_t *row;
	size_t i;

	json_array_foreach(all, i, row) {
		if (limit >= 0 && (int64_t)i >= limit)
			break;
		json_array_append(rows, row);
		if (way)
			put_costs(row, way, cost);
	}
	if (!json_array_size(rows))
		return;
	buf_addf(out, "\n%s\n", title);
	if (!cost)
		table_show(out, total_columns, ARRAY_LEN(total_columns), rows,
		           s);
	else if (way)
		table_show(out, way->columns, ARRAY_LEN(way->columns), rows, s);
	else
		table_show(out, share_columns, ARRAY_LEN(share_columns), rows,
		           s);
}

/* --- compare -------------------------------------------------------------- */

/* Parameters of a side: its profile, or the ends of its range. */
struct side {
	const char *profile, *from, *to;
};

static int
range_query(struct cli *c, const char *operand, const struct side *side,
            struct buf *path)
{
	CLEANUP_BUF struct buf from = BUF_INIT(BUF_MAX_SMALL);
	const char *slash = strchr(operand, '/');
	int rc;

	buf_add(&from, operand, (size_t)(slash - operand));
	rc = query_time(c, "FROM/TO", side->from, buf_str(&from), path);
	return rc ? rc : query_time(c, "FROM/TO", side->to, slash + 1, path);
}

static int
side_query(struct cli *c, const char *operand, const struct side *side,
           struct buf *path)
{
	char id[ID_MAX];
	int rc;

	if (strchr(operand, '/'))
		return range_query(c, operand, side, path);
	rc = profile_named(c, operand, type_asked(c), id);
	if (!rc)
		query_add(path, side->profile, id);
	else if (rc == LEAVE_FAILED && isalnum((unsigned char)*operand) &&
	         strncmp(operand, "sess-", 5) && strncmp(operand, "win-", 4))
		fprintf(stderr, "  stoker check --baseline compares with a "
		                "baseline, by its label\n");
	return rc;
}

static int
sides_query(struct cli *c, struct buf *path)
{
	static const struct side base = {"baseProfileId", "baseFrom", "baseTo"},
				 now = {"comparisonProfileId", "comparisonFrom",
	                                "comparisonTo"};
	bool ranges = strchr(c->operands[0], '/') &&
	              strchr(c->operands[1], '/');
	int rc = side_query(c, c->operands[0], &base, path);

	if (!rc)
		rc = side_query(c, c->operands[1], &now, path);
	query_add(path, "service", c->opt.service);
	query_add(path, "profileType", ranges ? type_asked(c) : c->opt.type);
	query_add(path, "host", c->opt.host);
	return rc;
}

static void
comparison_show(struct buf *out, struct cli *c, const json_t *j)
{
	json_t *more = json_object_get(j, "regressions"),
	       *less = json_object_get(j, "improvements");
	struct cost cost = cost_of(c, j, json_member(j, "comparisonProfile"));
	int64_t limit = c->opt.limit < 0 ? TOP_ROWS : c->opt.limit;

	buf_puts(out, "verdict: ");
	verdict_show(out, json_member(j, "verdict"), &c->screen);
	buf_putc(out, '\n');
	reason_show(out, j, &c->screen);
	delta_show(out, j);
	changes_show(out, "regressions", more, &cost, limit, &c->screen);
	changes_show(out, RISEN_TITLE,
	             json_object_get(j, "cumulativeRegressions"), NULL, limit,
	             &c->screen);
	changes_show(out, "improvements", less, &cost, limit, &c->screen);
	diff_link_show(out, j);
}

int
cmd_compare(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int rc;

	buf_puts(&path, PROFILES "/compare");
	rc = sides_query(c, &path);
	if (rc)
		return rc;
	work_query(c, &path);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	comparison_show(&out, c, r.json);
	return print(&out);
}
