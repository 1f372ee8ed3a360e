/* GET and DELETE of one profile. */
#include "audits.h"
#include "base/clock.h"
#include "profile_json.h"
#include "store/job.h"
#include "wait.h"

#include <errno.h>
#include <string.h>

static int
find(struct call *c, const char *id, struct session *out)
{
	int rc = session_get(&c->env->store, c->caller.tenant, id, out);

	if (rc == -ENOENT) {
		detail_text(c, "profileId", id);
		return fail(c, UnknownProfile, id);
	}
	return rc ? fail_store(c, rc) : 0;
}

static bool
is_running(const struct session *s)
{
	return !strcmp(s->status, SESSION_RUNNING);
}

/* Reads the session again at each commit until it has ended or the wait is
 * over; 0 or -1 as find(). */
static int
wait_ended(struct call *c, const char *id, int64_t seconds, struct session *s)
{
	CLEANUP_WATCH struct watch w = {.fd = -1};
	int64_t deadline_ns = clock_mono_ns() + seconds * NS_PER_S;

	if (watch_open(&c->env->store, &w))
		return 0; /* the answer of now is an answer too */
	do {
		session_done(s);
		*s = (struct session){0};
		if (find(c, id, s))
			return -1;
	} while (is_running(s) && !watch_wait(&w, c->req, deadline_ns));
	return 0;
}

int
profile_get(struct call *c)
{
	CLEANUP_SESSION struct session s = {0};
	const char *id = param_text(c, P_GetProfile_profileId);
	int64_t wait = param_int(c, P_GetProfile_wait);
	int rc = find(c, id, &s);

	if (rc)
		return rc;
	if (wait && is_running(&s) && counters_wait_begin(c->env->counters)) {
		rc = wait_ended(c, id, wait, &s);
		counters_wait_end(c->env->counters);
	}
	return rc ? rc : profile_answer(c, &s);
}

/* Cancels what runs, deletes what does not: the status of the answer. */
static int
end_or_delete(struct call *c, const char *id, const struct session *s)
{
	struct store *store = &c->env->store;
	int rc, status = 202;

	rc = is_running(s) ? job_cancel(store, s->tenant, id) : -EALREADY;
	if (rc == -EALREADY) {
		status = 204;
		rc = session_delete(store, s->tenant, id);
	}
	if (!rc)
		rc = audit_note(c, id,
		                status == 202 ? "{\"cancelled\":true}" : "{}");
	return rc ? rc : status;
}

int
profile_delete(struct call *c)
{
	CLEANUP_SESSION struct session s = {0};
	const char *id = param_text(c, P_DeleteProfile_profileId);
	struct store *store = &c->env->store;
	int rc, status;

	if (find(c, id, &s))
		return -1;
	rc = store_begin(store);
	if (rc)
		return fail_store(c, rc);
	status = end_or_delete(c, id, &s);
	rc = store_end(store, status < 0 ? status : 0);
	if (rc == -ENOENT)
		return fail(c, UnknownProfile, id);
	if (rc)
		return fail_store(c, rc);
	if (status == 202)
		reply_header(c->reply, "Location", PROFILE_PATH "%s", id);
	return answer_empty(c, status);
}
