/* GET of a profile in one of the formats of formats.def. */
#include "base/hash.h"
#include "base/version.h"
#include "endpoint/call/accept.h"
#include "load.h"
#include "profile_json.h"
#include "range/slice.h"
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
	view_headers(c, P_GetFlameGraph_format,
	             f->use == FORMAT_LISTED ? VIEW_CACHE_RANGE : VIEW_CACHE);
	reply_header(c->reply, "Content-Disposition",
	             "%s; filename=\"%s-%s-%s.%s\"", view_disposition(f),
	             s->service, s->type, s->id, f->extension);
}

static struct view_of
shown(struct call *c)
{
	struct view_of of = view_asked(c, VIEW_ROWS(GetFlameGraph));

	if (param_given(c, P_GetFlameGraph_sampleType))
		of.value = param_text(c, P_GetFlameGraph_sampleType);
	return of;
}

/* Appends everything that determines a view. */
static void
put_made_of(struct call *c, const struct session *s, const struct format *f,
            struct buf *out)
{
	const struct view_of of = shown(c);

	load_made_of(c, s, out);
	buf_puts(out, f->name);
	view_made_of(&of, out);
}

/* Sends lines with their text, which later captures may add. */
static int
send_listed(struct call *c, const struct format *f, const struct session *s,
            const struct view_of *view)
{
	CLEANUP_PROFILE struct profile *p = NULL;

	view_begin(c, f);
	return load_profile(c, s, &p) || view_profile(c, s, f, view, p) ? -1
	                                                                : 0;
}

/* Sends what has no file: a window, a part of a capture, or lines with their
 * text. */
static int
send_made(struct call *c, const struct format *f)
{
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_REPLY);
	const struct view_of view = shown(c);

	if (load_completed(c, P_GetFlameGraph_profileId, NULL, &s))
		return -1;
	put_headers(c, &s, f);
	if (f->use == FORMAT_LISTED)
		return send_listed(c, f, &s, &view);
	put_made_of(c, &s, f, &of);
	if (answer_etag(c, "%016llx-%s-%s",
	                (unsigned long long)hash_bytes(of.p, of.len), f->name,
	                stoker_version))
		return answer_empty(c, 304);
	view_begin(c, f);
	if (kept_find(c, &of))
		return 0;
	if (load_profile(c, &s, &p) || view_profile(c, &s, f, &view, p))
		return -1;
	kept_add(c, &of);
	return 0;
}

/* Sends a view that was kept, or renders it. */
static int
send_view(struct call *c, const struct session *s, const struct format *f,
          const struct blob *b)
{
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_REPLY);
	const struct view_of view = shown(c);
	int rc;

	if (f->use == FORMAT_STORED && !sift_is_any(&view.sift))
		return view_render(c, s, f, NULL, b);
	put_made_of(c, s, f, &of);
	if (kept_find(c, &of))
		return 0;
	rc = view_render(c, s, f, &view, b);
	if (!rc)
		kept_add(c, &of);
	return rc;
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
	const struct view_of of = shown(c);
	struct slice part;
	struct blob b;

	if (f->use == FORMAT_LISTED && call_is_link(c))
		return fail(c, Forbidden, "viewer");
	if (window_is(id) || slice_parse(id, &part) || f->use == FORMAT_LISTED)
		return send_made(c, f);
	if (find_blob(c, id, &s, &b))
		return -1;
	buf_clear(&c->reply->details);
	put_headers(c, &s, f);
	if (answer_etag(c, "%.32s-%s-%s-%08x", b.checksum, f->name,
	                stoker_version, view_hash(&of)))
		return answer_empty(c, 304);
	view_begin(c, f);
	return send_view(c, &s, f, &b);
}
