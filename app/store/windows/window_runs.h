/*
 * Windows of runs in blocks of other hosts (store/block.h), for readers of
 * windows.
 */
#pragma once

#include "store/host_sum.h"
#include "window_private.h"

/* A selection of windows of a series. */
struct run_want {
	const char *series;
	int64_t level; /* WINDOW_LEVELS: all, windows without a parent */
	int64_t from_ms, to_ms; /* times at which they begin, inclusive */
	bool reach;             /* also any that only end later than from_ms */
	bool open;              /* only windows without a parent */
	/* If set: newest first, starting after this id among windows that begin
	 * at to_ms. NULL: oldest first. */
	const char *before;
	int64_t limit;
};

/* Reads windows with rows, by a statement, and windows of runs. */
MUST_CHECK int
window_select(struct store *s, const struct run_want *want, enum sql sql,
              const struct db_value *v, size_t n, struct window_list *out);
/*
 * Merges windows of runs into a list of windows of the series, in the order of
 * want, up to its limit.
 *   Errors   -EBADMSG for a damaged block, -ENOMEM, those of bytes_get()
 */
MUST_CHECK int window_add_runs(struct store *s, const struct run_want *want,
                               struct window_list *l);
/* Lists the windows of an hour that hosts sent for a type and labels. */
MUST_CHECK int run_windows_of_hosts(struct store *s, const struct sum_due *due,
                                    const char *type, const char *labels,
                                    struct window_list *out);
/* True for the id of a window of a run. */
bool run_window_is(const char *id);
/* Finds a window of a run by its id; -ENOENT. */
MUST_CHECK int run_window_get(struct store *s, const char *tenant,
                              const char *id, struct window *out);
/* Adds windows of runs whose ids have this prefix, up to WINDOW_FOUND_MAX in
 * all. */
MUST_CHECK int run_window_find(struct store *s, const char *tenant,
                               const char *prefix, struct window_list *l);
MUST_CHECK int run_window_pin(struct store *s, const char *tenant,
                              const char *id, bool pinned);
