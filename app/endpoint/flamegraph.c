/* GET of a profile in one of the formats of formats.def. */
#include "accept.h"
#include "profile_json.h"
#include "view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Profiles never change; a link does after an hour. */
#define CACHE "private, max-age=3600"
/* The page is opened by anyone who got its link, and holds names from
 * programs: it may run its own script and nothing else. */
#define CSP                                                           \
	"sandbox allow-scripts allow-downloads allow-popups; "        \
	"default-src 'none'; script-src 'unsafe-inline'; "            \
	"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'none'"

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
	bool inline_view = !strcmp(f->name, "html") ||
	                   !strcmp(f->name, "svg") || !strcmp(f->name, "json");

	reply_header(c->reply, "Access-Control-Allow-Origin", "*");
	reply_header(c->reply, "Cache-Control", CACHE);
	reply_header(c->reply, "Content-Security-Policy", "%s", CSP);
	reply_header(c->reply, "Referrer-Policy", "no-referrer");
	reply_header(c->reply, "Content-Disposition",
	             "%s; filename=\"%s-%s-%s.%s\"",
	             inline_view ? "inline" : "attachment", s->service, s->type,
	             s->id, f->extension);
	if (!param_given(c, P_GetFlameGraph_format))
		reply_header(c->reply, "Vary", "Accept");
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

	if (find_blob(c, id, &s, &b))
		return -1;
	buf_clear(&c->reply->details);
	put_headers(c, &s, f);
	if (answer_etag(c, "%.32s-%s-%s", b.checksum, f->name, STOKER_VERSION))
		return answer_empty(c, 304);
	c->reply->status = c->route->status;
	c->reply->content_type = f->content_type;
	c->reply->is_json = !strcmp(f->name, "json");
	return view_render(c, &s, f, &b);
}
