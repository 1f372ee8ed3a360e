/*
 * The call tree as columns in preorder: what the flame graph page reads.
 *
 * names and packages are parallel, name[i] is an index into both, depth of
 * the root is 0, and the subtree of a node is the run of deeper ones behind
 * it. '<' is escaped, so that the document may stand inside <script>.
 */
#include "exports.h"
#include "json_tree.h"

#include "base/clock.h"
#include "base/json.h"

#include <string.h>

#define VERSION 1

static void
put_text(struct buf *out, const char *key, const char *text)
{
	buf_addf(out, "\"%s\":", key);
	json_escape(out, text, strlen(text));
	buf_putc(out, ',');
}

static void
put_number(struct buf *out, const char *key, int64_t v)
{
	buf_addf(out, "\"%s\":", key);
	buf_int(out, v);
	buf_putc(out, ',');
}

void
json_tree_head(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	const struct profile *p = t->profile;
	char started[RFC3339_LEN];

	clock_format(meta->time_ms, started);
	put_number(out, "version", VERSION);
	put_text(out, "id", meta->id);
	put_text(out, "title", meta->title);
	put_text(out, "service", meta->service);
	put_text(out, "type", meta->type);
	put_text(out, "unit",
	         strings_get(p->strings, p->types[t->type].unit, NULL));
	put_text(out, "startedAt", started);
	put_number(out, "durationMs", meta->duration_ms);
	put_number(out, "total", t->total[0]);
	put_number(out, "totalSamples", t->total_samples);
}

static void
put_texts(struct buf *out, const char *key, const struct tree *t,
          const char *(*text)(const struct tree *, uint32_t, size_t *))
{
	uint32_t count = strings_count(t->names);

	buf_addf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < count && !buf_err(out); i++) {
		size_t n;
		const char *s = text(t, i, &n);

		if (i)
			buf_putc(out, ',');
		json_escape(out, s, n);
	}
	buf_puts(out, "],");
}

static void
put_column32(struct buf *out, const char *key, const uint32_t *v, uint32_t n)
{
	buf_addf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < n && !buf_err(out); i++) {
		if (i)
			buf_putc(out, ',');
		buf_int(out, v[i]);
	}
	buf_puts(out, "],");
}

void
json_tree_column(struct buf *out, const char *key, const int64_t *v, uint32_t n)
{
	buf_addf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < n && !buf_err(out); i++) {
		if (i)
			buf_putc(out, ',');
		buf_int(out, v[i]);
	}
	buf_putc(out, ']');
}

void
json_tree_columns(const struct tree *t, struct buf *out)
{
	put_texts(out, "names", t, tree_name);
	put_texts(out, "packages", t, tree_package);
	put_column32(out, "depth", t->depth, t->n);
	put_column32(out, "name", t->name, t->n);
	json_tree_column(out, "self", t->self, t->n);
	buf_putc(out, ',');
	json_tree_column(out, "totals", t->total, t->n);
}

int
export_json(const struct tree *t, const struct export_meta *meta,
            struct buf *out)
{
	buf_putc(out, '{');
	json_tree_head(t, meta, out);
	json_tree_columns(t, out);
	buf_putc(out, '}');
	return buf_err(out);
}
