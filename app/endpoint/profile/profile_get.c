/*
 * GET of one profile or of all sessions, DELETE, early completion and pinning.
 */
#include "load.h"
#include "profile_json.h"
#include "range/slice.h"
#include "store/baseline.h"
#include "store/job.h"
#include "store/session.h"
#include "store/window.h"
#include "window_session.h"

#include <errno.h>
#include <string.h>

static int
get_one(struct call *c, enum param id, int64_t wait)
{
	CLEANUP_SESSION struct session s = {0};
	struct slice part;
	bool made; /* rendered from a profile on request */
	int rc = load_session(c, id, &s);

	if (rc)
		return rc;
	rc = profile_runs(&s) ? call_expire_jobs(c) : 0;
	if (rc)
		return fail_store(c, rc);
	made = window_is(s.id) || slice_parse(s.id, &part);
	if (made && load_top(c, -1, &s))
		return -1;
	if (wait && !made)
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

/* Fails with SessionInUse, and names the baseline that the caller would have to
 * delete. */
static int
fail_in_use(struct call *c, enum param p, const struct baseline *holder)
{
	detail_text(c, params[p].name, holder->session);
	detail_text(c, "baselineId", holder->id);
	detail_text(c, "baselineLabel", holder->label);
	return fail(c, SessionInUse, holder->label, holder->id);
}

/* Cancels a running session, deletes any other. Returns the status of the
 * reply. */
static int
end_or_delete(struct call *c, const char *id, const struct session *s,
              struct baseline *out_holder)
{
	struct store *store = &c->env->store;
	int rc, status = 202;

	rc = profile_runs(s) ? job_cancel(store, s->tenant, id) : -EALREADY;
	if (rc == -EALREADY) {
		status = 204;
		rc = session_delete(store, s->tenant, id);
	}
	if (rc == -ETXTBSY)
		rc = baseline_of_session(store, s->tenant, id, out_holder)
		             ?: -ETXTBSY;
	if (!rc)
		rc = audit_note(c, id,
		                status == 202 ? "{\"cancelled\":true}" : "{}");
	return rc ? rc : status;
}

static int
delete_one(struct call *c, enum param which)
{
	CLEANUP_BASELINE struct baseline holder = {0};
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
	status = end_or_delete(c, id, &s, &holder);
	rc = store_end(store, status < 0 ? status : 0);
	if (rc == -ETXTBSY)
		return fail_in_use(c, which, &holder);
	if (rc)
		return fail_id(c, rc, which);
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

int
session_list_get(struct call *c)
{
	CLEANUP_SESSIONS struct session_list list = {0};
	const struct session_filter filter = {
		.tenant = c->caller.tenant,
		.service = param_text(c, P_ListSessions_service),
		.type = param_text(c, P_ListSessions_profileType),
		.status = param_text(c, P_ListSessions_status),
		.from_ms = param_int(c, P_ListSessions_from),
		.origin = param_text(c, P_ListSessions_origin),
		.to_ms = param_int(c, P_ListSessions_to),
	};
	struct page page = PAGE_OF(c, ListSessions);
	int64_t top = param_int(c, P_ListSessions_top);
	int rc = session_list(&c->env->store, &filter, page, &list);
	struct buf *out;

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++) {
		json_open(out, NULL, '{');
		if (profile_put(c, out, &list.items[i], top))
			return -1;
		json_close(out, '}');
	}
	return page_end(c, list.next);
}

/* --- profiles that stay, however old they are ----------------------------- */

static int
pin_noted(struct call *c, const char *id, bool pinned)
{
	struct store *s = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = store_begin(s);

	if (rc)
		return rc;
	rc = window_is(id) ? window_pin(s, tenant, id, pinned)
	                   : session_pin(s, tenant, id, pinned);
	return audit_end(c, rc, id, "{}");
}

static int
pin(struct call *c, enum param which, bool pinned)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = pin_noted(c, param_text(c, which), pinned);

	if (rc)
		return fail_id(c, rc, which);
	if (load_session(c, which, &s))
		return -1;
	return profile_answer(c, &s);
}

int
profile_complete(struct call *c)
{
	static const enum param which = P_CompleteProfile_profileId;
	const char *id = param_text(c, which);
	CLEANUP_SESSION struct session s = {0};
	struct store *store = &c->env->store;
	int rc;

	if (load_session(c, which, &s))
		return -1;
	if (!profile_runs(&s))
		return profile_answer(c, &s);
	rc = store_begin(store)
	             ?: audit_end(c, job_complete(store, s.tenant, id), id,
	                          "{\"completed\":true}");
	if (rc && rc != -EALREADY)
		return fail_id(c, rc, which);
	session_done(&s);
	s = (struct session){0};
	if (load_session(c, which, &s))
		return -1;
	return profile_answer(c, &s);
}

int
pin_post(struct call *c)
{
	return pin(c, P_PinProfile_profileId, true);
}

int
pin_delete(struct call *c)
{
	return pin(c, P_UnpinProfile_profileId, false);
}
