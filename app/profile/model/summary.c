#include "profile/summary.h"

#include "base/json.h"

#include <math.h>

/* Writes up to two decimals without trailing zeros: 12.5, 0.07, 3. */
static void
put_percent(struct buf *out, int64_t part, int64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;
	int64_t hundredths = llround(share * 100);
	int64_t whole_part = hundredths / 100, rest = llabs(hundredths % 100);

	if (hundredths < 0 && whole_part == 0)
		buf_putc(out, '-');
	buf_int(out, whole_part);
	if (!rest)
		return;
	buf_putc(out, '.');
	buf_putc(out, (char)('0' + rest / 10));
	if (rest % 10)
		buf_putc(out, (char)('0' + rest % 10));
}

static void
put_entry(const struct tree *t, const struct top_entry *e, struct buf *out)
{
	const char *text;
	size_t n;

	text = tree_name(t, e->name, &n);
	buf_puts(out, "{\"funcName\":");
	json_escape(out, text, n);
	text = tree_package(t, e->name, &n);
	buf_puts(out, ",\"package\":");
	json_escape(out, text, n);
	buf_puts(out, ",\"selfPct\":");
	put_percent(out, e->self, t->total[0]);
	buf_puts(out, ",\"cumulativePct\":");
	put_percent(out, e->total, t->total[0]);
	buf_puts(out, ",\"sampleCount\":\"");
	buf_int(out, e->samples);
	buf_puts(out, "\"}");
}

int
summary_top(const struct tree *t, uint32_t max, struct buf *out)
{
	CLEANUP_FREE struct top_entry *top = NULL;
	uint32_t n;
	int r = tree_top(t, max, &top, &n);

	if (r)
		return out->err = r;
	buf_putc(out, '[');
	for (uint32_t i = 0; i < n && !buf_err(out); i++) {
		if (i)
			buf_putc(out, ',');
		put_entry(t, &top[i], out);
	}
	buf_putc(out, ']');
	return buf_err(out);
}
