#include "lib/windows.h"

#include "profile/merge.h"
#include "profile/pprof.h"

#include <string.h>

static int64_t
total_of(const struct profile *p, uint32_t type)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->nsamples; i++)
		sum += p->values[(size_t)i * p->ntypes + type];
	return sum;
}

/* Encodes a window as the worker does: rollups are packed. */
static void
encode(const struct profile *p, enum window_level level, struct buf *out)
{
	CLEANUP_MERGE struct merge *m = NULL;

	if (level == WINDOW_CAPTURED) {
		ck_assert_int_eq(pprof_encode(p, out), 0);
		return;
	}
	ck_assert_int_eq(merge_new(BUF_MAX_REPLY, &m), 0);
	ck_assert_int_eq(merge_add(m, p), 0);
	ck_assert_int_eq(merge_encode(m, out), 0);
}

static void
append(struct segment *g, const struct profile *p, struct window_ask *w)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);

	w->sample_count = total_of(p, 0);
	w->value = total_of(p, profile_type_index(p, NULL));
	if (p->nsamples) /* an empty window has only its row */
		encode(p, w->level, &file);
	ck_assert_int_eq(segment_append(g, file.p, file.len, w), 0);
	ck_assert_int_eq(segment_sync(g), 0);
}

void
test_window(struct store *s, const struct test_window *t,
            char id[static ID_MAX])
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	CLEANUP_WINDOWS struct window_list l = {0};
	char series[ID_MAX];
	struct window_ask w = {
		.series = series,
		.level = t->level,
		.start_ms = t->start_ms,
		.end_ms = t->start_ms + t->span_ms,
		.duration_ms = t->covered_ms ? t->covered_ms : t->span_ms,
		.windows = t->windows ? t->windows : 1,
	};

	ck_assert_int_eq(series_of(s, TEST_TENANT, TEST_SERVICE,
	                           t->type ? t->type : "cpu",
	                           t->host ? t->host : TEST_HOST,
	                           t->labels ? t->labels : "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	append(&g, t->profile, &w);
	ck_assert_int_eq(window_commit(s, &g, &w, 1, NULL), 0);
	ck_assert_int_eq(window_between(s, series, t->level, t->start_ms,
	                                t->start_ms + 1, &l),
	                 0);
	ck_assert_uint_ge(l.n, 1);
	snprintf(id, ID_MAX, "%s", l.items[l.n - 1].id);
}

static void
roll(struct store *s, enum window_level level, const struct window_list *of)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int64_t start = window_floor(level, of->items[0].start_ms);
	struct window_ask w = {
		.series = of->items[0].series,
		.level = level,
		.start_ms = start,
		.end_ms = start + window_span_ms(level),
	};

	ck_assert_int_eq(merge_new(BUF_MAX_REPLY, &m), 0);
	for (size_t i = 0; i < of->n; i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(window_read(s, &of->items[i], &b), 0);
		ck_assert_int_eq(
			merge_add_file(m, b.p, b.len, BUF_MAX_REPLY, &why), 0);
		w.duration_ms += of->items[i].duration_ms;
		w.windows += of->items[i].windows;
	}
	ck_assert_int_eq(merge_end(m, &p), 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	append(&g, p, &w);
	ck_assert_int_eq(window_rollup(s, &g, &w, of), 0);
}

/* Makes one rollup; returns false if none is due. */
static bool
roll_one(struct store *s, enum window_level level)
{
	CLEANUP_RIPE struct ripe_list due = {0};
	CLEANUP_WINDOWS struct window_list l = {0};

	ck_assert_int_eq(window_ripe(s, level, INT64_MAX / 2, 1, &due), 0);
	if (!due.n)
		return false;
	ck_assert_int_eq(window_children(s, &due.items[0], level, &l), 0);
	roll(s, level, &l);
	return true;
}

void
test_rollup(struct store *s, enum window_level level)
{
	while (roll_one(s, level))
		;
}
