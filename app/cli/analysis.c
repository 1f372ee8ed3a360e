/* stoker analysis, diff: the states of goroutines and threads. */
#include "session.h"

#include "named.h"
#include "stacks.h"
#include "table.h"
#include "text.h"
#include "verdict.h"

#include <inttypes.h>
#include <string.h>

static const struct column leak_columns[] = {
	{"SEVERITY", "severity", LEFT, PLAIN},
	{"RULE", "rule", LEFT, PLAIN},
	{"COUNT", "count", RIGHT, PLAIN},
	{"BEFORE", "baseCount", RIGHT, PLAIN},
	{"WAITS FOR", "waitReason", LEFT, PLAIN},
	{"SITE", "site", LEFT, NAME},
};

static int64_t
stack_limit(const struct cli *c)
{
	return c->opt.limit < 0 ? STACK_ROWS : c->opt.limit;
}

static void
title_show(struct buf *out, const struct screen *s, const char *title)
{
	buf_putc(out, '\n');
	screen_puts(s, STYLE_HEAD, title, out);
	buf_putc(out, '\n');
}

/* Appends "3 threads" or "1 more goroutine". The quality report of a snapshot
 * of threads has their number; a Go program's does not. */
static void
count_show(struct buf *out, const json_t *count, const char *more,
           const json_t *session)
{
	const json_t *quality = json_object_get(session, "quality");
	json_int_t n = json_integer_value(count);

	buf_addf(out, "%" JSON_INTEGER_FORMAT " %s%s%s", n, more,
	         json_integer_value(json_object_get(quality, "threads"))
	                 ? "thread"
	                 : "goroutine",
	         n == 1 ? "" : "s");
}

/* --- analysis ------------------------------------------------------------- */

#define RATIO_EXACT 10 /* larger ratios are shown without decimals */

/* Appends "26 goroutines, 1.30 times those of sess-...". */
static void
growth_show(struct buf *out, const json_t *analysis, const json_t *session)
{
	const char *base = json_member(analysis, "growthBase");
	double ratio = json_number_value(
		json_object_get(analysis, "goroutineGrowthRate"));

	count_show(out, json_object_get(analysis, "goroutineCount"), "",
	           session);
	if (strcmp(base, "none") != 0) {
		buf_addf(out, ", %.*f times those of ",
		         ratio < RATIO_EXACT ? 2 : 0, ratio);
		safe_puts(out, base);
	}
	buf_putc(out, '\n');
}

/* Prints the sentence of each rule that fired, once. */
static void
rules_show(struct buf *out, const json_t *suspects, const struct screen *s)
{
	const char *before = "";
	const json_t *one;
	size_t i;

	json_array_foreach(suspects, i, one) {
		CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);

		if (!strcmp(json_member(one, "rule"), before))
			continue;
		before = json_member(one, "rule");
		safe_puts(&line, before);
		buf_puts(&line, ": ");
		safe_puts(&line, json_member(one, "why"));
		text_wrap(out, buf_str(&line), 0, 2, s->width);
		buf_putc(out, '\n');
	}
}

static void
suspects_show(struct buf *out, const json_t *suspects, const struct screen *s)
{
	if (!json_array_size(suspects))
		return;
	title_show(out, s, "may leak");
	table_show(out, leak_columns, ARRAY_LEN(leak_columns), suspects, s);
	rules_show(out, suspects, s);
}

/* Appends the number of goroutines or threads whose stacks are not shown. */
static void
rest_show(struct buf *out, const json_t *analysis, int64_t limit)
{
	json_int_t rest =
		json_integer_value(json_object_get(analysis, "goroutineCount"));
	const json_t *stack;
	size_t i;

	json_array_foreach(json_object_get(analysis, "topStacks"), i, stack) {
		if ((int64_t)i < limit)
			rest -= json_integer_value(
				json_object_get(stack, "count"));
	}
	if (rest > 0)
		buf_addf(out,
		         "\n%" JSON_INTEGER_FORMAT " more do something "
		         "else: --limit shows more stacks than %" PRId64 "\n",
		         rest, limit);
}

