#include "verdict.h"

#include "named.h"
#include "profile/types.h"
#include "result.h"
#include "table.h"
#include "text.h"
#include "values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void
verdict_link_show(struct buf *out, const json_t *j)
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
verdict_query(const struct cli *c, struct buf *path)
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
verdict_delta_show(struct buf *out, const json_t *j)
{
	const json_t *test = json_object_get(j, "test");
	const char *by = json_member(test, "normalize");
	bool work = !strcmp(by, "work"), rate = !work && strcmp(by, "none");

	buf_addf(out, "cost%s: ",
	         work   ? " per unit of work"
	         : rate ? " per second"
	                : "");
	if (json_is_null(json_object_get(j, "overallDelta")))
		buf_addf(out,
		         "unknown (a profile has no samples%s, or its "
		         "sum is rough)\n",
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
verdict_show(struct buf *out, const json_t *comparison, const struct screen *s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *verdict = json_member(comparison, "verdict");
	const char *words = json_member(comparison, "verdictText");

	safe_puts(&text,
	          *words ? words : verdict); /* older servers send no text */
	screen_puts(s,
	            !strcmp(verdict, "regressed")           ? STYLE_BAD
	            : !strcmp(verdict, "costs-more")        ? STYLE_BAD
	            : !strcmp(verdict, "insufficient-data") ? STYLE_WARNING
	                                                    : STYLE_GOOD,
	            buf_str(&text), out);
}

void
verdict_reason_show(struct buf *out, const json_t *comparison,
                    const struct screen *s)
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

/* Columns for tests of other quantities than shares. */
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
way_of(const struct verdict_cost *cost)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (!strcmp(ways[i].by, cost->by))
			return &ways[i];
	return NULL;
}

static double
cost_at(const json_t *row, const char *key, const struct verdict_cost *cost,
        int64_t work)
{
	double v = json_number_value(json_object_get(row, key));

	return strcmp(cost->by, "work") || work < 1 ? v : v / (double)work;
}

static void
put_costs(json_t *row, const struct way *way, const struct verdict_cost *cost)
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

/* Returns the unit of the judged profile, or of the ranges. */
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

struct verdict_cost
verdict_cost_of(struct cli *c, const json_t *j, const char *now)
{
	struct verdict_cost cost = {
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
verdict_changes_show(struct buf *out, const char *title, json_t *all,
                     const struct verdict_cost *cost, int64_t limit,
                     const struct screen *s)
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
