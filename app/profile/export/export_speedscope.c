/*
 * Writes speedscope's format: one sampled profile, with a row for each stack.
 *
 * Frames are the tree's names, in order. The file of a frame is its source file
 * with the line where the function begins, or else its package. Weights cannot
 * be negative in this format, so stacks with negative values, in differences,
 * are left out. "counts" is our extension: the number of samples of each row,
 * empty if it is not known. Other readers ignore it. Source:
 * file-format-schema.json of speedscope 1.22, FileFormat.SampledProfile.
 */
#include "exports.h"

#include "base/json.h"
#include "base/json_out.h"
#include "base/version.h"

#include <errno.h>
#include <string.h>

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void
put_frames(const struct tree *t, struct buf *out)
{
	json_open(out, "shared", '{');
	json_open(out, "frames", '[');
	for (uint32_t i = 0; i < strings_count(t->names); i++) {
		const struct tree_home *home = &t->home[i];
		size_t n;
		const char *text = tree_name(t, i, &n);

		buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
		json_escape(out, text, n);
		text = strings_get(t->files, home->file, &n);
		if (!n)
			text = tree_package(t, i, &n);
		if (n) {
			buf_puts(out, ",\"file\":");
			json_escape(out, text, n);
		}
		if (home->file && home->line)
			json_put_int(out, "line", home->line);
		buf_putc(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
}

/* Returns speedscope's name for a unit; unknown units are "none". */
static const char *
unit_of(const struct tree *t)
{
	static const char *const known[] = {"nanoseconds", "microseconds",
	                                    "milliseconds", "seconds", "bytes"};
	const struct profile *p = t->profile;
	const char *unit = profile_text(p, p->types[t->type].unit);

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i], unit))
			return unit;
	return "none";
}

/* Calls row for each node with a self value, with its path: the names below the
 * root, or the root's name for samples without a stack. */
static int
each_stack(const struct tree *t, struct buf *out,
           void (*row)(struct buf *out, const struct tree *t, uint32_t node,
                       const uint32_t *path, uint32_t n))
{
	uint32_t deepest = 0;
	CLEANUP_FREE uint32_t *path = NULL;

	for (uint32_t i = 0; i < t->n; i++)
		deepest = t->depth[i] > deepest ? t->depth[i] : deepest;
	path = calloc((size_t)deepest + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n && !buf_err(out); i++) {
		uint32_t d = t->depth[i];

		path[d] = t->name[i];
		if (t->self[i] > 0)
			row(out, t, i, d ? path + 1 : path, d ? d : 1);
	}
	return buf_err(out);
}

static void
put_path(struct buf *out, const struct tree *t, uint32_t node,
         const uint32_t *path, uint32_t n)
{
	(void)t, (void)node;
	if (out->p[out->len - 1] != '[')
		buf_putc(out, ',');
	for (uint32_t i = 0; i < n; i++) {
		buf_putc(out, i ? ',' : '[');
		buf_int(out, path[i]);
	}
	buf_putc(out, ']');
}

static void
put_number(struct buf *out, int64_t v)
{
	if (out->p[out->len - 1] != '[')
		buf_putc(out, ',');
	buf_int(out, v);
}

static void
put_weight(struct buf *out, const struct tree *t, uint32_t node,
           const uint32_t *path, uint32_t n)
{
	(void)path, (void)n;
	put_number(out, t->self[node]);
}

static void
put_count(struct buf *out, const struct tree *t, uint32_t node,
          const uint32_t *path, uint32_t n)
{
	(void)path, (void)n;
	put_number(out, t->samples[node] > 0 ? t->samples[node] : 0);
}

static int64_t
weight_sum(const struct tree *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < t->n; i++)
		sum += t->self[i] > 0 ? t->self[i] : 0;
	return sum;
}

static int
put_profile(const struct tree *t, const struct export_meta *meta,
            struct buf *out)
{
	int r;

	json_open(out, NULL, '{');
	json_put_text(out, "type", "sampled");
	json_put_text(out, "name", meta->title);
	json_put_text(out, "unit", unit_of(t));
	json_put_int(out, "startValue", 0);
	json_put_int(out, "endValue", weight_sum(t));
	json_open(out, "samples", '[');
	r = each_stack(t, out, put_path);
	json_close(out, ']');
	json_open(out, "weights", '[');
	if (!r)
		r = each_stack(t, out, put_weight);
	json_close(out, ']');
	json_open(out, "counts", '[');
	if (!r && t->counted)
		r = each_stack(t, out, put_count);
	json_close(out, ']');
	json_close(out, '}');
	return r;
}

int
export_speedscope(const struct tree *t, const struct export_meta *meta,
                  struct buf *out)
{
	char exporter[VERSION_MAX];
	int r;

	json_open(out, NULL, '{');
	json_put_text(out, "$schema", SCHEMA);
	json_put_text(out, "name", meta->title);
	snprintf(exporter, sizeof(exporter), "stoker %s", stoker_version);
	json_put_text(out, "exporter", exporter);
	json_put_int(out, "activeProfileIndex", 0);
	put_frames(t, out);
	json_open(out, "profiles", '[');
	r = put_profile(t, meta, out);
	json_close(out, ']');
	json_close(out, '}');
	return r ? (out->err = r) : buf_err(out);
}
