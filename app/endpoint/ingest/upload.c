/*
 * POST of a profile that another tool took.
 */
#include "base/clock.h"
#include "endpoint/profile/profile_json.h"
#include "store_upload.h"

#include <errno.h>
#include <string.h>

/* Warns if ranges may leave the profile out. */
static void
warn_unfit(struct call *c, const struct profile *p, const struct type *type)
{
	uint32_t at = profile_type_index(p, NULL);
	const char *unit = profile_text(p, p->types[at].unit);

	if (strcmp(unit, type->unit) != 0)
		warn_client(c,
		            "the file has samples, but no %s/%s values: ranges "
		            "with profiles that have both leave it out, unless "
		            "sampleRate says the rate (stoker upload --rate)",
		            type->sample, type->unit);
}

static int
answer(struct call *c, const char *id)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = session_get(&c->env->store, c->caller.tenant, id, &s);

	if (rc)
		return fail_store(c, rc);
	reply_header(c->reply, "Location", PROFILE_PATH "%s", id);
	return profile_answer(c, &s);
}

/* The profile of a file. */
struct uploaded {
	struct profile *p;
	const struct input *format;
	const struct type *type;
};

static void
uploaded_done(struct uploaded *u)
{
	profile_free(u->p);
}

static int
take(void *arg, const struct importer_part *of, struct profile **made)
{
	struct uploaded *u = arg;

	if (u->p)
		return -EOWNERDEAD; /* a file has one */
	*u = (struct uploaded){TAKE(*made), of->format, of->type};
	return 0;
}

int
session_post(struct call *c)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP(uploaded_done) struct uploaded u = {0};
	const struct part file = {c->req->body, c->req->body_len};
	struct import_ask ask = {
		.type = param_text(c, P_CreateSession_type),
		.format = param_text(c, P_CreateSession_format),
		.content_type = c->req->content_type,
		.event = param_text(c, P_CreateSession_event),
		.rate = (double)param_int(c, P_CreateSession_sampleRate),
		.limits = taken_limits(c),
	};
	struct taken t = {
		.service = param_text(c, P_CreateSession_service),
		.rate = ask.rate,
		.duration_ms = param_int(c, P_CreateSession_durationSeconds) *
	                       MS_PER_S,
	};
	char id[ID_MAX];
	int rc;

	if (call_service(c, t.service, NULL)) /* before the profile is read */
		return -1;
	rc = taken_read(c, IMPORTER_FILE, &ask, &file, take, &u, &why);
	if (!rc && !u.p)
		rc = -EOWNERDEAD;
	if (rc)
		return taken_refuse(c, rc, buf_str(&why));
	t.format = u.format->name;
	t.notes = buf_str(&why);
	t.type = u.type->name;
	if (taken_store(c, &t, u.p, id))
		return -1;
	warn_unfit(c, u.p, u.type);
	return answer(c, id);
}
