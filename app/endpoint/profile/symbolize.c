/*
 * Symbolizes stored profiles again.
 */
#include "store/symbolize.h"

#include "load.h"
#include "profile_json.h"
#include "store/debug_file.h"
#include "store/quota.h"
#include "store/session.h"

#include <errno.h>
#include <string.h>

static int
answer(struct call *c, enum param which)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	const char *id = param_text(c, which);
	struct buf *out;
	int rc = symbolize_get(&c->env->store, c->caller.tenant, id, &y);

	if (rc)
		return fail_id(c, rc, which);
	reply_header(c->reply, "Location", PROFILE_PATH "%s/symbolize", id);
	out = answer_json(c);
	json_put_text(out, "profileId", y.session);
	json_put_text(out, "state", y.state);
	json_put_text(out, "error", y.error);
	json_put_time(out, "askedAt", y.asked_ms);
	json_put_time(out, "endedAt", y.ended_ms);
	json_put_raw(out, "quality", y.quality, "{}");
	return answer_end(c);
}

/* Finds the host that symbolizes a session. A host of a fleet has its own
 * store, and cannot. */
static int
find_host(struct call *c, const struct session *s, char **out)
{
	int rc = symbolize_host(&c->env->store, s->tenant, s->service, s->host,
	                        out);

	if (rc == -ENOENT)
		return *s->host ? fail(c, HostApart, s->host)
		                : fail(c, NotCaptured);
	return rc ? fail_store(c, rc) : 0;
}

/* Reads the profile, if debug files were pushed that may name its frames. */
static int
read_profile(struct call *c, const struct session *s, struct profile **out)
{
	int64_t files;
	int rc = quota_held(&c->env->store, s->tenant, QUOTA_debug_files,
	                    &files);

	if (rc)
		return fail_store(c, rc);
	return files ? load_profile(c, s, out) : 0;
}

struct asked {
	char *host;        /* for symbolize_ask() */
	struct profile *p; /* NULL: no debug files were pushed */
};

static void
asked_done(struct asked *a)
{
	free(a->host);
	profile_free(a->p);
}

/* Returns 0 if a worker can symbolize the session, or -1 with the reply. */
static int
check(struct call *c, enum param which, struct asked *out)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = session_get(&c->env->store, c->caller.tenant,
	                     param_text(c, which), &s);

	if (rc)
		return fail_id(c, rc, which);
	if (!strcmp(s.status, SESSION_RUNNING))
		return fail(c, SessionNotCompleted);
	if (!s.has_profile)
		return fail(c, ProfileNotKept);
	return find_host(c, &s, &out->host) || read_profile(c, &s, &out->p) ? -1
	                                                                    : 0;
}

static int
ask(struct call *c, const char *id, const struct asked *a)
{
	struct store *store = &c->env->store;
	struct profile_unnamed l = {.n = 0};
	int rc = a->p ? profile_list_unnamed(a->p, &l) : 0;

	rc = rc ?: store_begin(store);
	if (rc)
		return rc;
	rc = symbolize_ask_counted(store, c->caller.tenant, id, a->host)
	             ?: debug_file_want(store, id, l.build_ids, l.n);
	return audit_end(c, rc, id, "{}");
}

int
profile_symbolize(struct call *c)
{
	static const enum param which = P_SymbolizeProfile_profileId;
	CLEANUP(asked_done) struct asked a = {0};
	int rc = check(c, which, &a);

	if (rc)
		return rc;
	rc = ask(c, param_text(c, which), &a);
	return rc ? fail_id(c, rc, which) : answer(c, which);
}

int
profile_symbolize_get(struct call *c)
{
	return answer(c, P_GetSymbolization_profileId);
}
