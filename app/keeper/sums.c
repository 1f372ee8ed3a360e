#include "sums.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/host_sum.h"
#include "upkeep/batch.h"

#include <errno.h>
#include <string.h>

/* After this time most hosts have sent their last full hour. */
#define HOSTS_LAG_MS (BLOCK_SPREAD_MS + 5 * 60 * MS_PER_S)
#define HOURS        64 /* in one batch */

/* --- along time ----------------------------------------------------------- */

struct rolling {
	const struct adder *adder;
	struct batch *batch;
};

static int
sum_group(void *arg, size_t group, struct buf *out)
{
	const struct rolling *r = arg;
	struct batch_group *g = &r->batch->groups[group];

	return adder_sum(r->adder, &g->windows, g->has_parts, out);
}

int
sums_of_time(const struct adder *a)
{
	CLEANUP_BATCH struct batch *b = NULL;
	int64_t now_ms;
	int rc = store_now(a->store, &now_ms)
	                 ?: batch_next(a->store, now_ms, &b)
	                 ?: batch_store(a->store, b, sum_group,
	                                &(struct rolling){a, b});

	return rc == -ENOENT || rc == -ESTALE ? 0 : rc ? rc : (int)b->n;
}

/* --- over hosts ----------------------------------------------------------- */

static int
add_groups(const struct adder *a, const struct sum_due *due,
           struct sum_groups *groups)
{
	CLEANUP_FREE struct window_ask *asks = calloc(groups->n, sizeof(*asks));
	CLEANUP_SEGMENT struct segment to = SEGMENT_INIT;
	int rc = asks ? segment_create(a->store, a->store->host, &to) : -ENOMEM;

	for (size_t i = 0; i < groups->n && !rc; i++) {
		CLEANUP_BUF struct buf sum = BUF_INIT((size_t)WINDOW_MAX_BYTES);
		struct window_list *l = &groups->items[i].windows;

		asks[i] = window_sum(WINDOW_HOUR, due->hour_ms, l);
		rc = adder_sum(a, l, false, &sum)
		             ?: segment_append(&to, sum.p, sum.len, &asks[i]);
	}
	return rc ?: segment_sync(&to)
	               ?: host_sum_store(a->store, due, groups, &to, asks);
}

/* Adds up an hour of a service. If it is too large for one sum, or of fewer
 * hosts than least, none is stored, and readers add up the windows of its
 * hosts. */
static int
add_hour(const struct adder *a, const struct sum_due *due, int64_t least)
{
	CLEANUP_SUM_GROUPS struct sum_groups groups = {0};
	int rc = host_sum_parts(a->store, due, &groups);

	if (rc)
		return rc;
	rc = least && groups.hosts >= least ? add_groups(a, due, &groups)
	                                    : -EBADMSG;
	if (rc == -EBADMSG)
		rc = host_sum_store(a->store, due, &groups, NULL, NULL);
	return rc == -ESTALE ? 0 : rc;
}

int
sums_of_hosts(const struct adder *a, int64_t least)
{
	CLEANUP_SUM_DUE struct sum_due_list due = {0};
	int64_t now_ms;
	int rc = store_now(a->store, &now_ms)
	                 ?: host_sum_due(a->store, now_ms - HOSTS_LAG_MS, HOURS,
	                                 &due);

	for (size_t i = 0; i < due.n && !rc; i++)
		rc = add_hour(a, &due.items[i], least);
	return rc ? rc : (int)due.n;
}
