#include "watches_private.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "store/session.h"
#include "worker/targets/following.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define RETRY_NS   (60 * NS_PER_S) /* after a refusal */
#define OVERDUE_NS (60 * NS_PER_S) /* wait for the answer to a cut */

void
windows_describe(const struct windows *w, struct continuous_host *out)
{
	*out = w->counts;
	out->state = w->state;
	out->window_seconds = w->conf->continuous_window;
	out->watched = (int64_t)w->n;
	out->taken = (int64_t)w->others;
	out->left_out = (int64_t)(w->left.n + w->others_left_out);
}

struct watch *
windows_find(struct windows *w, const char *id)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->items[i].id, id))
			return &w->items[i];
	return NULL;
}

/* --- what the analyser is told -------------------------------------------- */

static int
tell(const struct windows *w, enum msg_type type, const char *id)
{
	struct msg_capture m = {.type = type};

	memcpy(m.id, id, strlen(id) + 1);
	return w->analyser < 0 ? -EPIPE
	                       : msg_send(w->analyser, &m, sizeof(m), NULL, 0);
}

/* Says whom the analyser may look at for it: of nobody, when it has ended. */
static int
say_look(const struct windows *w, struct watch *v, const int32_t *pids,
         size_t n)
{
	v->looked_at = n > 0;
	return worker_may_look(w->events, v->id, pids, n);
}

void
windows_unwatch(const struct windows *w, struct watch *v)
{
	if (v->looked_at && say_look(w, v, NULL, 0))
		log_debug("%s: the opener takes no messages", v->service);
	if (v->stamp && tell(w, MSG_STOP, v->id))
		log_debug("%s: nobody to stop", v->id);
	v->stamp = 0;
}

void
windows_analyser(struct windows *w, int socket)
{
	w->analyser = socket;
	w->cut_ns = 0;
	for (size_t i = 0; i < w->n; i++)
		w->items[i].stamp = 0;
}

static void
watch(const struct windows *w, struct watch *v, const struct followed *now)
{
	int rc = say_look(w, v, now->pids, now->n);
	struct msg_start m = {.type = MSG_WATCH,
	                      .kind = WORKER_CPU,
	                      .rate = (uint32_t)v->rate,
	                      .npids = now->n};

	memcpy(m.id, v->id, sizeof(m.id));
	memcpy(m.pids, now->pids, now->n * sizeof(*m.pids));
	/* else it is gone, or comes to it later */
	if (!rc && !msg_send(w->analyser, &m, sizeof(m), NULL, 0))
		v->stamp = now->stamp;
}

/* Logs processes that are left out, since windows have no
 * report of their own. */
static void
tell_left(struct watch *v, const struct followed *now)
{
	bool any = now->left.other_unit || now->left.out_of_scope ||
	           now->left.too_many;

	if (any == v->left)
		return;
	v->left = any;
	log_info("%s: left out are %u descendants in other units, %u outside "
	         "of the tenant's scope and %u beyond what is followed",
	         v->service, now->left.other_unit, now->left.out_of_scope,
	         now->left.too_many);
}

static void
follow(const struct windows *w, struct watch *v, const struct targets *targets,
       int64_t now_ns)
{
	struct following f = {v->tenant, v->service, v->id,
	                      SESSION_ALL_ORDINALS, v->stamp};
	struct followed now;
	int rc = 0;

	if (now_ns < v->retry_ns)
		return;
	targets_followed(targets, v->tenant, v->service, SESSION_ALL_ORDINALS,
	                 &now);
	tell_left(v, &now);
	if (!v->stamp && now.n)
		watch(w, v, &now);
	else if (v->stamp) {
		if (now.stamp && now.stamp != v->stamp)
			rc = say_look(w, v, now.pids, now.n);
		if (!rc && !following_tell(&f, w->analyser, targets, &now))
			v->stamp = f.stamp;
	}
}

void
windows_tell(struct windows *w, const struct continuous_problem *p,
             enum capture_error *told, enum capture_error e)
{
	struct continuous_problem told_now = *p;
	int rc;

	if (e == *told)
		return;
	*told = e;
	told_now.host = (char *)w->host;
	told_now.code = (char *)capture_error_code(e);
	told_now.message = (char *)capture_error_text(e);
	if (e)
		log_warn("%s profiles of %s are not taken: %s", p->type,
		         p->service, told_now.message);
	else
		log_info("%s profiles of %s are taken again, or not wanted",
		         p->type, p->service);
	rc = continuous_problem_put(w->store, &told_now);
	if (rc && rc != -ENOENT)
		log_warn("%s: %s", p->service, strerror(-rc));
}

