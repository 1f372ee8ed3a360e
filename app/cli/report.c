#include "report.h"

#include "table.h"
#include "text.h"

#include <string.h>

#define ROWS 20 /* functions that are listed */

static double
number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static bool
is_bad(const json_t *check)
{
	const char *verdict = json_member(check, "verdict");

	return !strcmp(verdict, "regressed") || !strcmp(verdict, "costs-more");
}

static bool
is_unsure(const json_t *check)
{
	return !strcmp(json_member(check, "verdict"), "insufficient-data");
}

/* Appends "cost per second: +12.3 % (95 %: +3.0 to +22.0)". */
static void
put_delta(const json_t *check, struct buf *out)
{
	if (json_is_null(json_object_get(check, "overallDelta")))
		buf_puts(out, "All cost: unknown.");
	else
		buf_addf(out, "All cost: %+.1f %% (95 %%: %+.1f to %+.1f).",
		         number(check, "overallDelta"),
		         number(check, "overallDeltaLow"),
		         number(check, "overallDeltaHigh"));
}

static const char *
link_of(const json_t *check)
{
	return json_member(json_object_get(check, "links"), "diff");
}

/* --- Markdown ------------------------------------------------------------- */

/* Appends text as code, in which Markdown neither marks anything up nor
 * mentions anybody. A "|" would end the table's column. */
static void
put_code(const char *text, struct buf *out)
{
	CLEANUP_BUF struct buf safe = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&safe, text);
	buf_puts(out, "`` ");
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.p[i] == '|')
			buf_putc(out, '\\');
		buf_putc(out, safe.p[i] == '`' ? '\'' : safe.p[i]);
	}
	buf_puts(out, " ``");
}

static void
put_table(const char *title, const json_t *rows, const char *base,
          const char *now, struct buf *out)
{
	const json_t *row;
	size_t i;

	if (!json_array_size(rows))
		return;
	buf_addf(out,
	         "\n%s\n\n| base %% | now %% | p | since | function |\n"
	         "| ---: | ---: | ---: | --- | --- |\n",
	         title);
	json_array_foreach(rows, i, row) {
		if (i == ROWS)
			break;
		buf_addf(out, "| %.1f | %.1f | %.2g | %.19s | ",
		         number(row, base), number(row, now),
		         number(row, !strcmp(base, "basePct")
		                             ? "pValue"
		                             : "cumulativePValue"),
		         json_member(row, "since"));
		put_code(json_member(row, "funcName"), out);
		buf_puts(out, " |\n");
	}
	if (i < json_array_size(rows))
		buf_addf(out, "\nand %zu more\n", json_array_size(rows) - i);
}

static void
write_markdown(const json_t *check, struct buf *out)
{
	const char *link = link_of(check);

	buf_puts(out, "### Stoker: ");
	safe_puts(out, json_member(check, "verdictText"));
	buf_puts(out, "\n\n");
	put_code(json_member(check, "sessionId"), out);
	buf_puts(out, " compared with the baseline ");
	put_code(json_member(check, "baselineLabel"), out);
	buf_puts(out, ":\n\n");
	put_code(json_member(check, "reason"), out);
	buf_puts(out, "\n\n");
	put_delta(check, out);
	buf_putc(out, '\n');
	put_table("Functions:", json_object_get(check, "functions"), "basePct",
	          "comparisonPct", out);
	put_table("Functions, each with what it calls:",
	          json_object_get(check, "cumulativeRegressions"),
	          "baseCumulativePct", "comparisonCumulativePct", out);
	if (*link) {
		buf_puts(out, "\n[Differential flame graph](<");
		safe_puts(out, link);
		buf_puts(out, ">)\n");
	}
}

/* --- JUnit ---------------------------------------------------------------- */

/* Appends text for XML, in or between quotes; it has no control characters.
 * Source: XML 1.0, 2.2 and 2.4 */
static void
put_xml(const char *text, struct buf *out)
{
	CLEANUP_BUF struct buf safe = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&safe, text);
	for (size_t i = 0; i < safe.len; i++)
		switch (safe.p[i]) {
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, safe.p[i]);
		}
}

static void
put_lines(const json_t *rows, const char *base, const char *now,
          struct buf *out)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (i == ROWS)
			break;
		buf_addf(out, "%5.1f %% -&gt; %5.1f %%  ", number(row, base),
		         number(row, now));
		put_xml(json_member(row, "funcName"), out);
		buf_putc(out, '\n');
	}
}

static void
write_junit(const json_t *check, struct buf *out)
{
	bool bad = is_bad(check), unsure = is_unsure(check);
	const char *what = bad ? "failure" : unsure ? "skipped" : NULL;

	buf_addf(out,
	         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	         "<testsuites>\n<testsuite name=\"stoker check\" tests=\"1\" "
	         "failures=\"%d\" errors=\"0\" skipped=\"%d\">\n"
	         "<testcase classname=\"stoker\" name=\"costs no more than ",
	         bad, unsure);
	put_xml(json_member(check, "baselineLabel"), out);
	buf_puts(out, "\">\n");
	if (what) {
		buf_addf(out, "<%s message=\"", what);
		put_xml(json_member(check, "reason"), out);
		buf_puts(out, "\"/>\n");
	}
	buf_puts(out, "<system-out>");
	put_xml(json_member(check, "reason"), out);
	buf_putc(out, '\n');
	put_delta(check, out);
	buf_putc(out, '\n');
	put_lines(json_object_get(check, "functions"), "basePct",
	          "comparisonPct", out);
	put_lines(json_object_get(check, "cumulativeRegressions"),
	          "baseCumulativePct", "comparisonCumulativePct", out);
	put_xml(link_of(check), out);
	buf_puts(out, "\n</system-out>\n</testcase>\n</testsuite>\n"
	              "</testsuites>\n");
}

/* --- formats -------------------------------------------------------------- */

static void
write_json(const json_t *check, struct buf *out)
{
	if (!json_write_indented(check, out))
		buf_putc(out, '\n');
}

static const struct {
	const char *name;
	void (*write)(const json_t *check, struct buf *out);
} formats[] = {
	{"markdown", write_markdown},
	{"junit", write_junit},
	{"json", write_json},
};

bool
report_format_valid(const char *format)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, format))
			return true;
	return false;
}

void
report_write(const json_t *check, const char *format, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, format))
			formats[i].write(check, out);
}
