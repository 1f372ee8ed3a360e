#include "base/clock.h"
#include "base/log.h"
#include "runs_private.h"
#include "worker/targets/following.h"

#include <errno.h>
#include <string.h>

void
runs_done(struct runs *c)
{
	while (c->n)
		runs_drop(c, c->items[0]);
	symbolizing_done(&c->symbolizing);
	naming_done(&c->naming);
	close_ptr(&c->analyser);
	close_ptr(&c->fetcher);
}

void
runs_stop(struct runs *c, struct run *v)
{
	if (v->stopping)
		return;
	v->stopping = true;
	if (v->pull)
		runs_pull_stop(c, v);
	else if (runs_send(c, v, MSG_STOP, -1))
		log_warn("%s: the analyser takes no messages", v->ref.session);
}

/* Grants the opener the run's rights to its processes for the rest of its
 * duration. */
static int
say_may(const struct runs *c, const struct run *v, const struct followed *now,
        int64_t now_ns)
{
	static const enum worker_may rights[] = {WORKER_MAY_SET, WORKER_MAY_ASK,
	                                         WORKER_MAY_LIST};
	int64_t ms = v->job.asked_seconds * MS_PER_S -
	             (now_ns - v->started_ns) / NS_PER_MS;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(rights) && !rc; i++)
		if (v->may & rights[i])
			rc = worker_may(c->events, rights[i],
			                ms > 0 ? (uint64_t)ms : 0, now->pids,
			                now->starts, now->n);
	return rc;
}

static int
send_start(struct runs *c, struct run *v, const struct followed *now)
{
	struct msg_start m = {
		.type = MSG_START,
		.ways = v->ways,
		.rate = (uint32_t)v->job.asked_rate,
		.duration_ms = (uint64_t)(v->job.asked_seconds * MS_PER_S),
		.set = v->may & WORKER_MAY_SET,
		.titles = now->titles,
		.attempt = (uint32_t)v->ref.attempt,
		.list = v->may & WORKER_MAY_LIST ? 1 : 0,
		.npids = now->n,
	};
	int fds[] = {v->profile.fd, -1};

	memcpy(m.id, v->ref.session, sizeof(m.id));
	memcpy(m.pids, now->pids, now->n * sizeof(*m.pids));
	v->stamp = now->stamp;
	v->left = now->left;
	if (!strcmp(v->job.type, "cpu") &&
	    blob_create(c->store, BLOB_TIMELINE, &v->timeline))
		log_warn("%s: no file for its timeline", v->ref.session);
	fds[1] = v->timeline.fd;
	return msg_send(c->analyser, &m, sizeof(m), fds,
	                v->timeline.fd < 0 ? 1 : ARRAY_LEN(fds));
}

int
runs_start(struct runs *c, struct job *job, uint64_t ways, uint32_t may,
           const struct followed *now, int64_t now_ns)
{
	struct run *v;
	int rc = runs_add(c, job, now_ns, &v);

	if (rc || !v)
		return rc;
	v->started_ns = now_ns;
	v->late_before = now->late;
	v->ways = ways;
	v->may = may;
	runs_say_look(c, v, now);
	if (may && say_may(c, v, now, now_ns))
		v->may = 0;
	rc = send_start(c, v, now);
	if (rc)
		runs_fail(c, v, CAPTURE_ANALYSER_DIED, rc);
	return 0;
}

static void
note_most(struct followed_left *most, const struct followed_left *now)
{
	if (most->other_unit < now->other_unit)
		most->other_unit = now->other_unit;
	if (most->out_of_scope < now->out_of_scope)
		most->out_of_scope = now->out_of_scope;
	if (most->too_many < now->too_many)
		most->too_many = now->too_many;
}

static void
follow(struct runs *c, struct run *v, const struct targets *targets,
       int64_t now_ns)
{
	struct following f = {v->job.tenant, v->job.service, v->ref.session,
	                      v->job.ordinal, v->stamp};
	struct followed now;

	targets_followed(targets, v->job.tenant, v->job.service, v->job.ordinal,
	                 &now);
	note_most(&v->left, &now.left);
	v->late = now.late - v->late_before;
	if (now.stamp != v->stamp)
		runs_say_look(c, v, &now);
	if (v->may && now.stamp != v->stamp && say_may(c, v, &now, now_ns))
		log_debug("%s: the opener takes no messages", v->ref.session);
	if (following_send(&f, c->analyser, targets, &now))
		log_debug("%s: the analyser takes no messages", v->ref.session);
	v->stamp = f.stamp;
}

/* False for a fetched capture and for a snapshot: no process can join
 * these. */
static bool
takes_time(const struct run *v)
{
	return !v->pull && !ways_of(v->ways, ENGINE_SNAPSHOT);
}

void
runs_follow(struct runs *c, const struct targets *targets, int64_t now_ns)
{
	for (size_t i = 0; i < c->n; i++) {
		struct run *v = c->items[i];

		if (takes_time(v) && !v->stopping)
			follow(c, v, targets, now_ns);
	}
}

void
runs_lost(struct runs *c, const char *blamed)
{
	close_ptr(&c->analyser);
	while (c->n) {
		struct run *v = c->items[0];
		int rc;

		if (!strcmp(v->ref.session, blamed)) {
			runs_fail(c, v, CAPTURE_ANALYSER_DIED, 0);
			continue;
		}
		rc = job_abandon(c->store, &v->job);
		if (rc && rc != -ESTALE)
			log_err("%s: not stored: %s", v->ref.session,
			        strerror(-rc));
		runs_drop(c, v);
	}
}

