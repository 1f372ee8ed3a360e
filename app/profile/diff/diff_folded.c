/*
 * Writes two counts for each stack, as export_folded() writes one; the base's
 * counts are scaled to the comparison, unless values are compared as captured.
 * Source: difffolded.pl, whose option -n scales by samples.
 */
#include "diff_formats.h"
#include "profile/export/folded_lines.h"

#include <math.h>

struct counts {
	const int64_t *base, *now; /* by node */
	double scale;              /* factor for the base's counts */
};

/* A sample may represent more on one side than on the other, so samples are
 * scaled to make their sums proportional to the totals. */
static double
sample_scale(const struct diff *d)
{
	double base = (double)d->base->total[0] * d->scale;
	double now = (double)d->now->total[0];

	if (d->by == COMPARE_BY_NONE || base <= 0 || now <= 0 ||
	    d->base->total_samples <= 0)
		return d->scale;
	return (double)d->now->total_samples * (base / now) /
	       (double)d->base->total_samples;
}

static struct counts
counts_of(const struct diff *d)
{
	bool samples = folded_column(d->base) == d->base->samples &&
	               folded_column(d->now) == d->now->samples;

	if (samples)
		return (struct counts){d->base_samples, d->tree->samples,
		                       sample_scale(d)};
	return (struct counts){d->base_self, d->tree->self, d->scale};
}

static void
put_counts(const void *arg, uint32_t node, struct buf *text)
{
	const struct counts *c = arg;
	double base = (double)c->base[node] * c->scale;
	int64_t before = base > 0 ? llround(base) : 0;
	int64_t after = c->now[node];

	if (before <= 0 && after <= 0)
		return;
	buf_int(text, before);
	buf_putc(text, ' ');
	buf_int(text, after < 0 ? 0 : after);
}

int
diff_folded(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	struct counts c = counts_of(d);

	(void)meta;
	return folded_lines(d->tree, put_counts, &c, out);
}
