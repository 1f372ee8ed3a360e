/*
 * Draws a flame graph as a static picture: root at the top, with tooltips,
 * without scripts.
 */
#include "exports.h"

#include "base/clock.h"
#include "base/driving.h"
#include "base/pattern.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WIDTH       1200 /* pixels */
#define ROW         17
#define HEAD        44
#define NOTE_AT     39 /* base line of the text below the title */
#define LEGEND_RISE 4  /* top of the legend, above the end of the head */
#define MARGIN      10
#define CHAR        7.2   /* width at 12px monospace */
#define MIN_WIDTH   0.1   /* narrower boxes are left out */
#define MAX_BOXES   20000 /* about 5 MB */
#define MAX_ROWS    512   /* deeper frames are left out */
#define MAX_NAME    1024  /* bytes of a name in a tooltip */
#define LABEL_PAD   6
#define LABEL_LEAST 3 /* characters; shorter labels are left out */

struct picture {
	const struct svg *s;
	const struct tree *t;
	struct buf *out;
	double scale; /* pixels per unit of value */
	double least; /* width of the narrowest box that is drawn */
	uint32_t head, rows;
};

/*
 * True for a character that XML cannot represent, U+FFFE and U+FFFF among them,
 * and for one that can make a name look like another. Source: XML 1.0,
 * production 2 (Char).
 */
static bool
forbidden(const unsigned char *s, size_t len)
{
	if (!len || (len == 3 && s[0] == 0xEF && s[1] == 0xBF && s[2] >= 0xBE))
		return true;
	return *s != '\t' && *s != '\n' && driving(s, len);
}

/* Writes up to most characters of s as text of an XML document. */
static void
put_text(struct buf *out, const char *s, size_t n, size_t most)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n;

	for (; p < end && most; most--) {
		size_t len = utf8_len(p, (size_t)(end - p));

		if (forbidden(p, len))
			buf_puts(out, "\xEF\xBF\xBD");
		else if (*p == '<')
			buf_puts(out, "&lt;");
		else if (*p == '>') /* text must not contain "]]>" */
			buf_puts(out, "&gt;");
		else if (*p == '&')
			buf_puts(out, "&amp;");
		else
			buf_add(out, p, len);
		p += len ? len : 1;
	}
}

static bool
is_above(uint32_t node, const struct picture *g)
{
	return node < g->s->root && g->t->end[node] > g->s->root;
}

/* True for a node that is neither above the picture's root nor below it. */
static bool
is_outside(uint32_t node, const struct picture *g)
{
	return !is_above(node, g) &&
	       (node < g->s->root || node >= g->t->end[g->s->root]);
}

static double
width(const struct picture *g, uint32_t node)
{
	return is_above(node, g) ? WIDTH : g->s->value(g->s, node) * g->scale;
}

static bool
drawn(const struct picture *g, uint32_t node)
{
	return g->t->depth[node] < MAX_ROWS && !is_outside(node, g) &&
	       width(g, node) >= g->least;
}

/* Counts the boxes to be drawn, and their rows. */
static uint32_t
count_boxes(struct picture *g)
{
	uint32_t boxes = 0;

	g->rows = 1;
	for (uint32_t i = 0; i < g->t->n; i++) {
		if (!drawn(g, i))
			continue;
		boxes++;
		if (g->t->depth[i] >= g->rows)
			g->rows = g->t->depth[i] + 1;
	}
	return boxes;
}

static void
choose_least(struct picture *g)
{
	g->least = MIN_WIDTH;
	while (count_boxes(g) > MAX_BOXES)
		g->least *= 2;
}

static void
put_head(const struct picture *g, const struct export_meta *meta)
{
	uint32_t height = g->head + g->rows * ROW + MARGIN;

	buf_addf(g->out,
	         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	         "height=\"%u\" viewBox=\"0 0 %d %u\" role=\"img\">\n"
	         "<style>text{font:12px monospace;pointer-events:none}"
	         "rect{stroke:#fff;stroke-width:.5}"
	         "rect:hover{stroke:#000}</style>\n"
	         "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	         "<text x=\"%d\" y=\"24\" style=\"font-size:16px\">",
	         WIDTH + 2 * MARGIN, height, WIDTH + 2 * MARGIN, height,
	         MARGIN);
	put_text(g->out, meta->title, strlen(meta->title), 120);
	buf_puts(g->out, "</text>\n");
	if (!g->s->note)
		return;
	buf_addf(g->out, "<text x=\"%d\" y=\"%d\">", MARGIN, NOTE_AT);
	put_text(g->out, g->s->note, strlen(g->s->note), 120);
	buf_puts(g->out, "</text>\n");
}

