/*
 * Writes the flame graph page with its style, scripts and data inlined: one
 * self-contained file. Its parts come from app/web/flame, embedded in the
 * program by app/web/embed.S.
 */
#include "exports.h"
#include "page_html.h"

#include <assert.h>
#include <string.h>

extern const char web_page_html[], web_page_css[], web_page_js[];
extern const uint64_t web_page_html_len, web_page_css_len, web_page_js_len;

/* A placeholder of the page, and the function that fills it. */
struct hole {
	const char *mark;
	void (*fill)(page_data *data, const void *arg, struct buf *out);
};

static void
put_css(page_data *data, const void *arg, struct buf *out)
{
	(void)data;
	(void)arg;
	buf_add(out, web_page_css, web_page_css_len);
}

static void
put_js(page_data *data, const void *arg, struct buf *out)
{
	(void)data;
	(void)arg;
	buf_add(out, web_page_js, web_page_js_len);
}

static void
put_data(page_data *data, const void *arg, struct buf *out)
{
	data(arg, out);
}

/* The placeholders, in the order of the page. */
static const struct hole holes[] = {
	{"/*STOKER-CSS*/", put_css},
	{"/*STOKER-DATA*/", put_data},
	{"/*STOKER-JS*/", put_js},
};

int
page_html(page_data *data, const void *arg, struct buf *out)
{
	const char *at = web_page_html, *end = at + web_page_html_len;

	for (size_t i = 0; i < ARRAY_LEN(holes); i++) {
		size_t n = strlen(holes[i].mark);
		const char *mark =
			memmem(at, (size_t)(end - at), holes[i].mark, n);

		assert(mark);
		buf_add(out, at, (size_t)(mark - at));
		holes[i].fill(data, arg, out);
		at = mark + n;
	}
	buf_add(out, at, (size_t)(end - at));
	return buf_err(out);
}

struct one {
	const struct tree *t;
	const struct export_meta *meta;
};

static void
put_tree(const void *arg, struct buf *out)
{
	const struct one *one = arg;

	/* a failure poisons out, which page_html() checks */
	(void)!export_json(one->t, one->meta, out);
}

int
export_html(const struct tree *t, const struct export_meta *meta,
            struct buf *out)
{
	struct one one = {t, meta};

	return page_html(put_tree, &one, out);
}
