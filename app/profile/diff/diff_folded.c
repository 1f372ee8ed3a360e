/*
 * Two counts behind each stack, in samples; those of the base are what the
 * comparison would have in its stead. Source: difffolded.pl, with -n.
 */
#include "diff_formats.h"
#include "profile/export/folded_lines.h"

#include <math.h>

struct counts {
	const struct diff *d;
	double scale; /* of the base's samples */
};

/* A sample may stand for more on one side than on the other: samples are
 * scaled by what makes their sums as the totals are. */
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

static void
put_counts(const void *arg, uint32_t node, struct buf *text)
{
	const struct counts *c = arg;
	double base = (double)c->d->base_samples[node] * c->scale;
	int64_t before = base > 0 ? llround(base) : 0;
	int64_t after = c->d->tree->samples[node];

	if (before <= 0 && after <= 0)
		return;
	buf_int(text, before);
	buf_putc(text, ' ');
	buf_int(text, after < 0 ? 0 : after);
}

int
diff_folded(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	struct counts c = {d, sample_scale(d)};

	(void)meta;
	return folded_lines(d->tree, put_counts, &c, out);
}
