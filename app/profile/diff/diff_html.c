/* The flame graph page, which shows two profiles when its data has them. */
#include "diff_formats.h"
#include "profile/export/page_html.h"

struct both {
	const struct diff *d;
	const struct diff_meta *meta;
};

static void
put_both(const void *arg, struct buf *out)
{
	const struct both *both = arg;

	/* a failure poisons out, which page_html() looks at */
	(void)!diff_json(both->d, both->meta, out);
}

int
diff_html(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	struct both both = {d, meta};

	return page_html(put_both, &both, out);
}
