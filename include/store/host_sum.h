/*
 * Sums over hosts: of a service that many hosts of a fleet run, the windows of
 * an hour are added up over the hosts, so that a range is read from one window
 * instead of one for each host.
 *
 * Such a window is one of the series of the host HOST_SUM, with the same type
 * and labels; hours are added up to days as others are. A row for each service
 * and hour counts the blocks that told of it (store/block.h), and says at which
 * count the sum was made. A sum counts while the two are equal: a host that was
 * cut off and sends its hours late makes it invalid in the same transaction,
 * and readers add up the hosts themselves until the keeper has made a new one.
 *
 * A sum holds the hours that hosts had sent by then. What a host sends later is
 * not in it, and its cursor tells: it lies before the hour's end.
 */
#pragma once

#include "store/block.h"

#define HOST_SUM "*"

/* An hour of a service whose sum is to be made. */
struct sum_due {
	char *tenant, *service;
	int64_t hour_ms, changes;
};
struct sum_due_list {
	struct sum_due *items;
	size_t n;
};
#define CLEANUP_SUM_DUE CLEANUP(sum_due_list_done)
void sum_due_list_done(struct sum_due_list *l);
/* Lists hours that ended before a time and have no sum, or one that is no
 * longer valid, the oldest first. */
MUST_CHECK int host_sum_due(struct store *s, int64_t before_ms, int max,
                            struct sum_due_list *out);

/* The windows of all hosts that one window of the sum is of. */
struct sum_group {
	char *type, *labels;
	struct window_list windows; /* a list that others' windows take */
};
struct sum_groups {
	struct sum_group *items;
	size_t n;
	int64_t hosts; /* of which there are windows */
};
#define CLEANUP_SUM_GROUPS CLEANUP(sum_groups_done)
void sum_groups_done(struct sum_groups *g);
MUST_CHECK int host_sum_parts(struct store *s, const struct sum_due *due,
                              struct sum_groups *out);
/*
 * Stores the sums of an hour, one for each group, in place of those that are
 * there; the segment is synced.
 *
 *   Shape    asks[i] is that of groups->items[i], but for its series. NULL:
 *            the hour needs no sum, since few hosts have it
 *   Errors   -ESTALE when blocks came meanwhile: nothing is stored
 */
MUST_CHECK int
host_sum_store(struct store *s, const struct sum_due *due,
               const struct sum_groups *groups, const struct segment *g,
               const struct window_ask *asks);
/* Counts, within the transaction of a block, that an hour has changed. */
MUST_CHECK int host_sum_changed(struct store *s, const char *tenant,
                                const char *service, int64_t hour_ms);
/* Forgets hours older than that, unless it is 0. Returns their number. */
MUST_CHECK int host_sum_prune(struct store *s, int64_t age_ms);

/* Hours that follow each other and whose sums are valid. */
struct sum_span {
	int64_t from_ms, to_ms;
	int64_t hosts; /* the most of any hour */
};
/*
 * Finds the valid sums of a service within a range, in order of time.
 *   Owns     *out is the caller's, to be freed
 */
MUST_CHECK int
host_sum_spans(struct store *s, const char *tenant, const char *service,
               int64_t from_ms, int64_t to_ms, struct sum_span **out,
               size_t *out_n);
/* Up to where the centre has the hours of each host; hosts that send none are
 * not listed. */
struct host_cursor {
	char *host;
	int64_t end_ms;
};
struct host_cursors {
	struct host_cursor *items;
	size_t n;
};
#define CLEANUP_HOST_CURSORS CLEANUP(host_cursors_done)
void host_cursors_done(struct host_cursors *l);
MUST_CHECK int
host_cursors(struct store *s, const char *tenant, struct host_cursors *out);
