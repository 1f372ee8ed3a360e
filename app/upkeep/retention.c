#include "retention.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/audit.h"
#include "store/block.h"
#include "store/host_sum.h"
#include "store/idempotency.h"
#include "store/job.h"
#include "store/quota.h"
#include "store/s3.h"
#include "store/survey.h"
#include "store/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REAP_BATCHES 20

static void
report(const char *what, int rc)
{
	if (rc < 0)
		log_warn("%s: %s", what, strerror(-rc));
	else if (rc > 0)
		log_info("%s: %d", what, rc);
}

/* Removes blocks of hosts by age, all that there are: each call takes a batch.
 */
static int
expire_blocks(struct store *s, const struct window_keep *keep)
{
	int n, removed = 0;

	while ((n = block_expire(s, keep)) > 0)
		removed += n;
	return n < 0 ? n : removed;
}

static void
trim_windows(struct store *s, const struct conf *conf)
{
	const struct window_keep keep = window_keep_of(conf);

	report("windows removed by age", window_expire(s, &keep));
	report("windows removed by size",
	       window_shrink(s, conf->continuous_max_bytes));
	report("places of windows given back", window_reap(s));
	report("blocks of hosts removed by age", expire_blocks(s, &keep));
	report("days of blocks", block_partitions(s));
	report("old hours of services", host_sum_prune(s, keep.all_ms));
}

static void
trim(struct store *s, const struct conf *conf)
{
	trim_windows(s, conf);
	report("sessions removed by age or size",
	       blob_retain(s, conf->store_max_bytes,
	                   conf->store_max_age * MS_PER_S));
	report("old replies", idempotency_prune(s));
	report("old audit lines", audit_prune(s, AUDIT_MS));
	report("captures of more than an hour ago", quota_prune(s));
	report("old firings of triggers", firing_prune(s, AUDIT_MS));
}

/* Expires leases. They run by the database's clock: when that is set, all may
 * seem to have expired until their workers have renewed them. */
static int
expire(struct retention *r, struct store *s, const struct conf *conf,
       int64_t now_ns)
{
	int64_t clock_ms, offset_ms;
	int rc = store_now(s, &clock_ms);

	if (rc)
		return rc;
	offset_ms = clock_ms - now_ns / NS_PER_MS;
	if (llabs(offset_ms - r->offset_ms) > MS_PER_S)
		r->leases_ns = now_ns + conf->worker_lease * NS_PER_S;
	r->offset_ms = offset_ms;
	if (now_ns < r->leases_ns)
		return 0;
	return job_expire(s, conf->worker_lease * MS_PER_S);
}

/* Adds what a place had to *n; its failure is told, and kept. */
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
	if (s->s3)
		reap(s, BYTES_S3, "profiles removed from the object store", &n,
		     &failed);
	return n ? n : failed;
}

/* Some places have more than a batch, when a day's blocks have gone. */
static void
reap_all(struct store *s)
{
	for (int i = 0; i < REAP_BATCHES && retention_reap(s) > 0; i++)
		;
}

void
retention_step(struct retention *r, struct store *s, const struct conf *conf,
               int64_t now_ns)
{
	if (now_ns >= r->later_ns) {
		r->later_ns = now_ns + LATER_NS;
		trim(s, conf);
	}
	if (now_ns >= r->soon_ns) {
		r->soon_ns = now_ns + SOON_NS;
		report("jobs of silent workers", expire(r, s, conf, now_ns));
		reap_all(s);
		report("surveys", survey_forget(s, ""));
	}
}
