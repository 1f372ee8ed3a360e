/*
 * Writes the cost of each source line (profile/source_lines.h):
 *
 *	{..., "lines": [{"function": "parse", "file": "/src/parse.c",
 *	  "line": 42, "self": 20, "total": 30}], "leftOut": 0}
 *
 * line is 0 if it is not known. Lines of all functions are ordered by self,
 * those of one function by file and line. leftOut is the number of lines beyond
 * LINES_MOST, which are the cheapest.
 */
#include "exports.h"
#include "json_tree.h"

#include "base/json_out.h"
#include "profile/source_lines.h"

#include <stdlib.h>

#define LINES_MOST 1000

static void
put_line(struct buf *out, const struct strings *s, const struct source_line *l)
{
	json_open(out, NULL, '{');
	json_put_text(out, "function", strings_get(s, l->name, NULL));
	json_put_text(out, "file", strings_get(s, l->file, NULL));
	json_put_int(out, "line", l->line);
	json_put_int(out, "self", l->self);
	json_put_int(out, "total", l->total);
	json_close(out, '}');
}

int
export_lines(const struct tree *t, const struct export_meta *meta,
             struct buf *out)
{
	CLEANUP_SOURCE_LINES struct source_lines l = {0};
	int rc = source_lines_find(t->profile, t->type, meta->function, &l);
	uint32_t n = l.n < LINES_MOST ? l.n : LINES_MOST;

	if (rc)
		return out->err = rc;
	if (meta->function)
		qsort(l.items, n, sizeof(*l.items), source_line_by_place);
	buf_putc(out, '{');
	json_tree_head(t, meta, out);
	json_open(out, "lines", '[');
	for (uint32_t i = 0; i < n; i++)
		put_line(out, t->profile->strings, &l.items[i]);
	json_close(out, ']');
	json_put_int(out, "leftOut", l.n - n);
	buf_puts(out, "}\n");
	return buf_err(out);
}
