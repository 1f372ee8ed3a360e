#include "runs_private.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

/* The share of a capture that its finisher is taken for. */
#define FINISH_SHARE 0.02

union message {
	uint32_t type;
	struct msg_progress progress;
	struct msg_done done;
	struct msg_windows windows; /* others' */
	struct msg_rolled rolled;
	struct msg_debug debug;
};

static bool
is_terminated(const char id[ID_MAX])
{
	return memchr(id, '\0', ID_MAX) != NULL;
}

static void
take_progress(struct captures *c, const struct msg_progress *m)
{
	struct capture *v = is_terminated(m->id) ? captures_find(c, m->id)
	                                         : NULL;
	double share;

	if (!v)
		return;
	share = m->duration_ms && m->elapsed_ms < m->duration_ms
	                ? (double)m->elapsed_ms / (double)m->duration_ms
	                : 1;
	v->progress = share * (1 - FINISH_SHARE);
	v->samples = m->samples < INT32_MAX ? (int64_t)m->samples : INT32_MAX;
	v->phase = m->phase == WORKER_FINISHING ? "symbolizing" : "capturing";
}

/* False when it is not of a capture: given up meanwhile, or another's. */
static bool
take_done(struct captures *c, const struct msg_done *m, int top_fd)
{
	struct capture *v = is_terminated(m->id) ? captures_find(c, m->id)
	                                         : NULL;

	if (v)
		captures_take(c, v, m, top_fd);
	return v || (is_terminated(m->id) &&
	             symbolizing_take(&c->symbolizing, c->store, m, top_fd));
}

int
captures_receive(struct captures *c)
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
	          !take_done(c, &m.done, fds[0])) &&
	         c->other)
		c->other(c->other_arg, &m, (size_t)n, fds);
	close_ptr(&fds[0]);
	close_ptr(&fds[1]);
	return 0;
}

/* Its finisher waits, and tells nothing meanwhile. */
static double
time_passed(const struct capture *v)
{
	double all = (double)(v->job.asked_seconds * NS_PER_S);
	double share = (double)(clock_mono_ns() - v->started_ns) / all;

	return (share < 1 ? share : 1) * (1 - FINISH_SHARE);
}

/* Sets *gone when the attempt counts no longer. */
static int
renew(struct captures *c, struct capture *v, bool *gone)
{
	struct job_state now;
	int64_t cancel = 0;
	int rc;

	if (v->pull)
		v->progress = captures_pull_progress(v);
	else if (v->kind == WORKER_BUCKETS)
		v->progress = time_passed(v);
	now = (struct job_state){v->progress, v->phase, v->samples};
	rc = job_progress(c->store, &v->ref, c->lease_ms, &now, &cancel);
	*gone = rc == -ESTALE;
	if (rc)
		return *gone ? 0 : rc;
	if (cancel && !v->cancelled) {
		v->cancelled = true;
		captures_stop(c, v);
	}
	return 0;
}

/* All in one transaction: one sync for every capture. */
static int
renew_all(struct captures *c, bool gone[static WORKER_MAX_CAPTURES])
{
	int rc = store_begin(c->store);

	if (rc)
		return rc;
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = renew(c, c->items[i], &gone[i]);
	return store_end(c->store, rc);
}

static void
look_after(struct captures *c, struct capture *v, bool gone, int64_t now_ns)
{
	if (gone) {
		log_warn("%s: given up meanwhile", v->ref.session);
		captures_stop(c, v);
		captures_drop(c, v);
	} else if (captures_pull_ended(v)) {
		captures_cancelled(c, v);
	} else if (now_ns > v->deadline_ns) {
		captures_stop(c, v);
		captures_fail(c, v, CAPTURE_INTERNAL, -ETIMEDOUT);
	} else {
		captures_checkpoint(c, v, now_ns);
	}
}

int
captures_tick(struct captures *c, int64_t now_ns)
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
	for (size_t i = c->n; i-- > 0;) /* from the end: dropping moves it */
		look_after(c, c->items[i], gone[i], now_ns);
	return 0;
}
