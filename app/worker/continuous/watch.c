/* One watch: messages to the analyser, and its state in the store. */
#include "base/clock.h"
#include "base/log.h"
#include "store/session.h"
#include "watches_private.h"
#include "worker/targets/following.h"

#include <errno.h>
#include <string.h>

#define RETRY_NS (60 * NS_PER_S) /* after a refusal */

struct watch *
watches_find(struct watches *w, const char *id)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->items[i].id, id))
			return &w->items[i];
	return NULL;
}

/* --- messages to the analyser --------------------------------------------- */

int
watches_send(const struct watches *w, enum msg_type type, const char *id)
{
	struct msg_capture m = {.type = type};

	memcpy(m.id, id, strlen(id) + 1);
	return w->analyser < 0 ? -EPIPE
	                       : msg_send(w->analyser, &m, sizeof(m), NULL, 0);
}

/* Grants access to a watch's processes; now is NULL once the watch has
 * ended. */
static int
say_look(const struct watches *w, struct watch *v, const struct followed *now)
{
	v->looked_at = now && now->n;
	return worker_may_look(w->events, v->id, now ? now->pids : NULL,
	                       now ? now->starts : NULL, now ? now->n : 0);
}

void
watches_unwatch(const struct watches *w, struct watch *v)
{
	if (v->looked_at && say_look(w, v, NULL))
		log_debug("%s: the opener takes no messages", v->service);
	if (v->stamp && watches_send(w, MSG_STOP, v->id))
		log_debug("%s: the analyser takes no messages", v->id);
	v->stamp = 0;
}

static void
watch(const struct watches *w, struct watch *v, const struct followed *now)
{
	int rc = say_look(w, v, now);
	struct msg_start m = {.type = MSG_WATCH,
	                      .ways = v->ways,
	                      .rate = (uint32_t)v->rate,
	                      .titles = now->titles,
	                      .threads = v->threads,
	                      .npids = now->n};

	memcpy(m.id, v->id, sizeof(m.id));
	memcpy(m.pids, now->pids, now->n * sizeof(*m.pids));
	/* otherwise the analyser is gone, or busy: the next look retries */
	if (!rc && !msg_send(w->analyser, &m, sizeof(m), NULL, 0))
		v->stamp = now->stamp;
}

/* Logs that processes are left out, since windows have no quality report. */
static void
log_left(struct watch *v, const struct followed *now)
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

void
watches_follow(const struct watches *w, struct watch *v,
               const struct targets *targets, int64_t now_ns)
{
	struct following f = {v->tenant, v->service, v->id,
	                      SESSION_ALL_ORDINALS, v->stamp};
	struct followed now;
	int rc = 0;

	if (now_ns < v->retry_ns)
		return;
	targets_followed(targets, v->tenant, v->service, SESSION_ALL_ORDINALS,
	                 &now);
	log_left(v, &now);
	if (!v->stamp && now.n)
		watch(w, v, &now);
	else if (v->stamp) {
		if (now.stamp && now.stamp != v->stamp)
			rc = say_look(w, v, &now);
		if (!rc && !following_send(&f, w->analyser, targets, &now))
			v->stamp = f.stamp;
	}
}

/* --- its state in the store ----------------------------------------------- */

void
watches_report(struct watches *w, const struct continuous_problem *p,
               enum capture_error *reported, enum capture_error e)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct continuous_problem now = *p;
	int rc;

	if (e == *reported)
		return;
	*reported = e;
	now.host = (char *)w->host;
	now.code = (char *)capture_error_code(e);
	capture_error_explain(e, w->findings, p->service, &text);
	now.message = (char *)buf_str(&text);
	if (e)
		log_warn("%s profiles of %s are not taken: %s", p->type,
		         p->service, now.message);
	else
		log_info("%s profiles of %s are taken again, or not wanted",
		         p->type, p->service);
	rc = continuous_problem_put(w->store, &now);
	if (rc && rc != -ENOENT)
		log_warn("%s: %s", p->service, strerror(-rc));
}

void
watches_report_watch(struct watches *w, struct watch *v, enum capture_error e)
{
	watches_report(w,
	               &(struct continuous_problem){.tenant = v->tenant,
	                                            .service = v->service,
	                                            .type = (char *)v->type},
	               &v->error, e);
}

bool
watches_failed(struct watches *w, const struct msg_done *m, int64_t now_ns)
{
	struct watch *v = watches_find(w, m->id);

	if (!v)
		return false;
	if (m->error != CAPTURE_NO_PROCESS) { /* normal when the service does
		                                 not run */
		watches_report_watch(w, v,
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
