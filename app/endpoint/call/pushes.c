#include "pushes.h"

#include "base/clock.h"
#include "profile/pprof.h"
#include "profile/tree.h"

#include <errno.h>

#define SEGMENT_NS (300 * NS_PER_S)

void
pushes_done(struct pushes *p)
{
	segment_close(&p->segment);
	window_queue_close(&p->queue);
}

void
push_windows_done(struct push_windows *w)
{
	for (size_t i = 0; i < w->n; i++)
		buf_done(&w->of[i].made);
	w->n = 0;
}

static bool
is_sound(int64_t value)
{
	return value >= -PUSH_MAX_VALUE && value <= PUSH_MAX_VALUE;
}

int
push_add(struct push_windows *w, const char *type, const struct profile *p,
         const void *file, size_t n)
{
	struct push_window *to = &w->of[w->n];
	int64_t value = 0, samples = 0;
	int rc = w->n == PUSH_MAX_TYPES
	                 ? -E2BIG
	                 : tree_sums(p, profile_type_index(p, NULL), &value,
	                             &samples);

	if (rc)
		return rc;
	if (!is_sound(value) || !is_sound(samples))
		return -EOVERFLOW;
	*to = (struct push_window){
		.type = type,
		.made = BUF_INIT((size_t)WINDOW_MAX_BYTES),
		.samples = samples,
		.value = value,
	};
	w->n++;
	if (!file)
		rc = pprof_encode(p, &to->made);
	to->file = file ? file : to->made.p;
	to->length = file ? n : to->made.len;
	return rc;
}

static int
open_segment(struct pushes *p, struct store *s)
{
	struct segment g = SEGMENT_INIT;
	int64_t now = clock_mono_ns();
	int rc;

	if (p->segment.fd >= 0 && now - p->opened_ns < SEGMENT_NS &&
	    p->segment.length < SEGMENT_MAX_BYTES)
		return 0;
	rc = segment_create(s, s->host, &g);
	if (rc)
		return rc;
	if (!p->queue.own && window_queue_open(s, &p->queue))
		p->queue.own = NULL; /* pushes are committed one by one */
	segment_close(&p->segment);
	p->segment = g;
	p->opened_ns = now;
	return 0;
}

/* Windows that are about to be stored, with their series. */
struct batch {
	struct window_ask *asks;
	char (*series)[ID_MAX];
	size_t n;
};

static void
batch_done(struct batch *b)
{
	free(b->asks);
	free(b->series);
}

static int
batch_init(struct batch *b, const struct push_windows *w, size_t n)
{
	size_t all = 1;

	for (size_t i = 0; i < n; i++)
		all += w[i].n;
	b->asks = calloc(all, sizeof(*b->asks));
	b->series = calloc(all, sizeof(*b->series));
	return b->asks && b->series ? 0 : -ENOMEM;
}

static int
append(struct pushes *p, const struct push_windows *w,
       const struct push_window *of, const char *series, struct window_ask *out)
{
	*out = (struct window_ask){
		.series = series,
		.level = WINDOW_CAPTURED,
		.start_ms = w->start_ms,
		.end_ms = w->end_ms,
		.duration_ms = w->end_ms - w->start_ms,
		.windows = 1,
		.sample_count = of->samples,
		.value = of->value,
	};
	return segment_append(&p->segment, of->file, of->length, out);
}

/* Adds the windows of a push to the batch, or refuses the push. */
static int
add_push(struct pushes *p, struct store *s, struct push_windows *w,
         struct batch *b)
{
	int rc = 0;

	for (size_t i = 0; i < w->n && !rc; i++)
		rc = series_of_pushed(s, w->tenant, w->service, w->of[i].type,
		                      w->labels, w->max_series,
		                      b->series[b->n + i]);
	w->refused = rc == -ENOENT || rc == -EDQUOT ? rc : 0;
	if (w->refused)
		return 0;
	for (size_t i = 0; i < w->n && !rc; i++, b->n++)
		rc = append(p, w, &w->of[i], b->series[b->n], &b->asks[b->n]);
	return rc;
}

int
pushes_store(struct pushes *p, struct store *s, struct push_windows *w,
             size_t n)
{
	CLEANUP(batch_done) struct batch b = {0};
	int rc = batch_init(&b, w, n) ?: open_segment(p, s);
	int64_t length = p->segment.length;

	for (size_t i = 0; i < n && !rc; i++)
		rc = add_push(p, s, &w[i], &b);
	if (!rc && b.n)
		rc = segment_sync(&p->segment)
		             ?: window_queue_commit(s, &p->queue, &p->segment,
		                                    b.asks, b.n);
	if (rc)
		p->segment.length = length; /* the next push overwrites them */
	return rc;
}
