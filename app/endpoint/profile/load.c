#include "load.h"

#include "profile/pprof.h"
#include "profile/summary.h"
#include "profile_json.h"
#include "store/blob.h"
#include "window_session.h"

#include <errno.h>
#include <string.h>

int
fail_unknown(struct call *c, enum param p)
{
	const char *id = param_text(c, p);

	detail_text(c, params[p].name, id);
	if (params[p].type == PT_SESSION)
		return fail(c, UnknownSession, id);
	return fail(c, UnknownProfile, id);
}

int
load_session(struct call *c, enum param p, struct session *out)
{
	const char *id = param_text(c, p);
	int rc = window_is(id) ? window_find(c, id, out)
	                       : session_get(&c->env->store, c->caller.tenant,
	                                     id, out);

	if (rc == -ENOENT)
		return fail_unknown(c, p);
	return rc ? fail_store(c, rc) : 0;
}

int
load_completed(struct call *c, enum param p, const char *type,
               struct session *out)
{
	if (load_session(c, p, out))
		return -1;
	if (!strcmp(out->status, SESSION_COMPLETED) &&
	    (!type || !strcmp(out->type, type)))
		return 0;
	detail_text(c, params[p].name, out->id);
	if (!strcmp(out->status, SESSION_RUNNING))
		return fail_retry(c, profile_retry_s(out), SessionNotCompleted);
	if (strcmp(out->status, SESSION_COMPLETED)) {
		detail_text(c, "error_code", out->error_code);
		return fail(c, SessionFailed, out->error_message);
	}
	detail_text(c, "profileType", out->type);
	return fail(c, WrongProfileType, type);
}

static int
decode(struct call *c, const struct blob *b, struct profile **out,
       struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	int rc = blob_read(&c->env->store, b, &stored);

	return rc ? rc
	          : pprof_decode(stored.p, stored.len, BLOB_MAX_RAW, out, why);
}

int
load_profile(struct call *c, const struct session *s, struct profile **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	struct blob b;
	int rc;

	if (window_is(s->id))
		rc = window_profile(c, s->id, out, &why);
	else
		rc = blob_of_session(&c->env->store, s->id, BLOB_PPROF, &b)
		             ?: decode(c, &b, out, &why);
	if (!rc)
		return 0;
	if (rc == -ENOENT) {
		detail_text(c, "profileId", s->id);
		return fail(c, ProfileNotKept);
	}
	buf_addf(&c->reply->cause, "stored profile %s: %s (%s)", s->id,
	         buf_str(&why), strerror(-rc));
	return fail(c, InternalError);
}

void
load_if_kept(struct call *c, const char *session, struct profile **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	struct blob b;

	if (blob_of_session(&c->env->store, session, BLOB_PPROF, &b) ||
	    decode(c, &b, out, &why))
		*out = NULL;
}

struct timeline *
load_timeline(struct call *c, const struct session *s)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	struct timeline *t = NULL;
	struct blob b;

	if (window_is(s->id) ||
	    blob_of_session(&c->env->store, s->id, BLOB_TIMELINE, &b) ||
	    blob_read(&c->env->store, &b, &stored) ||
	    timeline_decode(stored.p, stored.len, TIMELINE_MAX_BYTES, &t))
		return NULL;
	return t;
}

int
load_top(struct call *c, int64_t top, struct session *s)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf list = BUF_INIT(BUF_MAX_REPLY);
	char *text;
	int rc;

	if (!top)
		return 0;
	if (load_profile(c, s, &p))
		return -1;
	rc = tree_new(p, profile_type_index(p, NULL), &t)
	             ?: summary_top(t,
	                            top < 0 ? SUMMARY_FUNCTIONS : (uint32_t)top,
	                            &list)
	             ?: buf_take(&list, &text, NULL);
	if (rc)
		return fail_store(c, rc);
	free(s->top_functions);
	s->top_functions = text;
	return 0;
}
