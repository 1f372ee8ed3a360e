/*
 * Windows of runs, which blocks of other hosts hold (store/block.h), for those
 * who read windows.
 */
#pragma once

#include "store/host_sum.h"
#include "window_private.h"

/* Which windows of a series are wanted. */
struct run_want {
	const char *series;
	int64_t level; /* WINDOW_LEVELS: of all, those without a parent */
	int64_t from_ms, to_ms; /* begin within this, ends included */
	bool reach;             /* end within it, too */
	bool open;              /* without a parent */
	/* Newest first, and of those that begin at to_ms the ones before this
	 * id; NULL: in order of time. */
	const char *before;
	int64_t limit;
};

/* Reads windows that are rows, by a statement, and those of runs. */
MUST_CHECK int
window_select(struct store *s, const struct run_want *want, enum sql sql,
              const struct db_value *v, size_t n, struct window_list *out);
/*
 * Adds windows of runs to a list that has others of the series, in the order
 * that is wanted, up to the limit.
 *   Errors   -EBADMSG for a damaged block, -ENOMEM, those of bytes_get()
 */
MUST_CHECK int window_add_runs(struct store *s, const struct run_want *want,
                               struct window_list *l);
/* Lists the windows of an hour that hosts sent, under a type and labels. */
MUST_CHECK int run_windows_of_hosts(struct store *s, const struct sum_due *due,
                                    const char *type, const char *labels,
                                    struct window_list *out);
/* True for the id of a window of a run. */
bool run_window_is(const char *id);
/* Finds a window of a run by its id; -ENOENT. */
MUST_CHECK int run_window_get(struct store *s, const char *tenant,
                              const char *id, struct window *out);
/* Adds windows of runs whose ids begin so, up to WINDOW_FOUND_MAX in all. */
MUST_CHECK int run_window_find(struct store *s, const char *tenant,
                               const char *prefix, struct window_list *l);
MUST_CHECK int run_window_pin(struct store *s, const char *tenant,
                              const char *id, bool pinned);
