/*
 * Draws a differential flame graph as a static picture. The palette is
 * page.css's: people who cannot tell red from green can tell orange from blue.
 * Source: Okabe and Ito, "Color Universal Design", 2008.
 */
#include "diff_formats.h"

#include "base/quantity.h"
#include "profile/diff.h"
#include "profile/export/svg.h"

#include <math.h>
#include <string.h>

/* The colour of a node shows the direction and the size of its change. */
enum diff_kind { DIFF_SAME, DIFF_MORE, DIFF_LESS, DIFF_NEW, DIFF_GONE };

struct diff_mark {
	enum diff_kind kind;
	double strength; /* strength of its colour, 0..1 */
};

#define PALE  0.25 /* new or gone node, which may be chance */
#define LEAST 0.5  /* the smallest certain change */
#define FULL  1.0  /* doublings or halvings with the full colour */

/*
 * A new or gone node is marked as such whatever its size, but pale unless the
 * change is certain: one sample against none means little.
 */
static struct diff_mark
diff_mark(const struct diff *d, uint32_t node)
{
	double before = diff_base(d, node);
	double after = (double)d->tree->total[node];
	bool sure = d->sure[node];
	double steps;

	if (before == 0 && after != 0)
		return (struct diff_mark){DIFF_NEW, sure ? 1 : PALE};
	if (after == 0 && before != 0)
		return (struct diff_mark){DIFF_GONE, sure ? 1 : PALE};
	if (!sure || before <= 0 || after <= 0)
		return (struct diff_mark){DIFF_SAME, 0};
	steps = fmin(fabs(log2(after / before)) / FULL, 1);
	return (struct diff_mark){after > before ? DIFF_MORE : DIFF_LESS,
	                          LEAST + (1 - LEAST) * steps};
}

#define LEGEND_HEIGHT 22
#define SWATCH        12
#define CHAR          7.2 /* width at 12px monospace */

struct picture {
	const struct diff *d;
	const struct diff_meta *meta;
};

static const struct {
	struct svg_color color;
	const char *what;
} palette[] = {
	[DIFF_SAME] = {{226, 229, 234}, "within chance"},
	[DIFF_MORE] = {{240, 138, 36}, "more"},
	[DIFF_LESS] = {{77, 169, 232}, "less"},
	[DIFF_NEW] = {{240, 228, 66}, "new"},
	[DIFF_GONE] = {{204, 121, 167}, "gone"},
};

static unsigned
mix(unsigned from, unsigned to, double part)
{
	return (unsigned)lround(from + ((double)to - from) * part);
}

static struct svg_color
color(const struct svg *s, uint32_t node)
{
	const struct picture *p = s->arg;
	struct diff_mark m = diff_mark(p->d, node);
	struct svg_color a = palette[DIFF_SAME].color,
			 b = palette[m.kind].color;

	return (struct svg_color){mix(a.r, b.r, m.strength),
	                          mix(a.g, b.g, m.strength),
	                          mix(a.b, b.b, m.strength), false};
}

static double
value(const struct svg *s, uint32_t node)
{
	const struct picture *p = s->arg;
	double before = diff_base(p->d, node);
	double after = (double)p->d->tree->total[node];

	return p->meta->shape == DIFF_BEFORE ? before
	       : p->meta->shape == DIFF_BOTH ? before + after
	                                     : after;
}

static void
describe(const struct svg *s, uint32_t node, struct buf *out)
{
	const struct picture *p = s->arg;
	const struct diff *d = p->d;
	double before = diff_base(d, node), delta = diff_delta(d, node);

	buf_puts(out, "base ");
	quantity(out, llround(before), svg_unit(d->tree));
	buf_puts(out, ", comparison ");
	quantity(out, d->tree->total[node], svg_unit(d->tree));
	if (before > 0 && d->tree->total[node])
		buf_addf(out, " (%+.1f %%)", 100 * delta / before);
	else
		buf_addf(out, " (%s)", before > 0 ? "gone" : "new");
	if (!d->sure[node])
		buf_puts(out, ", may be chance");
}

static void
legend(const struct svg *s, int x, int y, struct buf *out)
{
	static const enum diff_kind order[] = {DIFF_LESS, DIFF_SAME, DIFF_MORE,
	                                       DIFF_NEW, DIFF_GONE};
	static const char *const made[] = {
		[COMPARE_BY_SHARE] = "as shares of the total",
		[COMPARE_BY_RATE] = "per second",
		[COMPARE_BY_WORK] = "per unit of work",
		[COMPARE_BY_NONE] = "as captured",
	};
	static const char *const widths[] = {
		[DIFF_AFTER] = "the comparison",
		[DIFF_BEFORE] = "the base",
		[DIFF_BOTH] = "both added up",
	};
	const struct picture *p = s->arg;
	double at = x;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct svg_color c = palette[order[i]].color;

		buf_addf(out,
		         "<rect x=\"%.0f\" y=\"%d\" width=\"%d\" "
		         "height=\"%d\" fill=\"rgb(%u,%u,%u)\"/>"
		         "<text x=\"%.0f\" y=\"%d\">%s</text>\n",
		         at, y, SWATCH, SWATCH, c.r, c.g, c.b, at + SWATCH + 5,
		         y + SWATCH - 2, palette[order[i]].what);
		at += SWATCH + 24 +
		      CHAR * (double)strlen(palette[order[i]].what);
	}
	buf_addf(out,
	         "<text x=\"%.0f\" y=\"%d\">compared %s; widths: %s</text>\n",
	         at, y + SWATCH - 2, made[p->d->by], widths[p->meta->shape]);
}

int
diff_svg(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	struct picture p = {d, meta};
	struct svg s = {
		.t = d->tree,
		.arg = &p,
		.value = value,
		.color = color,
		.describe = describe,
		.legend = legend,
		.legend_height = LEGEND_HEIGHT,
	};

	return svg_write(&s, &meta->now, out);
}
