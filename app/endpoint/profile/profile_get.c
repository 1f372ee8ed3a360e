/* GET and DELETE of one profile. */
#include "endpoint/call/audits.h"
#include "load.h"
#include "profile_json.h"
#include "store/job.h"
#include "window_session.h"

#include <errno.h>
#include <string.h>

static int
get_one(struct call *c, enum param id, int64_t wait)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = load_session(c, id, &s);

	if (rc)
		return rc;
	if (window_is(s.id) && window_top(c, -1, &s))
		return -1;
	if (wait && !window_is(s.id))
		profile_wait(c, wait, &s);
	return profile_answer(c, &s);
}

int
profile_get(struct call *c)
{
	return get_one(c, P_GetProfile_profileId,
	               param_int(c, P_GetProfile_wait));
}

int
session_one_get(struct call *c)
{
	return get_one(c, P_GetSession_sessionId,
	               param_int(c, P_GetSession_wait));
}

/* Cancels what runs, deletes what does not: the status of the answer. */
static int
end_or_delete(struct call *c, const char *id, const struct session *s)
{
	struct store *store = &c->env->store;
	int rc, status = 202;

	rc = profile_runs(s) ? job_cancel(store, s->tenant, id) : -EALREADY;
	if (rc == -EALREADY) {
		status = 204;
		rc = session_delete(store, s->tenant, id);
	}
	if (!rc)
		rc = audit_note(c, id,
		                status == 202 ? "{\"cancelled\":true}" : "{}");
	return rc ? rc : status;
}

static int
delete_one(struct call *c, enum param which)
{
	CLEANUP_SESSION struct session s = {0};
	const char *id = param_text(c, which);
	struct store *store = &c->env->store;
	int rc, status;

	if (load_session(c, which, &s))
		return -1;
	if (window_is(id)) {
		detail_text(c, params[which].name, id);
		return fail(c, WindowNotDeleted);
	}
	rc = store_begin(store);
	if (rc)
		return fail_store(c, rc);
	status = end_or_delete(c, id, &s);
	rc = store_end(store, status < 0 ? status : 0);
	if (rc == -ENOENT)
		return fail_unknown(c, which);
	if (rc == -ETXTBSY)
		return fail_in_use(c, which);
	if (rc)
		return fail_store(c, rc);
	if (status == 202)
		reply_header(c->reply, "Location", PROFILE_PATH "%s", id);
	return answer_empty(c, status);
}

int
profile_delete(struct call *c)
{
	return delete_one(c, P_DeleteProfile_profileId);
}

int
session_remove(struct call *c)
{
	return delete_one(c, P_DeleteSession_sessionId);
}
