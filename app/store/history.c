#include "store/history.h"

#include "store/db/cursor.h"
#include "store/windows/window_runs.h"

#include <errno.h>
#include <string.h>

int
history_cursor(int64_t ms, const char *id, char **out)
{
	return cursor_make(ms, id, out);
}

int
history_windows(struct store *s, const char *series, enum window_level level,
                int64_t from_ms, int64_t to_ms, struct page page,
                struct window_list *out)
{
	struct run_want want;
	struct cursor c;
	int rc = page_check(&page) ?: cursor_parse(page.cursor, &c);

	if (rc)
		return rc;
	if (to_ms && c.ms > to_ms)
		c = (struct cursor){.ms = to_ms};
	want = (struct run_want){
		.series = series,
		.level = level,
		.from_ms = from_ms,
		.to_ms = c.ms,
		.before = c.id,
		.reach = level == HISTORY_TOP,
		.limit = page.limit,
	};
	if (level == HISTORY_TOP)
		return window_select(s, &want, SQL_WINDOW_NEWEST_TOP,
		                     ARGS(V(series), V(c.ms), V((char *)c.id),
		                          V(from_ms), V(page.limit)),
		                     out);
	return window_select(s, &want, SQL_WINDOW_NEWEST,
	                     ARGS(V(series), V((int64_t)level), V(c.ms),
	                          V((char *)c.id), V(from_ms), V(page.limit)),
	                     out);
}

struct trend {
	struct store *s;
	enum window_level level;
	int64_t from_ms, to_ms;
	struct window_list all;
	size_t room;
};

/* Moves *w to the trend's list. */
static int
take(struct trend *t, struct window *w)
{
	if (w->end_ms <= t->from_ms && w->start_ms < t->from_ms)
		return 0;
	if (w->start_ms >= t->to_ms)
		return 0;
	if (t->all.n == WINDOW_PLAN_MAX)
		return -E2BIG;
	if (t->all.n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct window *p = reallocarray(t->all.items, room, sizeof(*p));

		if (!p)
			return -ENOMEM;
		t->all.items = p;
		t->room = room;
	}
	t->all.items[t->all.n++] = *w;
	*w = (struct window){0};
	return 0;
}

static int
children(struct trend *t, const struct window *w, struct window_list *out)
{
	if (run_window_is(w->id))
		return window_between(t->s, w->series,
		                      (enum window_level)(w->level - 1),
		                      w->start_ms, w->end_ms, out);
	return window_of_parent(t->s, w->id, WINDOW_PLAN_MAX, out);
}

/* Replaces a window by its children, unless some are gone already. */
static int
expand(struct trend *t, struct window *w)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int64_t held = 0;
	int rc;

	if (w->level <= (int64_t)t->level)
		return take(t, w);
	rc = children(t, w, &l);
	if (rc)
		return rc;
	for (size_t i = 0; i < l.n; i++)
		held += l.items[i].windows;
	if (held != w->windows)
		return take(t, w);
	for (size_t i = 0; i < l.n && !rc; i++)
		if (l.items[i].end_ms > t->from_ms &&
		    l.items[i].start_ms < t->to_ms)
			rc = expand(t, &l.items[i]);
	return rc;
}

int
history_trend(struct store *s, const char *series, enum window_level level,
              int64_t from_ms, int64_t to_ms, struct window_list *out)
{
	CLEANUP_WINDOWS struct window_list tops = {0};
	struct trend t = {
		.s = s, .level = level, .from_ms = from_ms, .to_ms = to_ms};
	const struct run_want want = {
		.series = series,
		.level = HISTORY_TOP,
		.from_ms = from_ms,
		.to_ms = to_ms - 1,
		.reach = true,
		.limit = WINDOW_PLAN_MAX + 1,
	};
	int rc = window_select(
		s, &want, SQL_WINDOW_TOPS,
		ARGS(V(series), V(from_ms), V(to_ms), V(WINDOW_PLAN_MAX + 1)),
		&tops);

	for (size_t i = 0; i < tops.n && !rc; i++)
		rc = expand(&t, &tops.items[i]);
	if (rc)
		window_list_done(&t.all);
	else
		*out = t.all;
	return rc;
}
