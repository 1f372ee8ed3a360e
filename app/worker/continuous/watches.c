#include "watches_private.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "store/session.h"
#include "worker/targets/following.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define OVERDUE_NS (60 * NS_PER_S) /* wait for the answer to a cut */

void
watches_describe(const struct watches *w, struct continuous_host *out)
{
	*out = w->counts;
	out->state = w->state;
	out->window_seconds = w->conf->continuous_window;
	out->watched = (int64_t)w->n;
	out->taken = (int64_t)w->others;
	out->left_out = (int64_t)(w->left.n + w->others_left_out);
}

void
watches_analyser(struct watches *w, int socket)
{
	w->analyser = socket;
	w->cut_ns = 0;
	for (size_t i = 0; i < w->n; i++)
		w->items[i].stamp = 0;
}

/* --- time ----------------------------------------------------------------- */

static bool
is_full(const struct watches *w)
{
	struct statvfs v;

	return !fstatvfs(w->store->segments_fd, &v) &&
	       (int64_t)(v.f_bavail * v.f_frsize) <
	               w->conf->continuous_min_free;
}

/* Stops sampling while the disk is nearly full, and counts the windows that are
 * missed. */
static void
refuse(struct watches *w, int64_t now_ns)
{
	if (w->state != CONTINUOUS_HOST_REFUSED) {
		log_warn("continuous profiling pauses: less than %lld bytes "
		         "of disk are free",
		         (long long)w->conf->continuous_min_free);
		w->next_ns = now_ns;
		w->cut_ns = 0;
	}
	for (size_t i = 0; i < w->n; i++)
		watches_unwatch(w, &w->items[i]);
	w->state = CONTINUOUS_HOST_REFUSED;
	if (now_ns < w->next_ns)
		return;
	w->next_ns = now_ns + w->conf->continuous_window * NS_PER_S;
	w->counts.refused += (int64_t)w->n;
}

/* Lets the opener ask JVMs for the names that the next windows need. */
static void
may_ask(const struct watches *w, const struct targets *targets)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct watch *v = &w->items[i];
		struct followed now;

		if (!v->java || !v->stamp)
			continue;
		targets_followed(targets, v->tenant, v->service,
		                 SESSION_ALL_ORDINALS, &now);
		if (worker_may(w->events, WORKER_MAY_ASK, 0, now.pids,
		               now.starts, now.n))
			log_debug("%s: the opener takes no messages",
			          v->service);
	}
}

static void
cut(struct watches *w, const struct targets *targets, int64_t now_ns)
{
	int64_t window_ns = w->conf->continuous_window * NS_PER_S;

	if (!w->n || now_ns < w->next_ns || w->cut_ns)
		return;
	may_ask(w, targets);
	if (watches_send(w, MSG_CUT, ""))
		return;
	w->cut_ns = now_ns;
	if (now_ns - w->next_ns > window_ns / 2)
		w->counts.widened++;
	w->next_ns = w->next_ns && now_ns - w->next_ns < window_ns
	                     ? w->next_ns + window_ns
	                     : now_ns + window_ns;
}

static void
watch_all(struct watches *w, const struct targets *targets, int64_t now_ns)
{
	if (w->state == CONTINUOUS_HOST_IDLE ||
	    w->state == CONTINUOUS_HOST_REFUSED)
		w->next_ns = now_ns + w->conf->continuous_window * NS_PER_S;
	w->state = CONTINUOUS_HOST_RUNNING;
	for (size_t i = 0; i < w->n; i++)
		watches_follow(w, &w->items[i], targets, now_ns);
	if (w->cut_ns && now_ns - w->cut_ns > OVERDUE_NS)
		w->cut_ns = 0;
	cut(w, targets, now_ns);
}

void
watches_step(struct watches *w, const struct targets *targets, int64_t now_ns)
{
	int rc = watches_store(w, now_ns) ?: w->others_rc;

	if (rc && w->state != CONTINUOUS_HOST_BEHIND)
		log_warn("windows wait to be stored: %s", strerror(-rc));
	if (rc)
		w->state = CONTINUOUS_HOST_BEHIND;
	else if (!w->n && !w->others)
		w->state = CONTINUOUS_HOST_IDLE;
	else if (!is_full(w))
		watch_all(w, targets, now_ns);
	else
		refuse(w, now_ns);
}

void
watches_wind_up(struct watches *w, const struct targets *targets,
                int64_t now_ns)
{
	if (w->state == CONTINUOUS_HOST_RUNNING) {
		w->next_ns = now_ns;
		cut(w, targets, now_ns);
	}
	w->state = CONTINUOUS_HOST_IDLE;
}
