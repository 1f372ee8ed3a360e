/* GET history: sessions and windows of a service, newest first. */
#include "store/history.h"

#include "endpoint/profile/load.h"
#include "endpoint/profile/profile_json.h"
#include "endpoint/profile/window_session.h"
#include "range_call.h"

#include <errno.h>
#include <string.h>

/* Pages of sessions read for one page of sessions with matching labels. */
#define MAX_PAGES 20

enum resolution { AUTO, CAPTURED, MINUTE, HOUR, DAY, NONE };

/* An item, with its place in the list. */
struct entry {
	int64_t ms;
	const char *id;
	const struct session *session;
	const struct window *window;
	const struct series *series;
};

struct history {
	struct range range; /* filters and series */
	struct page page;
	struct session_list pages[MAX_PAGES];
	size_t npages;
	struct window_list *windows; /* by series */
	struct entry *entries;
	size_t n, room;
	bool more;          /* more items follow */
	struct entry floor; /* the list is complete down to here */
};

static void
history_done(struct history *h)
{
	for (size_t i = 0; i < h->npages; i++)
		session_list_done(&h->pages[i]);
	for (size_t i = 0; h->windows && i < h->range.series.n; i++)
		window_list_done(&h->windows[i]);
	free(h->windows);
	free(h->entries);
	range_done(&h->range);
}

static int
add(struct history *h, const struct entry *e)
{
	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 128;
		struct entry *p = reallocarray(h->entries, room, sizeof(*p));

		if (!p)
			return -ENOMEM;
		h->entries = p;
		h->room = room;
	}
	h->entries[h->n++] = *e;
	return 0;
}

static int
older(const struct entry *a, const struct entry *b)
{
	return a->ms != b->ms ? (a->ms < b->ms ? 1 : -1)
	                      : -strcmp(a->id, b->id);
}

static int
newest_first(const void *a, const void *b)
{
	return older(a, b);
}

/* --- what there is -------------------------------------------------------- */

static int
add_sessions(struct history *h, const struct session_list *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->n && !rc; i++) {
		const struct session *s = &l->items[i];

		h->floor = (struct entry){.ms = s->started_ms, .id = s->id};
		if (range_labels_match(&h->range, s->labels))
			rc = add(h, &(struct entry){.ms = s->started_ms,
			                            .id = s->id,
			                            .session = s});
	}
	return rc;
}

static int
find_sessions(struct call *c, struct history *h)
{
	const struct session_filter f = {
		.tenant = c->caller.tenant,
		.service = h->range.service,
		.type = h->range.type,
		.status = param_text(c, P_GetHistory_status),
		.from_ms = h->range.from_ms,
		.to_ms = h->range.to_ms,
	};
	struct page page = h->page;
	int rc = 0;

	while (!rc && h->npages < MAX_PAGES && h->n < (size_t)h->page.limit) {
		struct session_list *l = &h->pages[h->npages];

		rc = session_history(&c->env->store, &f, page, l);
		if (rc)
			return rc;
		h->npages++;
		rc = add_sessions(h, l);
		h->more = l->next;
		if (!l->next)
			break;
		page = (struct page){STORE_PAGE_MAX, l->next};
	}
	return rc;
}

static int
find_windows(struct call *c, struct history *h, enum window_level level)
{
	struct range *r = &h->range;

	h->windows = calloc(r->series.n + 1, sizeof(*h->windows));
	if (!h->windows)
		return -ENOMEM;
	for (size_t i = 0; i < r->series.n; i++) {
		struct window_list *l = &h->windows[i];
		int rc = history_windows(&c->env->store, r->series.items[i].id,
		                         level, r->from_ms, r->to_ms, h->page,
		                         l);

		for (size_t k = 0; k < l->n && !rc; k++)
			rc = add(h, &(struct entry){
					    .ms = l->items[k].start_ms,
					    .id = l->items[k].id,
					    .window = &l->items[k],
					    .series = &r->series.items[i]});
		if (rc)
			return rc;
		/* a full page: there may be older ones */
		h->more |= l->n == (size_t)h->page.limit;
	}
	return 0;
}

static enum resolution
wanted(const struct call *c)
{
	const char *const *words = param_words(PT_RESOLUTION);
	const char *text = param_text(c, P_GetHistory_resolution);
	const char *status = param_text(c, P_GetHistory_status);
	int i = 0;

	if (*status && strcmp(status, SESSION_COMPLETED))
		return NONE; /* all windows are complete */
	while (words[i] && strcmp(words[i], text))
		i++;
	return (enum resolution)i;
}

static int
find(struct call *c, struct history *h)
{
	static const enum window_level levels[] = {
		[AUTO] = HISTORY_TOP,     [CAPTURED] = WINDOW_CAPTURED,
		[MINUTE] = WINDOW_MINUTE, [HOUR] = WINDOW_HOUR,
		[DAY] = WINDOW_DAY,
	};
	enum resolution resolution = wanted(c);
	bool cut;
	int rc = find_sessions(c, h);

	if (rc)
		return page_fail(c, rc, h->page.cursor);
	cut = h->more;
	if (resolution != NONE) {
		rc = range_series(&h->range);
		if (rc)
			return range_fail(c, &h->range, rc, NULL);
		rc = find_windows(c, h, levels[resolution]);
	}
	if (rc)
		return page_fail(c, rc, h->page.cursor);
	if (h->n)
		qsort(h->entries, h->n, sizeof(*h->entries), newest_first);
	while (cut && h->n && older(&h->entries[h->n - 1], &h->floor) > 0)
		h->n--;
	return 0;
}

/* --- the reply ------------------------------------------------------------ */

static int
put_entry(struct call *c, struct buf *out, const struct entry *e, int64_t top)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = 0;

	json_open(out, NULL, '{');
	if (e->session) {
		rc = profile_put(c, out, e->session, top);
	} else {
		if (window_session(e->window, e->series, "", &s))
			return fail_store(c, -ENOMEM);
		rc = load_top(c, top, &s) ?: profile_put(c, out, &s, top);
	}
	if (!rc) /* else the reply is an error already */
		json_close(out, '}');
	return rc;
}

static int
answer(struct call *c, const struct history *h)
{
	CLEANUP_FREE char *next = NULL;
	int64_t top = param_int(c, P_GetHistory_top);
	size_t limit = (size_t)h->page.limit;
	size_t n = h->n < limit ? h->n : limit;
	const struct entry *last = n ? &h->entries[n - 1] : &h->floor;
	struct buf *out = page_begin(c);

	for (size_t i = 0; i < n; i++)
		if (put_entry(c, out, &h->entries[i], top))
			return -1;
	if (n < limit && h->floor.id && h->more)
		last = &h->floor;
	if ((h->more || h->n > n) && last->id &&
	    history_cursor(last->ms, last->id, &next))
		return fail_store(c, -ENOMEM);
	return page_end(c, next);
}

int
history_get(struct call *c)
{
	CLEANUP(history_done)
	struct history h = {
		.range = range_asked(c, RANGE_ROWS(GetHistory)),
		.page = PAGE_OF(c, GetHistory),
	};

	struct range asked = h.range;

	if (!asked.to_ms) /* open: everything */
		asked.to_ms = INT64_MAX;
	if (range_check(c, &asked))
		return -1;
	if (find(c, &h))
		return -1;
	return answer(c, &h);
}