static void
put_tooltip(const struct picture *g, uint32_t node, const char *name, size_t n)
{
	const struct tree *t = g->t;
	size_t np;
	const char *package = tree_package(t, t->name[node], &np);

	buf_puts(g->out, "<g><title>");
	put_text(g->out, name, n, MAX_NAME);
	if (np) {
		buf_puts(g->out, " [");
		put_text(g->out, package, np, MAX_NAME);
		buf_putc(g->out, ']');
	}
	buf_puts(g->out, "\n");
	g->s->describe(g->s, node, g->out);
	buf_puts(g->out, "</title>");
}

static void
put_rect(const struct picture *g, uint32_t node, double x)
{
	struct svg_color c = g->s->color(g->s, node);

	buf_addf(g->out,
	         "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
	         "fill=\"rgb(%u,%u,%u)\"/>",
	         x, g->head + g->t->depth[node] * ROW, width(g, node), ROW - 1,
	         c.r, c.g, c.b);
}

static void
put_box(const struct picture *g, uint32_t node, double x)
{
	size_t n, fits = 0;
	const char *name = tree_name(g->t, g->t->name[node], &n);
	double w = width(g, node);

	if (w > LABEL_PAD)
		fits = (size_t)((w - LABEL_PAD) / CHAR);
	put_tooltip(g, node, name, n);
	put_rect(g, node, x);
	if (fits >= LABEL_LEAST) {
		buf_addf(g->out, "<text x=\"%.2f\" y=\"%u\"%s>", x + 3,
		         g->head + g->t->depth[node] * ROW + 12,
		         g->s->color(g->s, node).is_dark ? " fill=\"#fff\""
		                                         : "");
		put_text(g->out, name, n, n > fits ? fits - 2 : fits);
		buf_puts(g->out, n > fits ? "..</text>" : "</text>");
	}
	buf_puts(g->out, "</g>\n");
}

/* Draws children side by side below their parent: next[d] is the position of
 * the next node at depth d. */
static void
put_boxes(const struct picture *g)
{
	double next[MAX_ROWS + 1] = {0};

	for (uint32_t i = 0; i < g->t->n && !buf_err(g->out); i++) {
		uint32_t d = g->t->depth[i];
		double at, w = width(g, i);

		if (d >= MAX_ROWS || !(w > 0) || is_outside(i, g))
			continue;
		at = next[d];
		next[d] += w;
		next[d + 1] = at;
		if (drawn(g, i))
			put_box(g, i, MARGIN + at);
	}
}

int
svg_write(const struct svg *s, const struct export_meta *meta, struct buf *out)
{
	double all = s->value(s, s->root);
	struct picture g = {.s = s, .t = s->t, .out = out};

	g.head = HEAD + s->legend_height;
	if (all > 0)
		g.scale = WIDTH / all;
	choose_least(&g);
	put_head(&g, meta);
	if (s->legend)
		s->legend(s, MARGIN, HEAD - LEGEND_RISE, out);
	if (all > 0)
		put_boxes(&g);
	buf_puts(out, "</svg>\n");
	return buf_err(out);
}

/* --- a profile ------------------------------------------------------------ */

/* The part of a profile that is shown. */
struct seen {
	const struct export_meta *meta;
	bool *hits; /* by id in the tree's names; NULL: nothing is searched */
};

static double
value(const struct svg *s, uint32_t node)
{
	return (double)s->t->total[node];
}

/* FNV-1a, as the page computes it: equal for names in ASCII. */
static uint32_t
page_hash(const char *s, size_t n)
{
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x01000193;
	h = (h ^ h >> 16) * 0x45d9f3b;
	return h ^ h >> 16;
}

static unsigned
byte_of(double v)
{
	double c = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;

	return (unsigned)lround(255 * fmin(1, fmax(0, c)));
}

