/* stoker baseline, check: profiles with which later ones are compared. */
#include "session.h"

#include "files.h"
#include "named.h"
#include "report.h"
#include "store/baseline.h"
#include "table.h"
#include "text.h"
#include "verdict.h"

#include <stdio.h>
#include <string.h>

#define BASELINES PROFILING "/baselines"

/* Prints the new id, and a note if older baselines have the same label. */
static int
show_added(const struct cli *c, const json_t *baseline)
{
	CLEANUP_BUF struct buf what = BUF_INIT(BUF_MAX_SMALL);
	json_int_t others =
		json_integer_value(json_object_get(baseline, "othersOfLabel"));

	buf_puts(&what, json_member(baseline, "baselineId"));
	if (others)
		buf_addf(&what,
		         " (%" JSON_INTEGER_FORMAT " older baseline%s %s this "
		         "label, which now names the new one)",
		         others, others == 1 ? "" : "s",
		         others == 1 ? "has" : "have");
	return print_done(c, c->operands[0], buf_str(&what));
}

int
cmd_baseline_add(struct cli *c)
{
	CLEANUP_REPLY struct http_reply session = REPLY_INIT;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *body = NULL;
	CLEANUP_JSON json_t *tags = json_array();
	char id[ID_MAX];
	int rc = profile_named(c, c->operands[1], type_asked(c), id);

	if (!rc)
		rc = session_ask(c, id, &session);
	if (rc)
		return rc;
	for (size_t i = 0; i < c->opt.tag.n; i++)
		if (json_array_append_new(tags, json_string(c->opt.tag.p[i])))
			return failed("a tag is not UTF-8");
	body = json_pack(
		"{ss ss ss ss sO}", "label", c->operands[0], "sessionId", id,
		"profileType", json_member(session.json, "profileType"),
		"description", c->opt.description ? c->opt.description : "",
		"tags", tags);
	if (!body)
		return failed("an argument is not UTF-8");
	rc = ask(c, "POST", BASELINES, body, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	return show_added(c, r.json);
}

int
cmd_baseline_list(struct cli *c)
{
	static const struct column columns[] = {
		{"ID", "baselineId", LEFT, ID},
		{"CREATED", "createdAt", LEFT, TIME},
		{"TYPE", "profileType", LEFT, PLAIN},
		{"SERVICE", "service", LEFT, MIDDLE},
		{"TAGS", "tags", LEFT, PLAIN},
		{"LABEL", "baselineLabel", LEFT, PLAIN},
	};
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *items = NULL;
	int rc;

	buf_puts(&path, BASELINES);
	session_filter(c, &path);
	rc = list_of_service(c, buf_str(&path), &items);
	return rc ? rc : items_show(c, items, columns, ARRAY_LEN(columns));
}

static const struct kind_named kind = {
	.what = "baseline",
	.prefix = BASELINE_PREFIX,
	.id = "baselineId",
	.name = "baselineLabel",
	.newest = true,
};

int
cmd_baseline_remove(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *items = NULL;
	const json_t *item;
	int rc = list_ask(c, BASELINES, &items);

	if (!rc)
		rc = item_named(items, &kind, c->operands[0], &item);
	if (!rc)
		rc = confirm(c, "Remove the baseline '%s' (%s) of %s?",
		             json_member(item, "baselineLabel"),
		             json_member(item, "baselineId"),
		             json_member(item, "service"));
	if (rc)
		return rc;
	session_path(&path, "/baselines", json_member(item, "baselineId"));
	rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	return rc ? rc : print_done(c, c->operands[0], "removed");
}

/* --- check --- */

/* Finds the newest baseline with a label, for a service and type. */
static int
find_label(struct cli *c, const char *label, const char *service,
           const char *type, char id[static ID_MAX])
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	const json_t *first;
	int rc;

	buf_puts(&path, BASELINES "?limit=1");
	query_add(&path, "label", label);
	query_add(&path, "service", service);
	query_add(&path, "profileType", type);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	first = json_array_get(json_object_get(r.json, "items"), 0);
	if (!first)
		return failed("no baseline '%s' of %s profiles of %s\n"
		              "  stoker baseline list shows all",
		              label, type, service);
	snprintf(id, ID_MAX, "%s", json_member(first, "baselineId"));
	return LEAVE_OK;
}

