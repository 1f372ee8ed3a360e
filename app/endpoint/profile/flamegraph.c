/* GET of a profile in one of the formats of formats.def. */
#include "endpoint/call/accept.h"
#include "load.h"
#include "profile_json.h"
#include "view.h"
#include "window_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
find_blob(struct call *c, const char *id, struct session *s, struct blob *out)
{
	struct store *store = &c->env->store;
	int rc = session_get(store, c->caller.tenant, id, s);

	if (rc && rc != -ENOENT)
		return fail_store(c, rc);
	detail_text(c, "profileId", id);
	if (rc)
		return fail(c, UnknownProfile, id);
	if (!strcmp(s->status, SESSION_RUNNING))
		return fail_retry(c, profile_retry_s(s), SessionNotCompleted);
	rc = blob_of_session(store, id, BLOB_PPROF, out);
	if (rc && rc != -ENOENT)
		return fail_store(c, rc);
	if (rc && *s->error_message) {
		detail_text(c, "error_code", s->error_code);
		return fail(c, SessionFailed, s->error_message);
	}
	return rc ? fail(c, ProfileNotKept) : 0;
}

static void
put_headers(struct call *c, const struct session *s, const struct format *f)
{
	view_headers(c, P_GetFlameGraph_format, VIEW_CACHE);
	reply_header(c->reply, "Content-Disposition",
	             "%s; filename=\"%s-%s-%s.%s\"", view_disposition(f),
	             s->service, s->type, s->id, f->extension);
}

static int
send_window(struct call *c, const struct format *f)
{
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_PROFILE struct profile *p = NULL;

	if (load_session(c, P_GetFlameGraph_profileId, &s))
		return -1;
	put_headers(c, &s, f);
	/* a window never changes, and ids are not reused */
	if (answer_etag(c, "%s-%s-%s", s.id, f->name, STOKER_VERSION))
		return answer_empty(c, 304);
	if (load_profile(c, &s, &p))
		return -1;
	view_begin(c, f);
	return view_profile(c, &s, f, p);
}

int
flamegraph_get(struct call *c)
{
	CLEANUP_SESSION struct session s = {0};
	const char *id = param_text(c, P_GetFlameGraph_profileId);
	const struct format *f =
		param_given(c, P_GetFlameGraph_format)
			? format_find(param_text(c, P_GetFlameGraph_format))
			: accept_format(c->req->accept);
	struct blob b;

	if (window_is(id))
		return send_window(c, f);
	if (find_blob(c, id, &s, &b))
		return -1;
	buf_clear(&c->reply->details);
	put_headers(c, &s, f);
	if (answer_etag(c, "%.32s-%s-%s", b.checksum, f->name, STOKER_VERSION))
		return answer_empty(c, 304);
	view_begin(c, f);
	return view_render(c, &s, f, &b);
}
