#include "batch.h"

#include "base/clock.h"
#include "base/counted.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

/* How long after the end of a window others may still be added to it. */
#define LAG_MS (30 * MS_PER_S)
/* Most bytes of one batch; the rest follows in the next. */
#define BATCH_BYTES ((int64_t)64 << 20)
/* Most windows of one batch, so that its transaction is short, and of a group
 * whose minutes become counts. */
#define BATCH_WINDOWS 2000
#define GROUP_WINDOWS 8000

void
batch_free(struct batch *b)
{
	for (size_t i = 0; b && i < b->n; i++) {
		window_list_done(&b->groups[i].windows);
		window_done(&b->groups[i].made);
		free(b->groups[i].counted);
	}
	free(b);
}

/* --- what is due ---------------------------------------------------------- */

/* Adds the windows that count a minute's stacks. */
static int
add_windows(struct store *s, const struct window *minute, size_t room,
            struct window_list *out)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	size_t n = 0;
	int rc = window_of_parent(s, minute->id, (int)room + 1, &l);

	for (size_t i = 0; i < l.n; i++) {
		struct window *w = &l.items[i];

		if (w->length && !strcmp(w->segment, minute->segment))
			l.items[n++] = *w;
		else
			window_done(w);
	}
	l.n = n;
	return rc ?: window_list_take(out, &l);
}

static int
by_place(const void *a, const void *b)
{
	const struct window *x = a, *y = b;
	int segments = strcmp(x->segment, y->segment);

	return segments ? segments
	                : (x->start > y->start) - (x->start < y->start);
}

/* Minutes can become counts only together with the windows that count their
 * stacks, which lie after them. A host of a fleet still sends its minutes after
 * their hour. */
static int
add_counted(struct store *s, struct batch_group *g)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int rc = 0;

	if (s->sends)
		return 0;
	for (size_t i = 0; i < g->windows.n && !rc && l.n <= GROUP_WINDOWS; i++)
		if (g->windows.items[i].length)
			rc = add_windows(s, &g->windows.items[i],
			                 GROUP_WINDOWS - l.n, &l);
	if (rc || l.n > GROUP_WINDOWS)
		return rc;
	g->has_parts = true;
	rc = window_list_take(&g->windows, &l);
	if (!rc)
		qsort(g->windows.items, g->windows.n, sizeof(*g->windows.items),
		      by_place);
	return rc;
}

static int
add_group(struct store *s, struct batch *b, const struct ripe *due,
          enum window_level level, int64_t *bytes, size_t *windows)
{
	struct batch_group *g = &b->groups[b->n];
	int rc = window_children(s, due, level, &g->windows);

	if (rc || !g->windows.n)
		return rc; /* another process has rolled them up */
	b->n++;
	g->has_parts = level == WINDOW_MINUTE;
	if (level == WINDOW_HOUR)
		rc = add_counted(s, g);
	if (rc)
		return rc;
	g->sum = window_sum(level, due->start_ms, &g->windows);
	for (size_t i = 0; i < g->windows.n; i++)
		*bytes += g->windows.items[i].length;
	*windows += g->windows.n;
	return 0;
}

static int
fill(struct store *s, struct batch *b, enum window_level level,
     int64_t before_ms)
{
	CLEANUP_RIPE struct ripe_list due = {0};
	int64_t bytes = 0;
	size_t windows = 0;
	int rc = window_ripe(s, level, before_ms, BATCH_MAX, &due);

	for (size_t i = 0;
	     i < due.n && !rc && bytes < BATCH_BYTES && windows < BATCH_WINDOWS;
	     i++)
		rc = add_group(s, b, &due.items[i], level, &bytes, &windows);
	return rc;
}

/* Chooses an hour that was made before its minutes became counts. */
static int
fill_again(struct store *s, struct batch *b)
{
	struct batch_group *g = &b->groups[0];
	int rc = s->sends ? -ENOENT : -ENODATA;

	while (rc == -ENODATA) {
		window_list_done(&g->windows);
		rc = window_whole(s, &g->made, &g->windows);
	}
	if (rc)
		return rc;
	b->n = 1;
	rc = add_counted(s, g);
	g->sum = window_sum(WINDOW_HOUR, g->made.start_ms, &g->windows);
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
	if (!rc && !b->n)
		rc = fill_again(s, b);
	if (rc)
		return rc;
	*out = TAKE(b);
	return 0;
}

/* Reads the counts of a window without their minute, which was read before. */
static int
read_counts(const struct store *s, const struct window *minute,
            const struct window *w, struct buf *out)
{
	struct window base;
	size_t from = out->len;
	int rc = window_read_own(s, w, &base, out);

	if (!rc && (!base.length || base.start != minute->start)) {
		out->len = from;
		rc = -EBADMSG;
	}
	return rc;
}

int
batch_profile(const struct store *s, struct window_list *l, size_t i,
              struct buf *out)
{
	struct window *w = &l->items[i];
	size_t minute = i;
	int rc;

	if (!w->length)
		return 0;
	while (minute && l->items[minute].level == WINDOW_CAPTURED)
		minute--;
	rc = l->items[minute].level > w->level
	             ? read_counts(s, &l->items[minute], w, out)
	             : window_read(s, w, out);
	if (rc != -EBADMSG && rc != -ENOENT)
		return rc;
	log_warn("%s: the profile is missing or damaged", w->id);
	for (; w->level == WINDOW_MINUTE && ++i < l->n &&
	       l->items[i].level == WINDOW_CAPTURED;)
		l->items[i].length = 0;
	return 0;
}

/* --- sums ----------------------------------------------------------------- */

/* Appends the parts of a bundle, which take the place of the windows' bytes if
 * they are smaller. A group in which a profile could not be read has fewer
 * parts, and cannot be used. */
static int
append_parts(struct segment *to, struct batch_group *g, const char *p,
             const struct bundle *parts)
{
	const struct window_list *l = &g->windows;
	size_t bytes = 0, profiles = 0;
	uint32_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < l->n; i++) {
		bytes += (size_t)l->items[i].length;
		profiles += l->items[i].length > 0;
	}
	if (parts->n != profiles || parts->bytes - parts->base >= bytes)
		return 0;
	g->counted = calloc(l->n, sizeof(*g->counted));
	if (!g->counted)
		return -ENOMEM;
	for (size_t i = 0; i < l->n && !rc; i++) {
		if (!l->items[i].length)
			continue;
		rc = segment_append(to, p, bundle_length(parts, n),
		                    &g->counted[i]);
		p += bundle_length(parts, n++);
	}
	return rc;
}

/*
 * True if a sum among the group's windows could not be made. The group's sum
 * can't be made then, either: it would be too small.
 */
static bool
lacks_sum(const struct batch_group *g)
{
	for (size_t i = 0; i < g->windows.n; i++)
		if (window_is_failed(&g->windows.items[i]))
			return true;
	return false;
}

/* Makes a group's sum, and finds its parts. */
static int
make_sum(const struct batch_group *g, size_t i, batch_sum *sum, void *arg,
         struct buf *out, struct bundle *parts)
{
	int rc = sum(arg, i, out);

	if (!rc && lacks_sum(g))
		buf_clear(out);
	*parts = (struct bundle){.base = out->len};
	if (!rc && out->len && g->has_parts)
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
	int rc = !of->made.id  ? window_rollup(s, g, &of->sum, &of->windows)
	         : of->counted ? window_rollup_again(s, g, &of->made, &of->sum)
	                       : 0;

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