/* OKLCH to sRGB. Source: bottosson.github.io/posts/oklab */
static struct svg_color
oklch(double light, double chroma, double degrees)
{
	double a = chroma * cos(degrees * M_PI / 180);
	double b = chroma * sin(degrees * M_PI / 180);
	double l = pow(light + 0.3963377774 * a + 0.2158037573 * b, 3);
	double m = pow(light - 0.1055613458 * a - 0.0638541728 * b, 3);
	double s = pow(light - 0.0894841775 * a - 1.2914855480 * b, 3);

	return (struct svg_color){
		byte_of(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
		byte_of(-1.2684380046 * l + 2.6097574011 * m -
	                0.3413193965 * s),
		byte_of(-0.0041960863 * l - 0.7034186147 * m +
	                1.7076147010 * s),
		false};
}

/* Returns the colour that the page uses: functions of one package share a hue,
 * unless matches are marked. The numbers are theme.css's. */
static struct svg_color
color(const struct svg *s, uint32_t node)
{
	static const struct svg_color hit = {0x7b, 0x2f, 0xb5, true};
	static const struct svg_color miss = {0xe5, 0xe8, 0xec, false};
	const struct seen *seen = s->arg;
	uint32_t id = s->t->name[node];
	size_t n, np;
	const char *name = tree_name(s->t, id, &n);
	const char *package = tree_package(s->t, id, &np);
	int shade;

	if (seen->hits)
		return node && seen->hits[id] ? hit : miss;
	shade = (int)(page_hash(name, n) % 7) - 3;
	return oklch(0.84 + shade / 150.0, 0.085, page_hash(package, np) % 360);
}

static double
percent(const struct tree *t, int64_t part, uint32_t of)
{
	return t->total[of] ? 100.0 * (double)part / (double)t->total[of] : 0;
}

static void
describe(const struct svg *s, uint32_t node, struct buf *out)
{
	const struct tree *t = s->t;

	quantity(out, t->total[node], svg_unit(t));
	buf_addf(out, " (%.2f %%)", percent(t, t->total[node], 0));
	if (s->root && node >= s->root)
		buf_addf(out, ", %.2f %% of the view",
		         percent(t, t->total[node], s->root));
}

/*
 * Returns the value of the matching nodes below the root, nested matches once.
 */
static int64_t
matched(const struct tree *t, const bool *hits, uint32_t root)
{
	int64_t sum = 0;

	for (uint32_t i = root; i < t->end[root];) {
		bool hit = i && hits[t->name[i]];

		if (hit)
			sum += t->total[i];
		i = hit ? t->end[i] : i + 1;
	}
	return sum;
}

/* Writes when a profile was taken, how long it took, its total, and which part
 * of it is shown. */
static void
put_note(const struct tree *t, const struct seen *seen, struct buf *out)
{
	const struct export_meta *meta = seen->meta;
	char at[RFC3339_LEN];

	if (meta->time_ms > 0) {
		clock_format(meta->time_ms, at);
		buf_addf(out, "%s, ", at);
	}
	if (meta->duration_ms > 0) {
		quantity(out, meta->duration_ms * NS_PER_MS, "nanoseconds");
		buf_puts(out, " long, ");
	}
	buf_puts(out, "total ");
	quantity(out, t->total[0], svg_unit(t));
	if (meta->root) {
		buf_puts(out, ", shown ");
		quantity(out, t->total[meta->root], svg_unit(t));
		buf_addf(out, " (%.2f %%)",
		         percent(t, t->total[meta->root], 0));
	}
	if (seen->hits)
		buf_addf(out, ", %.2f %% matched",
		         percent(t, matched(t, seen->hits, meta->root),
		                 meta->root));
}

static int
find_hits(const struct tree *t, const char *search, bool **out)
{
	CLEANUP_FREE bool *hits =
		calloc(strings_count(t->names) + 1, sizeof(*hits));
	regex_t re;
	int rc = pattern_compile_any_case(search, &re);

	if (!hits || rc == -ENOMEM) {
		if (!rc)
			regfree(&re);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < strings_count(t->names); i++) {
		const char *name = strings_get(t->names, i, NULL);

		hits[i] = strcasestr(name, search) ||
		          (!rc && pattern_matches(&re, name));
	}
	if (!rc)
		regfree(&re);
	*out = TAKE(hits);
	return 0;
}

int
export_svg(const struct tree *t, const struct export_meta *meta,
           struct buf *out)
{
	CLEANUP_BUF struct buf note = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE bool *hits = NULL;
	struct seen seen = {.meta = meta};
	struct svg s = {.t = t,
	                .arg = &seen,
	                .value = value,
	                .color = color,
	                .describe = describe,
	                .root = meta->root};

	if (meta->search && find_hits(t, meta->search, &hits))
		return -ENOMEM;
	seen.hits = hits;
	put_note(t, &seen, &note);
	s.note = buf_str(&note);
	return svg_write(&s, meta, out);
}
