/* stoker compare: functions of two profiles, or ranges of time. */
#include "session.h"

#include "named.h"
#include "profile.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

static const struct column change_columns[] = {
	{"BASE %", "basePct", RIGHT, PERCENT},
	{"NOW %", "comparisonPct", RIGHT, PERCENT},
	{"POINTS", "deltaPct", RIGHT, PERCENT},
	{"P", "pValue", RIGHT, PLAIN},
	{"PACKAGE", "package", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

void
diff_link_show(struct buf *out, const json_t *j)
{
	const char *url = json_member(json_object_get(j, "links"), "diff");

	if (!*url)
		return; /* of a server before it had any */
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
reason_show(struct buf *out, const json_t *comparison)
{
	const char *reason = json_member(comparison, "reason");

	if (!*reason)
		return; /* of a server before it had any */
	safe_puts(out, reason);
	buf_putc(out, '\n');
}

void
changes_show(struct buf *out, const char *title, const json_t *all,
             int64_t limit, const struct screen *s)
{
	CLEANUP_JSON json_t *rows = json_array();
	json_t *row;
	size_t i;

	json_array_foreach(all, i, row) {
		if (limit >= 0 && (int64_t)i >= limit)
			break;
		json_array_append(rows, row);
	}
	if (!json_array_size(rows))
		return;
	buf_addf(out, "\n%s\n", title);
	table_show(out, change_columns, ARRAY_LEN(change_columns), rows, s);
}

/* --- compare -------------------------------------------------------------- */

/* What the API calls a side: its profile, and the ends of its range. */
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
comparison_show(struct buf *out, const struct cli *c, const json_t *j)
{
	const json_t *more = json_object_get(j, "regressions"),
		     *less = json_object_get(j, "improvements");
	int64_t limit = c->opt.limit < 0 ? TOP_ROWS : c->opt.limit;

	buf_puts(out, "verdict: ");
	verdict_show(out, json_member(j, "verdict"), &c->screen);
	buf_putc(out, '\n');
	reason_show(out, j);
	delta_show(out, j);
	changes_show(out, "regressions", more, limit, &c->screen);
	changes_show(out, "improvements", less, limit, &c->screen);
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
