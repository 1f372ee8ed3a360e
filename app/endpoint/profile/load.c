#include "load.h"

#include "profile/summary.h"
#include "profile_json.h"
#include "range/slice.h"
#include "range/stored.h"
#include "window_session.h"

#include <errno.h>
#include <string.h>

/* Fails unless the session has completed and has this type; NULL: any. */
static int
check_completed(struct call *c, enum param p, const char *type,
                const struct session *out)
{
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
	return fail(c, WrongProfileType, out->type, type);
}

int
load_session(struct call *c, enum param p, struct session *out)
{
	const char *id = param_text(c, p);
	struct slice x;
	bool is_part = slice_parse(id, &x);
	int rc = window_is(id) ? window_find(c, id, out)
	                       : session_get(&c->env->store, c->caller.tenant,
	                                     is_part ? x.session : id, out);

	if (!rc && is_part && check_completed(c, p, NULL, out))
		return -1;
	if (!rc && is_part)
		rc = slice_session(&x, id, out);
	return rc ? fail_id(c, rc, p) : 0;
}

int
load_completed(struct call *c, enum param p, const char *type,
               struct session *out)
{
	return load_session(c, p, out) ? -1 : check_completed(c, p, type, out);
}

/* Returns the inflated size of a stored file; 0 if it is missing, which the
 * reader reports. */
static uint64_t
raw_bytes(struct call *c, const struct session *s, const char *kind)
{
	uint32_t bytes;
	struct blob b;

	if (window_is(s->id) || stored_find(&c->env->store, s->id, kind, &b) ||
	    blob_raw_bytes(&c->env->store, &b, &bytes))
		return 0;
	return bytes;
}

int
load_reads(struct call *c, const struct session *s)
{
	uint64_t bytes = raw_bytes(c, s, BLOB_PPROF);
	struct slice x;

	if (slice_parse(s->id, &x))
		bytes += raw_bytes(c, s, BLOB_TIMELINE);
	return call_reads(c, bytes);
}

int
load_reads_timeline(struct call *c, const struct session *s)
{
	return call_reads(c, raw_bytes(c, s, BLOB_TIMELINE));
}

int
load_profile(struct call *c, const struct session *s, struct profile **out)
{
	return load_reads(c, s) ? -1 : load_known(c, s, out);
}

int
fail_no_timeline(struct call *c, const struct session *s)
{
	detail_text(c, "profileId", s->id);
	return fail(c, TimelineNotKept);
}

/* Reduces the profile to the session's part of a capture. */
static int
cut(struct call *c, const struct session *s, struct profile *p)
{
	CLEANUP_TIMELINE struct timeline *t = NULL;
	struct slice x;
	int rc;

	if (!slice_parse(s->id, &x))
		return 0;
	t = stored_timeline_uncut(&c->env->store, s->id);
	if (!t)
		return fail_no_timeline(c, s);
	rc = timeline_cut_profile(t, &x.part, p);
	if (!rc)
		return 0;
	buf_addf(&c->reply->cause, "timeline of %s: %s", s->id, strerror(-rc));
	return rc == -ENOMEM ? fail_memory(c) : fail(c, InternalError);
}

int
load_known(struct call *c, const struct session *s, struct profile **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc;

	if (call_go_on(c))
		return -1;
	if (window_is(s->id))
		rc = window_profile(c, s->id, &p, &why);
	else
		rc = stored_profile(&c->env->store, s->id, &p, &why);
	if (!rc && cut(c, s, p))
		return -1;
	if (!rc)
		*out = TAKE(p);
	if (!rc)
		return 0;
	if (rc == -ENOENT) {
		detail_text(c, "profileId", s->id);
		return fail(c, ProfileNotKept);
	}
	if (rc == -ENOMEM || bytes_unreachable(rc))
		return fail_store(c, rc);
	buf_addf(&c->reply->cause, "stored profile %s: %s (%s)", s->id,
	         buf_str(&why), strerror(-rc));
	return fail(c, ProfileDamaged, "the profile");
}

void
load_made_of(struct call *c, const struct session *s, struct buf *out)
{
	static const char *const kinds[] = {BLOB_PPROF, BLOB_TIMELINE};
	struct blob b;

	buf_addf(out, "%s", s->id);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!window_is(s->id) &&
		    !stored_find(&c->env->store, s->id, kinds[i], &b))
			buf_addf(out, " %s=%s", kinds[i], b.checksum);
	buf_putc(out, '\n');
}

int
load_top(struct call *c, int64_t top, struct session *s)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf list = BUF_INIT(BUF_MAX_REPLY);
	struct slice part;
	char *text;
	int rc;

	if (!top)
		return 0;
	if (load_profile(c, s, &p) || call_go_on(c))
		return -1;
	rc = tree_functions(p, profile_type_index(p, NULL), &t)
	             ?: summary_top(t,
	                            top < 0 ? SUMMARY_FUNCTIONS : (uint32_t)top,
	                            &list)
	             ?: buf_take(&list, &text, NULL);
	if (rc)
		return fail_store(c, rc);
	free(s->top_functions);
	s->top_functions = text;
	if (slice_parse(s->id, &part))
		s->sample_count = t->total_samples;
	return 0;
}