void
runs_wind_up(struct runs *c)
{
	for (size_t i = c->n; i-- > 0;) {
		struct run *v = c->items[i];

		runs_stop(c, v);
		if (v->ending ||
		    (!v->pull && v->job.asked_seconds > JOB_RERUN_SECONDS))
			continue;
		/* if this fails, the next worker takes the job over */
		if (job_requeue(c->store, &v->ref))
			log_warn("%s: left to the next worker", v->ref.session);
		runs_drop(c, v);
	}
}

/* --- messages and time ---------------------------------------------------- */

/* Share of the progress that is reserved for the finisher. */
#define FINISH_SHARE 0.02

union message {
	uint32_t type;
	struct msg_progress progress;
	struct msg_done done;
	struct msg_windows windows; /* of continuous profiling */
	struct msg_batch batch;
	struct msg_debug debug;
};

static bool
is_terminated(const char id[ID_MAX])
{
	return memchr(id, '\0', ID_MAX) != NULL;
}

static void
take_progress(struct runs *c, const struct msg_progress *m)
{
	struct run *v = is_terminated(m->id) ? runs_find(c, m->id) : NULL;
	double share;

	if (!v)
		return;
	share = m->duration_ms && m->elapsed_ms < m->duration_ms
	                ? (double)m->elapsed_ms / (double)m->duration_ms
	                : 1;
	c->hurry |= v->progress <= 0; /* clients wait until a capture counts */
	v->progress = share * (1 - FINISH_SHARE);
	v->samples = m->samples < INT32_MAX ? (int64_t)m->samples : INT32_MAX;
	v->phase = m->phase == WORKER_FINISHING ? "symbolizing" : "capturing";
}

/* Takes a DONE of a run, of symbolizing or of naming; false if none of these
 * is in progress under its id. */
static bool
take_done(struct runs *c, const struct msg_done *m, const int fds[static 2])
{
	struct run *v = is_terminated(m->id) ? runs_find(c, m->id) : NULL;

	/* the answer of an earlier attempt: the files of this one are not
	 * written yet */
	if (v && m->attempt != (uint32_t)v->ref.attempt)
		return true;
	if (v && !(v->pull && runs_pull_done(c, v, m, fds[0])))
		runs_take(c, v, m, fds);
	return v || (is_terminated(m->id) &&
	             (symbolizing_take(&c->symbolizing, c->store, m, fds[0]) ||
	              naming_take(&c->naming, c->store, m)));
}

int
runs_receive(struct runs *c)
{
	int fds[] = {-1, -1};
	size_t nfds = ARRAY_LEN(fds);
	union message m;
	ssize_t n = msg_recv(c->analyser, &m, sizeof(m), fds, &nfds);

	if (n == 0 || n == -EPIPE || n == -ECONNRESET)
		return -EPIPE;
	if (n < 0)
		return n == -EMSGSIZE ? 0 : (int)n;
	if (n == sizeof(m.progress) && m.type == MSG_PROGRESS)
		take_progress(c, &m.progress);
	else if ((n != sizeof(m.done) || m.type != MSG_DONE ||
	          !take_done(c, &m.done, fds)) &&
	         c->other)
		c->other(c->other_arg, &m, (size_t)n, fds);
	close_ptr(&fds[0]);
	close_ptr(&fds[1]);
	return 0;
}

/* Renews a lease; *gone is set if the attempt was superseded or given up. */
static int
renew(struct runs *c, struct run *v, bool *gone)
{
	struct job_state now;
	int64_t ending = 0;
	int rc;

	if (v->pull)
		v->progress = runs_pull_progress(v);
	now = (struct job_state){v->progress, v->phase, v->samples};
	rc = job_progress(c->store, &v->ref, c->lease_ms, &now, &ending);
	*gone = rc == -ESTALE;
	if (rc)
		return *gone ? 0 : rc;
	if (ending) {
		v->ending = ending == JOB_COMPLETE ? JOB_COMPLETE : JOB_CANCEL;
		runs_stop(c, v);
	}
	return 0;
}

/* Renews all leases in one transaction, with one sync. */
static int
renew_all(struct runs *c, bool gone[static WORKER_MAX_CAPTURES])
{
	int rc = store_begin(c->store);

	if (rc)
		return rc;
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = renew(c, c->items[i], &gone[i]);
	return store_end(c->store, rc);
}

static void
look_after(struct runs *c, struct run *v, bool gone, int64_t now_ns)
{
	if (gone) {
		log_warn("%s: given up meanwhile", v->ref.session);
		runs_stop(c, v);
		runs_drop(c, v);
	} else if (runs_pull_ended(v)) {
		runs_cancelled(c, v);
	} else if (now_ns > v->deadline_ns) {
		runs_stop(c, v);
		runs_fail(c, v, CAPTURE_LATE, 0);
	} else {
		runs_checkpoint(c, v, now_ns);
	}
}

int
runs_tick(struct runs *c, int64_t now_ns)
{
	bool gone[WORKER_MAX_CAPTURES] = {false};
	int rc;

	if (!c->n || now_ns - c->renewed_ns < (c->hurry ? HURRY_NS : RENEW_NS))
		return 0;
	c->renewed_ns = now_ns;
	c->hurry = false;
	rc = renew_all(c, gone);
	if (rc)
		return rc;
	for (size_t i = c->n; i-- > 0;) /* from the end, since dropping moves
	                                   the last */
		look_after(c, c->items[i], gone[i], now_ns);
	return 0;
}