void
windows_tell_watch(struct windows *w, struct watch *v, enum capture_error e)
{
	windows_tell(w,
	             &(struct continuous_problem){.tenant = v->tenant,
	                                          .service = v->service,
	                                          .type = (char *)"cpu"},
	             &v->error, e);
}

bool
windows_failed(struct windows *w, const struct msg_done *m, int64_t now_ns)
{
	struct watch *v = windows_find(w, m->id);

	if (!v)
		return false;
	if (m->error != CAPTURE_NO_PROCESS) { /* normal when the service does
		                                 not run */
		windows_tell_watch(w, v,
		                   m->error < CAPTURE_ERRORS
		                           ? m->error
		                           : CAPTURE_INTERNAL);
		w->counts.gaps++;
	}
	v->stamp = 0;
	v->retry_ns = now_ns +
	              (m->error == CAPTURE_NO_PROCESS ? NS_PER_S : RETRY_NS);
	return true;
}

/* --- time ----------------------------------------------------------------- */

static bool
is_full(const struct windows *w)
{
	struct statvfs v;

	return !fstatvfs(w->store->segments_fd, &v) &&
	       (int64_t)(v.f_bavail * v.f_frsize) <
	               w->conf->continuous_min_free;
}

/* Stops sampling; while there is no room, each window that is missed is
 * counted. */
static void
refuse(struct windows *w, int64_t now_ns)
{
	if (w->state != CONTINUOUS_HOST_REFUSED) {
		log_warn("continuous profiling rests: less than %lld bytes "
		         "of disk are free",
		         (long long)w->conf->continuous_min_free);
		w->next_ns = now_ns;
		w->cut_ns = 0;
	}
	for (size_t i = 0; i < w->n; i++)
		windows_unwatch(w, &w->items[i]);
	w->state = CONTINUOUS_HOST_REFUSED;
	if (now_ns < w->next_ns)
		return;
	w->next_ns = now_ns + w->conf->continuous_window * NS_PER_S;
	w->counts.refused += (int64_t)w->n;
}

/* Lets the opener ask JVMs for names of the windows that are cut next. */
static void
may_ask(const struct windows *w, const struct targets *targets)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct watch *v = &w->items[i];
		struct followed now;

		if (!v->java || !v->stamp)
			continue;
		targets_followed(targets, v->tenant, v->service,
		                 SESSION_ALL_ORDINALS, &now);
		if (worker_may(w->events, WORKER_MAY_ASK, 0, now.pids, now.n))
			log_debug("%s: the opener takes no messages",
			          v->service);
	}
}

static void
cut(struct windows *w, const struct targets *targets, int64_t now_ns)
{
	int64_t window_ns = w->conf->continuous_window * NS_PER_S;

	if (!w->n || now_ns < w->next_ns || w->cut_ns)
		return;
	may_ask(w, targets);
	if (tell(w, MSG_CUT, ""))
		return;
	w->cut_ns = now_ns;
	if (now_ns - w->next_ns > window_ns / 2)
		w->counts.widened++;
	w->next_ns = w->next_ns && now_ns - w->next_ns < window_ns
	                     ? w->next_ns + window_ns
	                     : now_ns + window_ns;
}

static void
watch_all(struct windows *w, const struct targets *targets, int64_t now_ns)
{
	if (w->state == CONTINUOUS_HOST_IDLE ||
	    w->state == CONTINUOUS_HOST_REFUSED)
		w->next_ns = now_ns + w->conf->continuous_window * NS_PER_S;
	w->state = CONTINUOUS_HOST_RUNNING;
	for (size_t i = 0; i < w->n; i++)
		follow(w, &w->items[i], targets, now_ns);
	if (w->cut_ns && now_ns - w->cut_ns > OVERDUE_NS)
		w->cut_ns = 0;
	cut(w, targets, now_ns);
}

void
windows_step(struct windows *w, const struct targets *targets, int64_t now_ns)
{
	int rc = windows_store(w, now_ns) ?: w->others_rc;

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
windows_wind_up(struct windows *w, const struct targets *targets,
                int64_t now_ns)
{
	if (w->state == CONTINUOUS_HOST_RUNNING) {
		w->next_ns = now_ns;
		cut(w, targets, now_ns);
	}
	w->state = CONTINUOUS_HOST_IDLE;
}
