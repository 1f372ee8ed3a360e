/*
 * Chooses windows that add up to a range. From the top level down, windows
 * inside the range are used; each lower level fills the gaps at both ends, and
 * adds windows in between without a parent. A sum that could not be made, or
 * is too coarse, stands for the windows below it.
 */
#include "window_runs.h"

#include <errno.h>
#include <string.h>

struct plan {
	struct store *s;
	const char *series;
	int64_t from_ms, to_ms;
	enum window_level top;
	struct window_list all;
};

static int
take(struct plan *p, struct window_list *l)
{
	struct window *items;

	if (!l->n)
		return 0;
	if (p->all.n + l->n > WINDOW_PLAN_MAX)
		return -E2BIG;
	items = reallocarray(p->all.items, p->all.n + l->n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	p->all.items = items;
	memcpy(items + p->all.n, l->items, l->n * sizeof(*items));
	p->all.n += l->n;
	free(l->items);
	*l = (struct window_list){0};
	return 0;
}

/* Drops windows that reach past the range; returns how many stay. */
static void
keep_inside(const struct plan *p, struct window_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct window *w = &l->items[i];

		if (w->level == WINDOW_CAPTURED || w->end_ms <= p->to_ms)
			l->items[n++] = *w;
		else
			window_done(w);
	}
	l->n = n;
}

/* Finds what can stand for a sum: all windows that it was made of or, for a
 * failed sum, those that are left. */
static int
parts_of(const struct plan *p, const struct window *w, struct window_list *out)
{
	int64_t n = 0;
	int rc = window_of_parent(p->s, w->id, WINDOW_PLAN_MAX, out);

	for (size_t i = 0; i < out->n; i++)
		n += out->items[i].windows > 0 ? out->items[i].windows : 1;
	if (!rc && !window_is_failed(w) && n != w->windows)
		window_list_done(out);
	return rc;
}

/* Replaces failed sums, and sums above the plan's top, by their windows. */
static int
replace_sums(const struct plan *p, struct window_list *l)
{
	CLEANUP_WINDOWS struct window_list parts = {0};
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < l->n; i++) {
		CLEANUP_WINDOWS struct window_list of = {0};
		struct window *w = &l->items[i];
		bool replaced = window_is_failed(w);

		if (!rc && (replaced || w->level > p->top))
			rc = parts_of(p, w, &of) ?: replace_sums(p, &of);
		replaced |= of.n > 0;
		if (!rc && of.n)
			rc = window_list_take(&parts, &of);
		if (!rc && replaced)
			window_done(w);
		else
			l->items[n++] = *w;
	}
	l->n = n;
	return rc ?: window_list_take(l, &parts);
}

static int
add(struct plan *p, enum sql sql, enum window_level level, int64_t from_ms,
    int64_t to_ms)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	const struct run_want want = {
		.series = p->series,
		.level = level,
		.from_ms = from_ms,
		.to_ms = to_ms - 1,
		.open = sql == SQL_WINDOW_OPEN_BETWEEN,
		.limit = WINDOW_PLAN_MAX + 1,
	};
	int rc;

	if (from_ms >= to_ms)
		return 0;
	rc = window_select(p->s, &want, sql,
	                   ARGS(V(p->series), V((int64_t)level), V(from_ms),
	                        V(to_ms), V(WINDOW_PLAN_MAX + 1)),
	                   &l);
	if (rc)
		return rc;
	keep_inside(p, &l);
	return replace_sums(p, &l) ?: take(p, &l);
}

static int
add_level(struct plan *p, enum window_level level)
{
	int64_t head, tail;

	if (level == WINDOW_DAY)
		return add(p, SQL_WINDOW_BETWEEN, level, p->from_ms, p->to_ms);
	head = window_floor(level + 1, p->from_ms - 1) +
	       window_span_ms(level + 1);
	tail = window_floor(level + 1, p->to_ms);
	if (head > tail)
		return add(p, SQL_WINDOW_BETWEEN, level, p->from_ms, p->to_ms);
	return add(p, SQL_WINDOW_BETWEEN, level, p->from_ms, head)
	               ?: add(p, SQL_WINDOW_OPEN_BETWEEN, level, head, tail)
	               ?: add(p, SQL_WINDOW_BETWEEN, level, tail, p->to_ms);
}

int
window_plan(struct store *s, const char *series, int64_t from_ms, int64_t to_ms,
            enum window_level top, struct window_list *out)
{
	struct plan p = {.s = s,
	                 .series = series,
	                 .from_ms = from_ms,
	                 .to_ms = to_ms,
	                 .top = top};
	int rc = 0;

	for (int level = WINDOW_DAY; level >= WINDOW_CAPTURED && !rc; level--)
		rc = add_level(&p, (enum window_level)level);
	if (rc) {
		window_list_done(&p.all);
		return rc;
	}
	if (p.all.n)
		qsort(p.all.items, p.all.n, sizeof(*p.all.items),
		      window_by_time);
	*out = p.all;
	return 0;
}
