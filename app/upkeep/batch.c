#include "batch.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>

/* How long after the end of a window others may still be added to it. */
#define LAG_MS (30 * MS_PER_S)
/* Most bytes of one batch; the rest follows in the next. */
#define BATCH_BYTES ((int64_t)64 << 20)

void
batch_free(struct batch *b)
{
	for (size_t i = 0; b && i < b->n; i++)
		window_list_done(&b->groups[i].windows);
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

static int
append(struct segment *to, struct batch *b, size_t i, batch_sum *sum, void *arg)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES);
	struct window_ask *w = &b->groups[i].sum;
	int rc = sum(arg, i, &bytes);

	if (rc == -EBADMSG) {
		log_warn("windows of %s cannot be added up", w->series);
		buf_clear(&bytes);
		rc = 0;
	}
	return rc ? rc : segment_append(to, bytes.p, bytes.len, w);
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
			rc = window_rollup(s, &to, &b->groups[i].sum,
			                   &b->groups[i].windows);
	return store_end(s, rc);
}
