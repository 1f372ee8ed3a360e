/*
 * Sums over hosts: if many hosts of a fleet run a service, the windows of an
 * hour are added up over the hosts, so that a range reads one window instead of
 * one per host.
 *
 * Such a window belongs to a series of the host HOST_SUM, with the same type
 * and labels; its hours are rolled up to days like other hours. A row for each
 * service and hour counts the blocks that contained the hour (store/block.h),
 * and has the count at which the sum was made. A sum is valid while the two are
 * equal: the transaction that stores the late hours of a host that was cut off
 * makes the sum invalid, and readers add up the hosts themselves until the
 * keeper has made a new sum.
 *
 * A sum covers the hours that hosts had sent when it was made. Which hosts are
 * missing follows from their cursors, which lie before the hour's end.
 */
#pragma once

#include "store/block.h"

#define HOST_SUM "*"

/* An hour of a service for which a sum is due. */
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

/* The windows of all hosts that become one window of the sum. */
struct sum_group {
	char *type, *labels;
	struct window_list windows; /* of all hosts */
};
struct sum_groups {
	struct sum_group *items;
	size_t n;
	int64_t hosts; /* number with windows */
};
#define CLEANUP_SUM_GROUPS CLEANUP(sum_groups_done)
void sum_groups_done(struct sum_groups *g);
MUST_CHECK int host_sum_parts(struct store *s, const struct sum_due *due,
                              struct sum_groups *out);
/*
 * Replaces the sums of an hour, one for each group; the segment must be synced.
 *
 *   Shape    asks[i] is the sum of groups->items[i], without its series. NULL:
 *            the hour needs no sum, since few hosts have it
 *   Errors   -ESTALE if blocks have arrived meanwhile: nothing is stored
 */
MUST_CHECK int
host_sum_store(struct store *s, const struct sum_due *due,
               const struct sum_groups *groups, const struct segment *g,
               const struct window_ask *asks);
/* Counts, within the transaction of a block, that an hour has changed. */
MUST_CHECK int host_sum_changed(struct store *s, const char *tenant,
                                const char *service, int64_t hour_ms);
/* Removes the rows of hours older than age_ms, unless it is 0. Returns their
 * number. */
MUST_CHECK int host_sum_prune(struct store *s, int64_t age_ms);

/* Consecutive hours with valid sums. */
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
/* The time up to which the centre has the hours of each host. Hosts that send
 * no hours are not listed. */
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
