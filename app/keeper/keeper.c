#include "keeper.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/blob.h"
#include "store/lease.h"
#include "store/s3.h"
#include "sums.h"
#include "upkeep/retention.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define TURN_NS  NS_PER_S
#define SUMS_NS  (5 * NS_PER_S)
#define SWEEP_NS (3600 * NS_PER_S)
/* Most time that an object store gets for a part of its list. */
#define PART_NS (10 * NS_PER_S)

enum state { NEW, LEADS, STANDS_BY };

/* The position of a sweep, which removes bytes that no row refers to. */
struct sweep {
	struct bytes_at at;
	int64_t due_ns;
};

struct keeper {
	const struct conf *conf;
	struct store *store;
	char id[ID_MAX];
	enum state state;
	int64_t renew_ns, sums_ns; /* when each is due */
	struct sweep db, s3;
	struct retention retention;
	sigset_t signals; /* signals that end the keeper */
	int failed;       /* the first failure */
};

/* -ECANCELED is not a failure: another keeper took the lease, or this one
 * ends. */
static void
report(struct keeper *k, const char *what, int rc)
{
	if (rc >= 0 || rc == -ECANCELED)
		return;
	log_warn("%s: %s", what, strerror(-rc));
	if (!k->failed)
		k->failed = rc;
}

/* --- the lease ------------------------------------------------------------ */

static void
enter(struct keeper *k, enum state state)
{
	if (k->state == state)
		return;
	k->state = state;
	k->retention = (struct retention){0};
	k->sums_ns = 0;
	k->db = k->s3 = (struct sweep){0};
	log_info(state == LEADS ? "this keeper holds the lease"
	                        : "another keeper holds the lease; this one "
	                          "stands by");
}

/* Takes or renews the lease when that is due. Returns true while this keeper
 * holds it. */
static bool
leads(struct keeper *k)
{
	int64_t now_ns = clock_mono_ns();
	int64_t lease_ms = k->conf->keeper_lease * MS_PER_S;
	int rc;

	if (now_ns < k->renew_ns)
		return k->state == LEADS;
	k->renew_ns = now_ns + lease_ms * NS_PER_MS / 3;
	rc = lease_take(k->store, LEASE_KEEPER, k->id, lease_ms);
	report(k, "lease", rc);
	if (rc < 0) /* the lease may end before the store answers again */
		k->state = NEW;
	else
		enter(k, rc ? LEADS : STANDS_BY);
	return k->state == LEADS;
}

/* --- the work ------------------------------------------------------------- */

/* Deletes bytes that no row refers to, left by writers that died: handles a
 * part of the list; the rest waits for the next turns. */
static void
sweep_part(struct keeper *k, const char *driver, struct sweep *w)
{
	int n;

	if (clock_mono_ns() < w->due_ns || !leads(k))
		return;
	store_until(k->store, clock_mono_ns() + PART_NS);
	n = blob_sweep_part(k->store, driver, &w->at);
	store_until(k->store, 0);
	report(k, driver, n);
	if (n > 0)
		log_info("%s: removed unreferenced profiles: %d", driver, n);
	if (!w->at.more)
		*w = (struct sweep){.due_ns = clock_mono_ns() + SWEEP_NS};
}

static void
sweep(struct keeper *k)
{
	if (db_is_shared(k->store->db))
		sweep_part(k, BYTES_DB, &k->db);
	if (k->store->s3)
		sweep_part(k, BYTES_S3, &k->s3);
}

static bool
must_end(const struct keeper *k)
{
	sigset_t pending;

	sigpending(&pending);
	for (int n = 1; n < NSIG; n++)
		if (sigismember(&k->signals, n) == 1 &&
		    sigismember(&pending, n) == 1)
			return true;
	return false;
}

static bool
goes_on(void *arg)
{
	struct keeper *k = arg;

	return leads(k) && !must_end(k);
}

/* Adds up batches until none is due or the lease is lost. */
static void
add_up(struct keeper *k)
{
	const struct adder a = {k->store, goes_on, k};
	int n = 1;

	while (n > 0 && goes_on(k)) {
		int hosts;

		n = sums_of_time(&a);
		hosts = n == -ECANCELED
		                ? 0
		                : sums_of_hosts(&a, k->conf->keeper_sum_hosts);
		report(k, "sums of windows", n);
		report(k, "sums over hosts", hosts);
		n = n > hosts ? n : hosts;
	}
}

/* Does the work that is due. */
static void
turn(struct keeper *k, int64_t now_ns)
{
	if (!leads(k))
		return;
	retention_step(&k->retention, k->store, k->conf, now_ns);
	if (now_ns >= k->sums_ns && leads(k)) {
		k->sums_ns = now_ns + SUMS_NS;
		add_up(k);
	}
	sweep(k);
}

static struct keeper
keeper_of(const struct conf *conf, struct store *s)
{
	struct keeper k = {.conf = conf, .store = s};

	id_new("keep-", k.id);
	sigemptyset(&k.signals);
	sigaddset(&k.signals, SIGTERM);
	sigaddset(&k.signals, SIGINT);
	return k;
}

/* Gives up the lease, so that another keeper need not wait until it ends. */
static int
leave(struct keeper *k)
{
	return k->state == LEADS ? lease_drop(k->store, LEASE_KEEPER, k->id)
	                         : 0;
}

int
keeper_run(const struct conf *conf, struct store *s)
{
	const struct timespec turn_time = {0, TURN_NS - 1};
	struct keeper k = keeper_of(conf, s);
	int ended = -1;

	if (sigprocmask(SIG_BLOCK, &k.signals, NULL) ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	while (ended < 0) {
		int rc = store_refresh(s);

		if (rc == -EPROTONOSUPPORT)
			return rc;
		report(&k, "store", rc);
		if (!rc)
			turn(&k, clock_mono_ns());
		ended = sigtimedwait(&k.signals, NULL, &turn_time);
	}
	return leave(&k);
}

int
keeper_once(const struct conf *conf, struct store *s)
{
	/* a sweep that has not ended by then never does */
	int64_t end_ns = clock_mono_ns() + SWEEP_NS;
	struct keeper k = keeper_of(conf, s);
	int n = 1;

	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	turn(&k, clock_mono_ns());
	while (n > 0 && goes_on(&k))
		n = retention_reap(s);
	report(&k, "deleted profiles", n);
	while ((k.db.at.more || k.s3.at.more) && goes_on(&k) &&
	       clock_mono_ns() < end_ns)
		sweep(&k);
	return leave(&k) ?: k.failed;
}
