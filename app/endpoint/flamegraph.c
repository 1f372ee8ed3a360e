/* GET of a profile in one of the formats of formats.def. */
#include "accept.h"
#include "profile/pprof.h"
#include "profile_json.h"
#include "store/blob.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_INFLATED ((size_t)512 << 20)
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

static int
damaged(struct call *c, int rc, const char *why)
{
	buf_addf(&c->reply->cause, "stored profile: %s (%s)", why,
	         strerror(-rc));
	return fail(c, InternalError);
}

static int
write_view(struct call *c, const struct session *s, const struct format *f,
           const struct buf *stored)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	char title[2 * STORE_NAME_MAX];
	const struct export_meta meta = {
		.title = title,
		.id = s->id,
		.service = s->service,
		.type = s->type,
		.time_ms = s->started_ms,
		.duration_ms = s->duration_ms,
	};
	int rc;

	snprintf(title, sizeof(title), "%s %s", s->service, s->type);
	rc = pprof_decode(stored->p, stored->len, MAX_INFLATED, &p, &why);
	if (!rc)
		rc = tree_new(p, profile_type_index(p, NULL), &t);
	if (!rc)
		rc = f->write(t, &meta, &c->reply->body);
	return rc ? damaged(c, rc, buf_str(&why)) : 0;
}

/* The stored file itself, sent by nginx when it is big. */
static int
send_stored(struct call *c, const struct blob *b)
{
	if (b->length > c->env->conf->api_accel_bytes) {
		reply_header(c->reply, "X-Accel-Redirect", "/_profiles/%s",
		             b->name);
		return 0;
	}
	int rc = blob_read(&c->env->store, b, &c->reply->body);

	return rc ? damaged(c, rc, b->id) : 0;
}

static int
render(struct call *c, const struct session *s, const struct format *f,
       const struct blob *b)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	int rc;

	if (!strcmp(f->name, BLOB_PPROF))
		return send_stored(c, b);
	rc = blob_read(&c->env->store, b, &stored);
	return rc ? damaged(c, rc, b->id) : write_view(c, s, f, &stored);
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
	return render(c, &s, f, &b);
}
