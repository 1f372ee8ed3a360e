#include "retention.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/audit.h"
#include "store/block.h"
#include "store/idempotency.h"
#include "store/job.h"
#include "store/quota.h"
#include "store/survey.h"
#include "store/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
report(const char *what, int rc)
{
	if (rc < 0)
		log_warn("%s: %s", what, strerror(-rc));
	else if (rc > 0)
		log_info("%s: %d", what, rc);
}

static void
keep_up(struct store *s)
{
	int rc = db_upkeep(s->db);

	if (rc && rc != -EBUSY)
		report("upkeep of the database", rc);
}

static void
trim_windows(struct store *s, const struct conf *conf)
{
	const struct window_keep keep = window_keep_of(conf);

	report("windows removed by age", window_expire(s, &keep));
	report("windows removed by size",
	       window_shrink(s, conf->continuous_max_bytes));
	report("places of windows given back", window_reap(s));
	report("blocks of hosts removed by age", block_expire(s, &keep));
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
		report("profiles removed", blob_reap(s, BYTES_FILE));
		report("surveys", survey_forget(s, ""));
	}
	keep_up(s);
}
