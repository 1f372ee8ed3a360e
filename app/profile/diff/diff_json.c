/*
 * Writes the comparison's columns as export_json.c does, and parallel to them
 * the base's: baseSelf and baseTotals.
 *
 * Values of the base are as captured; multiplied by baseScale they are
 * comparable with the comparison's, by the normalization in normalize: share,
 * rate, work or none. base holds the head's members for the base. changes
 * lists the functions that moved by more than chance: name is an index into
 * names, moved is true if their cost per second moved as well. risen lists
 * functions that cost more together with their callees, if none costs more by
 * itself. sure lists the nodes that have certainly changed, ascending. shape
 * is the side whose values are the initial widths.
 */
#include "diff_formats.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "profile/export/json_tree.h"
#include "profile/export/page_html.h"

#include <string.h>

static void
put_base(const struct diff *d, const struct export_meta *base, struct buf *out)
{
	char started[RFC3339_LEN];

	clock_format(base->time_ms, started);
	json_open(out, "base", '{');
	json_put_text(out, "id", base->id);
	json_put_text(out, "title", base->title);
	json_put_text(out, "service", base->service);
	json_put_text(out, "startedAt", started);
	json_put_int(out, "durationMs", base->duration_ms);
	json_put_int(out, "total", d->base->total[0]);
	json_put_int(out, "totalSamples", d->base->total_samples);
	json_tree_quality(out, base->quality);
	json_close(out, '}');
}

static void
open_change(struct buf *out, const struct diff *d,
            const struct compare_function *f)
{
	uint32_t name = 0;
	int rc = strings_add(d->tree->names, f->name, strlen(f->name), &name);

	if (rc)
		out->err = rc;
	json_open(out, NULL, '{');
	json_put_int(out, "name", name);
}

static void
put_change(struct buf *out, const struct diff *d, const struct comparison *c,
           const struct compare_function *f)
{
	open_change(out, d, f);
	json_put_real(out, "deltaPct", f->delta);
	json_put_real(out, "pValue", f->p);
	json_put_bool(out, "moved", compare_moved(c, f));
	json_close(out, '}');
}

static void
put_changes(struct buf *out, const struct diff *d, const struct comparison *c)
{
	json_open(out, "changes", '[');
	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++)
		put_change(out, d, c, &c->functions[i]);
	json_close(out, ']');
	json_open(out, "risen", '[');
	for (size_t i = 0; i < c->nrisen; i++) {
		open_change(out, d, c->risen[i]);
		json_put_real(out, "pValue", c->risen[i]->total_p);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_sure(struct buf *out, const struct diff *d)
{
	const char *comma = "";

	buf_puts(out, ",\"sure\":[");
	for (uint32_t i = 0; i < d->tree->n && !buf_err(out); i++) {
		if (!d->sure[i])
			continue;
		buf_puts(out, comma);
		buf_int(out, i);
		comma = ",";
	}
	buf_putc(out, ']');
}

static void
put_formats(struct buf *out)
{
	json_open(out, "formats", '{');
#define DIFF_FORMAT(name, by, doc) json_put_text(out, #name, doc);
#include "diff_formats.def"
#undef DIFF_FORMAT
	json_close(out, '}');
}

int
diff_json(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	const struct tree *t = d->tree;

	buf_putc(out, '{');
	json_tree_head(t, &meta->now, out);
	json_tree_columns(t, out);
	buf_putc(out, ',');
	json_tree_column(out, "baseSelf", d->base_self, t->n);
	buf_putc(out, ',');
	json_tree_column(out, "baseTotals", d->base_total, t->n);
	json_tree_quality(out, meta->now.quality);
	put_base(d, &meta->base, out);
	json_put_text(out, "normalize", compare_bys[d->by]);
	buf_addf(out, ",\"baseScale\":%.12g", d->scale);
	json_put_text(out, "shape", diff_shapes[meta->shape]);
	compare_put_verdict(meta->c, out);
	put_changes(out, d, meta->c);
	put_sure(out, d);
	put_formats(out);
	buf_putc(out, '}');
	return buf_err(out);
}

/* The data of the page that shows two profiles. */
struct both {
	const struct diff *d;
	const struct diff_meta *meta;
};

static void
put_both(const void *arg, struct buf *out)
{
	const struct both *both = arg;

	/* a failure poisons out, which page_html() checks */
	(void)!diff_json(both->d, both->meta, out);
}

int
diff_html(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	struct both both = {d, meta};

	return page_html(put_both, &both, out);
}
