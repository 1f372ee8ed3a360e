/*
 * POST of a profile that another tool took.
 */
#include "base/clock.h"
#include "endpoint/profile/profile_json.h"
#include "store/service.h"
#include "store_upload.h"

#include <errno.h>

/* Checks the service before the profile is read. */
static int
check_service(struct call *c, const char *name)
{
	CLEANUP_SERVICE struct service s = {0};
	int rc = service_get(&c->env->store, c->caller.tenant, name, &s);

	if (rc != -ENOENT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", name);
	return fail(c, UnknownService, name);
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

int
session_post(struct call *c)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *format;
	struct import_ask ask = {
		.type = param_text(c, P_CreateSession_type),
		.content_type = c->req->content_type,
		.event = param_text(c, P_CreateSession_event),
		.rate = (double)param_int(c, P_CreateSession_sampleRate),
		.limits = taken_limits(c->env->conf),
	};
	struct taken t = {
		.service = param_text(c, P_CreateSession_service),
		.type = ask.type,
		.rate = ask.rate,
		.duration_ms = param_int(c, P_CreateSession_durationSeconds) *
	                       MS_PER_S,
	};
	char id[ID_MAX];
	int rc;

	if (check_service(c, t.service))
		return -1;
	rc = profile_import(c->req->body, c->req->body_len, &ask, &p, &format,
	                    &why);
	if (rc)
		return taken_refuse(c, rc, buf_str(&why));
	t.format = format->name;
	t.notes = buf_str(&why);
	return taken_store(c, &t, p, id) ? -1 : answer(c, id);
}
