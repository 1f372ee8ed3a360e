#include "retention.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/audit.h"
#include "store/block.h"
#include "store/clock_jump.h"
#include "store/debug_file.h"
#include "store/delivery.h"
#include "store/host_sum.h"
#include "store/idempotency.h"
#include "store/job.h"
#include "store/names.h"
#include "store/quota.h"
#include "store/s3.h"
#include "store/survey.h"
#include "store/token.h"
#include "store/trigger.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

#define REAP_BATCHES 20
/* Most time that an object store gets in one step. */
#define REAP_NS (10 * NS_PER_S)

static void
report(const char *what, int rc)
{
	if (rc < 0)
		log_warn("%s: %s", what, strerror(-rc));
	else if (rc > 0)
		log_info("%s: %d", what, rc);
}

/* Removes all blocks that are too old; block_expire() removes one batch. */
static int
expire_blocks(struct store *s, const struct window_keep *keep)
{
	int n, removed = 0;

	while ((n = block_expire(s, keep)) > 0)
		removed += n;
	return n < 0 ? n : removed;
}

static void
trim_by_age(struct store *s, const struct conf *conf)
{
	const struct window_keep keep = window_keep_of(conf);

	report("windows removed by age", window_expire(s, &keep));
	report("blocks of hosts removed by age", expire_blocks(s, &keep));
	report("hourly sums removed by age", host_sum_prune(s, keep.all_ms));
	report("names of pushed frames removed by age",
	       names_prune(s, keep.all_ms));
	report("kept replies removed by age", idempotency_prune(s));
	report("audit lines removed by age", audit_prune(s, AUDIT_MS));
	report("captures no longer counted by quotas", quota_prune(s));
	report("revoked API keys removed by age", token_prune(s, AUDIT_MS));
	report("silent hosts removed by age", worker_prune(s, AUDIT_MS));
	report("trigger firings removed by age", firing_prune(s, AUDIT_MS));
	report("old deliveries removed by age", delivery_prune(s, keep.all_ms));
}

/* Frees the space of several batches: most windows are replaced within minutes
 * (upkeep/batch.h). */
static int
reap_windows(struct store *s)
{
	int n, freed = 0;

	for (int i = 0; i < REAP_BATCHES && (n = window_reap(s)) != 0; i++) {
		if (n < 0)
			return n;
		freed += n;
	}
	return freed;
}

static void
trim_by_size(struct store *s, const struct conf *conf, bool held)
{
	report("windows removed to free space",
	       window_shrink(s, conf->continuous_max_bytes));
	report("space of removed windows freed", reap_windows(s));
	report("partitions of blocks created or dropped", block_partitions(s));
	report("sessions removed by age or size",
	       blob_retain(s, conf->store_max_bytes,
	                   held ? INT64_MAX : conf->store_max_age * MS_PER_S));
	report("debug files removed by age or size",
	       debug_file_retain(s, conf->symbols_pushed_bytes,
	                         held ? INT64_MAX
	                              : conf->symbols_pushed_age * MS_PER_S));
}

static void
trim(struct retention *r, struct store *s, const struct conf *conf)
{
	int64_t held_ms = 0;
	int rc = clock_jump_look(s, &held_ms);

	report("the store's clock", rc);
	if (held_ms && !r->held)
		log_warn("the clock went forward by more than a day since the "
		         "last look: nothing is removed by age for %lld h",
		         (long long)(held_ms / (3600 * MS_PER_S)));
	r->held = rc || held_ms;
	if (!r->held)
		trim_by_age(s, conf);
	trim_by_size(s, conf, r->held);
}

static int
expire(struct retention *r, struct store *s, const struct conf *conf,
       int64_t now_ns)
{
	const int64_t lease_ms = conf->worker_lease * MS_PER_S;
	int rc = lease_clock_check(&r->leases, s, lease_ms, now_ns);

	return rc > 0 ? job_expire(s, lease_ms) : rc;
}

/* Adds the number of deleted profiles to *n, or sets *failed. */
static void
reap(struct store *s, const char *driver, const char *what, int *n, int *failed)
{
	int rc = blob_reap(s, driver);

	report(what, rc);
	if (rc < 0)
		*failed = rc;
	else
		*n += rc;
}

int
retention_reap(struct store *s)
{
	int n = 0, failed = 0;

	reap(s, BYTES_FILE, "profiles removed", &n, &failed);
	if (db_is_shared(s->db))
		reap(s, BYTES_DB, "profiles removed from the database", &n,
		     &failed);
	if (s->s3) {
		store_until(s, clock_mono_ns() + REAP_NS);
		reap(s, BYTES_S3, "profiles removed from the object store", &n,
		     &failed);
		store_until(s, 0);
	}
	return n ? n : failed;
}

/* Deletes several batches: after a day of blocks was removed, a place has more
 * than one. */
static void
reap_all(struct store *s)
{
	int64_t end_ns = clock_mono_ns() + REAP_NS;

	for (int i = 0; i < REAP_BATCHES && retention_reap(s) > 0 &&
	                clock_mono_ns() < end_ns;
	     i++)
		;
}

void
retention_step(struct retention *r, struct store *s, const struct conf *conf,
               int64_t now_ns)
{
	if (now_ns >= r->later_ns) {
		r->later_ns = now_ns + LATER_NS;
		trim(r, s, conf);
	}
	if (now_ns >= r->soon_ns) {
		r->soon_ns = now_ns + SOON_NS;
		report("jobs taken from silent workers",
		       expire(r, s, conf, now_ns));
		reap_all(s);
		report("expired surveys removed", survey_forget(s, ""));
	}
}
