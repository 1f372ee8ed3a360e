#include "pushes.h"

#include "base/clock.h"
#include "profile/pprof.h"
#include "profile/tree.h"

#include <errno.h>

#define SEGMENT_NS        (300 * NS_PER_S)

void
pushes_done(struct pushes *p)
{
	segment_close(&p->segment);
}

void
push_windows_done(struct push_windows *w)
{
	for (size_t i = 0; i < w->n; i++)
		buf_done(&w->of[i].file);
	w->n = 0;
}

static bool
is_sound(int64_t value)
{
	return value >= -PUSH_MAX_VALUE && value <= PUSH_MAX_VALUE;
}

int
push_add(struct push_windows *w, const char *type, const struct profile *p)
{
	CLEANUP_TREE struct tree *tree = NULL;
	struct push_window *to = &w->of[w->n];
	int rc = w->n == PUSH_MAX_TYPES
	                 ? -E2BIG
	                 : tree_new(p, profile_type_index(p, NULL), &tree);

	if (rc)
		return rc;
	if (!is_sound(tree->total[0]) || !is_sound(tree->total_samples))
		return -EOVERFLOW;
	*to = (struct push_window){
		.type = type,
		.file = BUF_INIT((size_t)WINDOW_MAX_BYTES),
		.samples = tree->total_samples,
		.value = tree->total[0],
	};
	w->n++;
	return pprof_encode(p, &to->file);
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
	segment_close(&p->segment);
	p->segment = g;
	p->opened_ns = now;
	return 0;
}

static int
append(struct pushes *p, struct store *s, const struct push_windows *w,
       const struct push_window *of, char series[static ID_MAX],
       struct window_ask *out)
{
	int rc = series_of_pushed(s, w->tenant, w->service, of->type, w->labels,
	                          w->max_series, series);

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
	return rc ? rc
	          : segment_append(&p->segment, of->file.p, of->file.len, out);
}

int
pushes_store(struct pushes *p, struct store *s, const struct push_windows *w)
{
	char series[PUSH_MAX_TYPES][ID_MAX];
	struct window_ask asks[PUSH_MAX_TYPES];
	int rc = open_segment(p, s);
	int64_t length = p->segment.length;

	for (size_t i = 0; i < w->n && !rc; i++)
		rc = append(p, s, w, &w->of[i], series[i], &asks[i]);
	if (!rc)
		rc = segment_sync(&p->segment)
		             ?: window_commit(s, &p->segment, asks, w->n, NULL);
	if (rc)
		p->segment.length = length; /* the next push overwrites them */
	return rc;
}
