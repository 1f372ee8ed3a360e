#include "base/clock.h"
#include "store/bytes.h"
#include "window_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field window_fields[] = {
	ROW_FIELD(window, id),           ROW_FIELD(window, series),
	ROW_FIELD(window, parent),       ROW_FIELD(window, segment),
	ROW_FIELD(window, checksum),     ROW_FIELD(window, level),
	ROW_FIELD(window, start_ms),     ROW_FIELD(window, end_ms),
	ROW_FIELD(window, duration_ms),  ROW_FIELD(window, windows),
	ROW_FIELD(window, sample_count), ROW_FIELD(window, value),
	ROW_FIELD(window, start),        ROW_FIELD(window, length),
	ROW_FIELD(window, pinned),       ROW_FIELD(window, quota_ms),
};
const struct row_type window_type = ROW_TYPE(window, window_fields);

ROW_DONE(window, window_type)
ROW_LIST_DONE(window_list, window_type)

int
window_list_take(struct window_list *l, struct window_list *more)
{
	struct window *p =
		reallocarray(l->items, l->n + more->n + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	l->items = p;
	if (more->n)
		memcpy(p + l->n, more->items, more->n * sizeof(*p));
	l->n += more->n;
	free(more->items);
	*more = (struct window_list){0};
	return 0;
}

int64_t
window_span_ms(enum window_level level)
{
	static const int64_t spans[WINDOW_LEVELS] = {
		[WINDOW_MINUTE] = 60 * MS_PER_S,
		[WINDOW_HOUR] = 3600 * MS_PER_S,
		[WINDOW_DAY] = 86400 * MS_PER_S,
	};

	return spans[level];
}

int64_t
window_floor(enum window_level level, int64_t ms)
{
	int64_t span = window_span_ms(level);

	return span ? ms - (ms % span + span) % span : ms;
}

int
window_place(struct window *w)
{
	char name[BYTES_NAME_MAX];
	char *copy;

	if (!segment_in_db(w->segment))
		return 0;
	copy = bytes_name_of(w->segment, name) ? strdup("") : strdup(name);
	if (!copy)
		return -ENOMEM;
	free(w->segment);
	w->segment = copy;
	w->whole = BYTES_WHOLE_UNKNOWN;
	snprintf(w->store, sizeof(w->store), BYTES_DB);
	return 0;
}

int
window_rows(struct store *s, enum sql sql, const struct db_value *v, size_t n,
            struct window_list *out)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int rc = ROW_LIST(s->db, &window_type, &l, sql, v, n);

	for (size_t i = 0; i < l.n && !rc; i++)
		rc = window_place(&l.items[i]);
	if (rc)
		return rc;
	*out = TAKE(l);
	return 0;
}

int
window_by_time(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return (x->start_ms > y->start_ms) - (x->start_ms < y->start_ms);
}
