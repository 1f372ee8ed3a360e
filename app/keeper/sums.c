#include "sums.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/host_sum.h"

#include <errno.h>
#include <string.h>

/* How long after a minute its windows may still arrive. */
#define LAG_MS (30 * MS_PER_S)
/* By now most hosts have sent their last full hour. */
#define HOSTS_LAG_MS (BLOCK_SPREAD_MS + 5 * 60 * MS_PER_S)
#define BATCH        64

/* Appends the sum of windows and fills in *w. If they cannot be added up,
 * stores a sum without bytes: it would fail again, and later sums would wait
 * for it. */
static int
append_sum(const struct adder *a, const struct window_list *l,
           struct segment *to, struct window_ask *w)
{
	CLEANUP_BUF struct buf sum = BUF_INIT((size_t)WINDOW_MAX_BYTES);
	int rc = adder_sum(a, l, &sum);

	if (rc == -EBADMSG) {
		log_warn("windows of %s cannot be added up", w->series);
		buf_clear(&sum);
		rc = 0;
	}
	return rc ? rc : segment_append(to, sum.p, sum.len, w);
}

/* --- along time ----------------------------------------------------------- */

static int
roll_one(const struct adder *a, const struct ripe *due, enum window_level level)
{
	struct store *s = a->store;
	CLEANUP_SEGMENT struct segment to = SEGMENT_INIT;
	CLEANUP_WINDOWS struct window_list l = {0};
	struct window_ask w;
	int rc = window_children(s, due, level, &l)
	                 ?: segment_create(s, s->host, &to);

	if (rc || !l.n)
		return rc; /* another process has rolled them up */
	w = window_sum(level, due->start_ms, &l);
	rc = append_sum(a, &l, &to, &w)
	             ?: segment_sync(&to) ?: window_rollup(s, &to, &w, &l);
	return rc == -ESTALE ? 0 : rc;
}

static int
roll(const struct adder *a, enum window_level level, int64_t now_ms)
{
	CLEANUP_RIPE struct ripe_list due = {0};
	int rc = window_ripe(a->store, level, now_ms - LAG_MS, BATCH, &due);

	for (size_t i = 0; i < due.n && !rc; i++)
		rc = roll_one(a, &due.items[i], level);
	return rc ? rc : (int)due.n;
}

int
sums_of_time(const struct adder *a)
{
	int64_t now_ms;
	int n = store_now(a->store, &now_ms);

	for (int level = WINDOW_MINUTE; level < WINDOW_LEVELS && !n; level++)
		n = roll(a, (enum window_level)level, now_ms);
	return n;
}

/* --- over hosts ----------------------------------------------------------- */

static int
add_groups(const struct adder *a, const struct sum_due *due,
           const struct sum_groups *groups)
{
	CLEANUP_FREE struct window_ask *asks = calloc(groups->n, sizeof(*asks));
	CLEANUP_SEGMENT struct segment to = SEGMENT_INIT;
	int rc = asks ? segment_create(a->store, a->store->host, &to) : -ENOMEM;

	for (size_t i = 0; i < groups->n && !rc; i++) {
		CLEANUP_BUF struct buf sum = BUF_INIT((size_t)WINDOW_MAX_BYTES);
		const struct window_list *l = &groups->items[i].windows;

		asks[i] = window_sum(WINDOW_HOUR, due->hour_ms, l);
		rc = adder_sum(a, l, &sum)
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
	                 ?: host_sum_due(a->store, now_ms - HOSTS_LAG_MS, BATCH,
	                                 &due);

	for (size_t i = 0; i < due.n && !rc; i++)
		rc = add_hour(a, &due.items[i], least);
	return rc ? rc : (int)due.n;
}
