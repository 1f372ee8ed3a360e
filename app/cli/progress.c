#include "progress.h"

#include "text.h"

#include <inttypes.h>
#include <math.h>

#define BAR_LEAST  10 /* columns; a shorter bar is left out */
#define TEXT_LEAST 44 /* columns, so that the bar stays in place */

static void
put_text(struct buf *out, const struct progress *p)
{
	safe_puts(out, p->phase);
	if (p->seconds < 0)
		return;
	buf_addf(out, ": %.1f ", p->seconds);
	if (p->of > 0)
		buf_addf(out, "of %.0f ", p->of);
	buf_puts(out, "s");
	if (p->samples > 0)
		buf_addf(out, ", %" PRId64 " sample%s", p->samples,
		         p->samples == 1 ? "" : "s");
}

static void
put_bar(struct buf *out, double share, size_t width)
{
	size_t full = (size_t)lrint(fmin(share, 1) * (double)width);

	buf_putc(out, '[');
	for (size_t i = 0; i < width; i++)
		buf_putc(out, i < full ? '=' : i == full ? '>' : ' ');
	buf_putc(out, ']');
}

void
progress_show(struct buf *out, const struct progress *p, size_t width)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	size_t used;

	put_text(&text, p);
	while (text_columns(buf_str(&text)) < TEXT_LEAST)
		buf_putc(&text, ' ');
	used = text_columns(buf_str(&text));
	text_cut(out, buf_str(&text), width, 0);
	if (used >= width)
		return;
	if (p->of > 0 && p->seconds >= 0 && used + 2 + BAR_LEAST <= width)
		put_bar(out, p->seconds / p->of, width - used - 2);
	else
		text_pad(out, width - used);
}
