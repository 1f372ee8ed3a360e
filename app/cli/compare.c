/* stoker compare: functions of two profiles, or ranges of time. */
#include "named.h"
#include "result.h"
#include "table.h"
#include "verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The names of a side's parameters: its profile, or the ends of its range. */
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
	struct verdict_cost cost =
		verdict_cost_of(c, j, json_member(j, "comparisonProfile"));
	int64_t limit = c->opt.limit < 0 ? TOP_ROWS : c->opt.limit;

	buf_puts(out, "verdict: ");
	verdict_show(out, j, &c->screen);
	buf_putc(out, '\n');
	verdict_reason_show(out, j, &c->screen);
	verdict_delta_show(out, j);
	verdict_changes_show(out, "regressions", more, &cost, limit,
	                     &c->screen);
	verdict_changes_show(out, RISEN_TITLE,
	                     json_object_get(j, "cumulativeRegressions"), NULL,
	                     limit, &c->screen);
	verdict_changes_show(out, "improvements", less, &cost, limit,
	                     &c->screen);
	verdict_link_show(out, j);
}

int
cmd_compare(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int rc;

	buf_puts(&path, PROFILES "/compare");
	rc = sides_query(c, &path);
	if (rc)
		return rc;
	verdict_query(c, &path);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	comparison_show(&out, c, r.json);
	return print(&out);
}
