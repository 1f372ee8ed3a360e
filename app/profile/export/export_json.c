/*
 * Writes the call tree as columns in preorder, for the flame graph page.
 *
 * names and packages are parallel, and name[i] is an index into both. The depth
 * of the root is 0; the subtree of a node is the run of deeper nodes that
 * follows it. file and line are also parallel to names; file is an index into
 * files, whose first entry is "". Both are empty if nothing is known. kinds
 * lists kinds of functions that a reader may leave out, with indexes of names:
 * [{"kind": "kernel", "about": "...", "names": [3, 7]}]. quality
 * is the quality report of the capture. formats lists the other formats, each
 * with a description. '<' is escaped, so that the document can be embedded in
 * <script>.
 */
#include "exports.h"
#include "json_tree.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/json_out.h"
#include "profile/kind.h"

#include <errno.h>
#include <stdlib.h>
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
	put_text(out, "unit", profile_text(p, p->types[t->type].unit));
	put_text(out, "startedAt", started);
	put_number(out, "durationMs", meta->duration_ms);
	put_number(out, "total", t->total[0]);
	put_number(out, "totalSamples", t->total_samples);
}

/* Escapes '<', which can only occur in strings. */
void
json_tree_quality(struct buf *out, const char *report)
{
	buf_puts(out, ",\"quality\":");
	if (!report || !*report)
		report = "{}";
	while (*report) {
		size_t n = strcspn(report, "<");

		buf_add(out, report, n);
		report += n;
		if (*report)
			buf_puts(out, "\\u003c");
		report += *report != '\0';
	}
}

static void
put_texts(struct buf *out, const char *key, const struct tree *t,
          uint32_t count,
          const char *(*text)(const struct tree *, uint32_t, size_t *))
{
	buf_addf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < count && !buf_err(out); i++) {
		size_t n;
		const char *s = text(t, i, &n);

		if (i)
			buf_putc(out, ',');
		json_escape(out, s, n);
	}
	buf_putc(out, ']');
}

#define STEP 1024 /* numbers for which room is made at once */

/* Writes either ids or, if they are NULL, values. */
static void
put_column(struct buf *out, const char *key, const uint32_t *ids,
           const int64_t *values, uint32_t n)
{
	buf_addf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < n;) {
		uint32_t end = n - i < STEP ? n : i + STEP;
		char *to = buf_reserve(out, STEP * (BUF_DIGITS + 1));

		if (!to)
			return;
		for (; i < end; i++) {
			if (i)
				*to++ = ',';
			to = buf_digits(to, ids ? ids[i] : values[i]);
		}
		out->len = (size_t)(to - out->p);
	}
	buf_putc(out, ']');
}

void
json_tree_column(struct buf *out, const char *key, const int64_t *v, uint32_t n)
{
	put_column(out, key, NULL, v, n);
}

static const char *
file_text(const struct tree *t, uint32_t file, size_t *n)
{
	return strings_get(t->files, file, n);
}

/* Writes a column with one value per name. */
static void
put_homes(struct buf *out, const char *key, const struct tree *t, size_t field)
{
	uint32_t n = strings_count(t->files) > 1 ? strings_count(t->names) : 0;

	buf_addf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < n && !buf_err(out); i++) {
		const char *home = (const char *)&t->home[i];

		if (i)
			buf_putc(out, ',');
		buf_int(out, *(const uint32_t *)(const void *)(home + field));
	}
	buf_putc(out, ']');
}

/* Writes the kinds of functions that a view may fold, each with the ids of its
 * names. */
static void
put_kinds(struct buf *out, const struct tree *t)
{
	uint32_t n = strings_count(t->names);
	CLEANUP_FREE uint32_t *bits = calloc((size_t)n + 1, sizeof(*bits));

	if (!bits) {
		out->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		bits[i] = kinds_of(tree_name(t, i, NULL),
		                   tree_package(t, i, NULL),
		                   file_text(t, t->home[i].file, NULL));
	json_open(out, "kinds", '[');
	for (int k = 0; k < KINDS; k++) {
		json_open(out, NULL, '{');
		json_put_text(out, "kind", kind_rows[k].name);
		json_put_text(out, "about", kind_rows[k].about);
		json_open(out, "names", '[');
		for (uint32_t i = 0; i < n && !buf_err(out); i++)
			if (bits[i] & KIND_BIT(k))
				json_put_int(out, NULL, i);
		json_close(out, ']');
		json_close(out, '}');
	}
	json_close(out, ']');
}

void
json_tree_names(const struct tree *t, struct buf *out)
{
	uint32_t count = strings_count(t->names);

	put_texts(out, "names", t, count, tree_name);
	buf_putc(out, ',');
	put_texts(out, "packages", t, count, tree_package);
	buf_putc(out, ',');
	put_texts(out, "files", t, strings_count(t->files), file_text);
	buf_putc(out, ',');
	put_homes(out, "file", t, offsetof(struct tree_home, file));
	buf_putc(out, ',');
	put_homes(out, "line", t, offsetof(struct tree_home, line));
	buf_putc(out, ',');
	put_kinds(out, t);
}

void
json_tree_columns(const struct tree *t, struct buf *out)
{
	json_tree_names(t, out);
	buf_putc(out, ',');
	put_column(out, "depth", t->depth, NULL, t->n);
	buf_putc(out, ',');
	put_column(out, "name", t->name, NULL, t->n);
	buf_putc(out, ',');
	json_tree_column(out, "self", t->self, t->n);
	buf_putc(out, ',');
	json_tree_column(out, "totals", t->total, t->n);
}

void
json_tree_formats(struct buf *out)
{
	json_open(out, "formats", '{');
#define FORMAT(name, content_type, extension, use, doc)                   \
	if (FORMAT_##use != FORMAT_READ && FORMAT_##use != FORMAT_LISTED) \
		json_put_text(out, #name, doc);
#include "formats.def"
#undef FORMAT
	json_close(out, '}');
}

int
export_json(const struct tree *t, const struct export_meta *meta,
            struct buf *out)
{
	buf_putc(out, '{');
	json_tree_head(t, meta, out);
	json_tree_columns(t, out);
	json_tree_quality(out, meta->quality);
	json_tree_formats(out);
	buf_putc(out, '}');
	return buf_err(out);
}