static void
whole_show(struct buf *out, const struct cli *c, const json_t *session,
           const json_t *analysis)
{
	CLEANUP_STACKS struct stacks k = {.screen = &c->screen};
	int64_t limit = stack_limit(c);

	reasons_show(out, session, &c->screen);
	growth_show(out, analysis, session);
	suspects_show(out, json_object_get(analysis, "leakSuspects"),
	              &c->screen);
	buf_putc(out, '\n');
	stacks_show(&k, json_object_get(analysis, "topStacks"), limit, out);
	rest_show(out, analysis, limit);
}

int
session_analysis_show(struct cli *c, const json_t *session)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int64_t limit = stack_limit(c);
	int rc;

	session_path(&path, "/sessions", json_member(session, "id"));
	buf_addf(&path, "/analysis?top=%" PRId64, limit < 1 ? 1 : limit);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	whole_show(&out, c, session, r.json);
	return print(&out);
}

int
cmd_analysis(struct cli *c)
{
	CLEANUP_REPLY struct http_reply session = REPLY_INIT;
	char id[ID_MAX];
	int rc = profile_named(c, c->operands[0], "goroutine", id);

	if (!rc)
		rc = session_ask(c, id, &session);
	return rc ? rc : session_analysis_show(c, session.json);
}

/* --- diff ----------------------------------------------------------------- */

static void
deltas_show(struct buf *out, const struct cli *c, const json_t *j)
{
	static const struct {
		const char *title, *key;
	} lists[] = {
		{"new", "newStacks"},
		{"more", "grownStacks"},
		{"fewer", "shrunkStacks"},
		{"gone", "goneStacks"},
	};
	CLEANUP_STACKS struct stacks k = {.screen = &c->screen};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const json_t *rows = json_object_get(j, lists[i].key);

		if (!json_array_size(rows))
			continue;
		title_show(out, &c->screen, lists[i].title);
		stacks_show(&k, rows, stack_limit(c), out);
	}
	if (!json_array_size(k.shown))
		buf_puts(out, "No stack has more or fewer.\n");
}

/* Refuses to diff sampled profiles, whose individual stacks differ by
 * chance. */
static int
refuse_sampled(const struct cli *c, const json_t *base)
{
	CLEANUP_BUF struct buf type = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&type, json_member(base, "profileType"));
	return failed("%s is a profile of type %s, whose stacks differ by "
	              "chance\n"
	              "  stoker compare %s %s shows what changed",
	              c->operands[0], buf_str(&type), c->operands[0],
	              c->operands[1]);
}

static int
diff_ask(struct cli *c, const char *base, const char *compare, const char *type,
         struct http_reply *out)
{
	CLEANUP_JSON json_t *body = json_pack("{ss ss ss}", "baseId", base,
	                                      "compareId", compare, "type",
	                                      type);

	return ask(c, "POST", PROFILING "/diff", body, out);
}

int
cmd_diff(struct cli *c)
{
	CLEANUP_REPLY struct http_reply session = REPLY_INIT;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	char base[ID_MAX], compare[ID_MAX];
	const char *type;
	int rc = profile_named(c, c->operands[0], "goroutine", base);

	if (!rc)
		rc = profile_named(c, c->operands[1], "goroutine", compare);
	if (!rc)
		rc = session_ask(c, base, &session);
	if (rc)
		return rc;
	type = json_member(session.json, "profileType");
	if (strcmp(type, "goroutine") != 0 && !c->opt.json)
		return refuse_sampled(c, session.json);
	rc = diff_ask(c, base, compare, type, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	buf_puts(&out, "growth: ");
	count_show(&out, json_object_get(r.json, "growthCount"), "more ",
	           session.json);
	buf_putc(&out, '\n');
	deltas_show(&out, c, r.json);
	verdict_link_show(&out, r.json);
	return print(&out);
}
