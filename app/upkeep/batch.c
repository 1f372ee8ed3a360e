#include "batch.h"

#include "base/clock.h"
#include "base/counted.h"
#include "base/log.h"

#include <errno.h>

/* How long after the end of a window others may still be added to it. */
#define LAG_MS (30 * MS_PER_S)
/* Most bytes of one batch; the rest follows in the next. */
#define BATCH_BYTES ((int64_t)64 << 20)

void
batch_free(struct batch *b)
{
	for (size_t i = 0; b && i < b->n; i++) {
		window_list_done(&b->groups[i].windows);
		free(b->groups[i].counted);
	}
	free(b);
}

/* --- what is due ---------------------------------------------------------- */

static int
add_group(struct store *s, struct batch *b, const struct ripe *due,
          enum window_level level, int64_t *bytes)
{
	struct batch_group *g = &b->groups[b->n];
	int rc = window_children(s, due, level, &g->windows);

	if (rc || !g->windows.n)
		return rc; /* another process has rolled them up */
	g->sum = window_sum(level, due->start_ms, &g->windows);
	b->n++;
	for (size_t i = 0; i < g->windows.n; i++)
		*bytes += g->windows.items[i].length;
	return 0;
}

static int
fill(struct store *s, struct batch *b, enum window_level level,
     int64_t before_ms)
{
	CLEANUP_RIPE struct ripe_list due = {0};
	int64_t bytes = 0;
	int rc = window_ripe(s, level, before_ms, BATCH_MAX, &due);

	for (size_t i = 0; i < due.n && !rc && bytes < BATCH_BYTES; i++)
		rc = add_group(s, b, &due.items[i], level, &bytes);
	return rc;
}

int
batch_next(struct store *s, int64_t now_ms, struct batch **out)
{
	CLEANUP_BATCH struct batch *b = calloc(1, sizeof(*b));
	int rc = b ? 0 : -ENOMEM;

	for (int level = WINDOW_MINUTE; level < WINDOW_LEVELS && !rc && !b->n;
	     level++)
		rc = fill(s, b, (enum window_level)level, now_ms - LAG_MS);
	if (rc || !b->n)
		return rc ? rc : -ENOENT;
	*out = TAKE(b);
	return 0;
}

int
batch_profile(const struct store *s, const struct window *w, struct buf *out)
{
	int rc = w->length ? window_read(s, w, out) : 0;

	if (rc != -EBADMSG && rc != -ENOENT)
		return rc;
	log_warn("%s: the profile is missing or damaged", w->id);
	return 0;
}

/* --- sums ----------------------------------------------------------------- */

bool
batch_has_parts(const struct batch_group *g)
{
	return g->sum.level == WINDOW_MINUTE;
}

static size_t
count_profiles(const struct window_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->items[i].length > 0;
	return n;
}

/* Appends the parts of a bundle; those that are smaller than their windows'
 * bytes take their place. A group in which a profile could not be read has
 * fewer parts, which are of no use. */
static int
append_parts(struct segment *to, struct batch_group *g, const char *p,
             const struct bundle *parts)
{
	const struct window_list *l = &g->windows;
	uint32_t n = 0;
	int rc = 0;

	if (parts->n != count_profiles(l))
		return 0;
	g->counted = calloc(l->n, sizeof(*g->counted));
	if (!g->counted)
		return -ENOMEM;
	for (size_t i = 0; i < l->n && !rc; i++) {
		struct window_ask *w = &g->counted[i];
		uint32_t length;

		if (!l->items[i].length)
			continue;
		length = bundle_length(parts, n++);
		rc = segment_append(to, p, length, w);
		p += length;
		if (w->length >= l->items[i].length)
			w->length = 0;
	}
	return rc;
}

/* Makes a group's sum, and finds its parts. */
static int
make_sum(const struct batch_group *g, size_t i, batch_sum *sum, void *arg,
         struct buf *out, struct bundle *parts)
{
	int rc = sum(arg, i, out);

	*parts = (struct bundle){.base = out->len};
	if (!rc && out->len && batch_has_parts(g))
		rc = bundle_read(out->p, out->len, parts);
	if (rc != -EBADMSG)
		return rc;
	log_warn("windows of %s cannot be added up", g->sum.series);
	buf_clear(out);
	*parts = (struct bundle){0};
	return 0;
}

static int
append(struct segment *to, struct batch *b, size_t i, batch_sum *sum, void *arg)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES);
	struct batch_group *g = &b->groups[i];
	struct bundle parts;
	int rc = make_sum(g, i, sum, arg, &bytes, &parts)
	                 ?: segment_append(to, bytes.p, parts.base, &g->sum);

	return rc || !parts.n
	               ? rc
	               : append_parts(to, g, bytes.p + parts.base, &parts);
}

static int
store_group(struct store *s, const struct segment *g,
            const struct batch_group *of)
{
	int rc = window_rollup(s, g, &of->sum, &of->windows);

	for (size_t i = 0; of->counted && i < of->windows.n && !rc; i++)
		if (of->counted[i].length)
			rc = window_replace(s, g, &of->windows.items[i],
			                    &of->counted[i]);
	return rc;
}

int
batch_store(struct store *s, struct batch *b, batch_sum *sum, void *arg)
{
	CLEANUP_SEGMENT struct segment to = SEGMENT_INIT;
	bool reached[BATCH_MAX];
	int rc = segment_create(s, s->host, &to);

	for (size_t i = 0; i < b->n && !rc; i++) {
		rc = append(&to, b, i, sum, arg);
		reached[i] = rc != -EAGAIN;
		if (!reached[i])
			rc = 0;
	}
	if (!rc)
		rc = segment_sync(&to) ?: store_begin(s);
	if (rc)
		return rc;
	for (size_t i = 0; i < b->n && !rc; i++)
		if (reached[i])
			rc = store_group(s, &to, &b->groups[i]);
	return store_end(s, rc);
}