/* session is NULL if a range is checked. */
static int
find_baseline(struct cli *c, const char *session, char id[static ID_MAX])
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	int rc;

	if (id_valid(BASELINE_PREFIX, c->opt.baseline)) {
		snprintf(id, ID_MAX, "%s", c->opt.baseline);
		return LEAVE_OK;
	}
	if (!session)
		return find_label(c, c->opt.baseline, c->opt.service,
		                  type_asked(c), id);
	rc = session_ask(c, session, &r);
	return rc ? rc
	          : find_label(c, c->opt.baseline,
	                       json_member(r.json, "service"),
	                       json_member(r.json, "profileType"), id);
}

/* Writes the report, to standard output unless a file is named. */
static int
write_report(struct cli *c, const json_t *j)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	report_write(j, c->opt.report, &out);
	if (!c->opt.output)
		return print_reply(&out);
	return buf_err(&out) ? failed("%s", strerror(-buf_err(&out)))
	                     : write_named(c->opt.output, &out);
}

static int
show_check(struct cli *c, const json_t *j)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	struct verdict_cost cost;

	if (c->opt.json)
		return print_json(j);
	cost = verdict_cost_of(c, j, json_member(j, "sessionId"));
	verdict_show(&out, j, &c->screen);
	buf_puts(&out, ": ");
	safe_puts(&out, json_member(j, "sessionId"));
	buf_puts(&out, " against ");
	safe_puts(&out, json_member(j, "baselineLabel"));
	buf_puts(&out, " (");
	safe_puts(&out, json_member(j, "baseSessionId"));
	buf_puts(&out, ")\n");
	verdict_reason_show(&out, j, &c->screen);
	verdict_delta_show(&out, j);
	verdict_changes_show(&out, "functions", json_object_get(j, "functions"),
	                     &cost, c->opt.limit, &c->screen);
	verdict_changes_show(&out, RISEN_TITLE,
	                     json_object_get(j, "cumulativeRegressions"), NULL,
	                     c->opt.limit, &c->screen);
	verdict_link_show(&out, j);
	return print(&out);
}

static int
status_of(const char *verdict)
{
	static const struct {
		const char *verdict;
		int status;
	} rows[] = {
		{"ok", LEAVE_OK},
		{"improved", LEAVE_OK},
		{"regressed", LEAVE_FAILED},
		{"costs-more", LEAVE_FAILED},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].verdict, verdict))
			return rows[i].status;
	return LEAVE_UNJUDGED;
}

/* Appends the range to check; a host narrows the range. */
static int
range_of_query(struct cli *c, struct buf *path)
{
	int rc = query_time(c, "--from", "from", c->opt.from, path);

	if (!rc && c->opt.to)
		rc = query_time(c, "--to", "to", c->opt.to, path);
	query_add(path, "service", c->opt.service);
	query_add(path, "host", c->opt.host);
	return rc;
}

static int
check(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	char session[ID_MAX], id[ID_MAX];
	bool ranged = !c->opt.session;
	int rc = ranged ? 0
	                : profile_named(c, c->opt.session, type_asked(c),
	                                session);

	if (!rc)
		rc = find_baseline(c, ranged ? NULL : session, id);
	if (rc)
		return rc == LEAVE_FAILED ? LEAVE_UNJUDGED : rc;
	session_path(&path, "/baselines", id);
	buf_puts(&path, "/check");
	if (ranged)
		rc = range_of_query(c, &path);
	else
		query_add(&path, "sessionId", session);
	verdict_query(c, &path);
	if (!rc)
		rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (!rc && c->opt.report)
		rc = write_report(c, r.json);
	if (!rc && (!c->opt.report || c->opt.output))
		rc = show_check(c, r.json);
	if (rc) /* a refusal must not look like a regression */
		return rc == LEAVE_FAILED ? LEAVE_UNJUDGED : rc;
	return status_of(json_member(r.json, "verdict"));
}

int
cmd_check(struct cli *c)
{
	if (!c->opt.baseline || !c->opt.session == !c->opt.from)
		return usage_error("check needs %s\n  stoker help check",
		                   !c->opt.baseline && c->opt.session
		                           ? "--baseline BASELINE, too"
		                   : c->opt.baseline && c->opt.session
		                           ? "--session or --from, not both"
		                   : c->opt.baseline
		                           ? "--session PROFILE, or --service "
		                             "SERVICE --from TIME, too"
		                           : "--baseline and --session");
	if (c->opt.from && !c->opt.service)
		return usage_error("--from needs --service SERVICE, too\n"
		                   "  stoker help check");
	if (c->opt.report && !report_format_valid(c->opt.report))
		return usage_error("--report takes markdown, junit or json, "
		                   "not '%s'",
		                   c->opt.report);
	if (c->opt.output && !c->opt.report)
		return usage_error("--output needs --report, too\n"
		                   "  stoker help check");
	return check(c);
}
