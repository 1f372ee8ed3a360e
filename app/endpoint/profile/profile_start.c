/*
 * POST start: checks that the capture is possible, then queues it.
 */
#include "profile_json.h"
#include "start.h"
#include "store/source.h"

#include <errno.h>
#include <string.h>

static int
find_service(struct call *c, const char *name, struct service *out)
{
	int rc = service_get(&c->env->store, c->caller.tenant, name, out);

	if (rc != -ENOENT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", name);
	return fail(c, UnknownService, name);
}

static int
check_running(struct call *c, const struct service *service, const char *host,
              int64_t ordinal)
{
	enum start_running running;
	int rc = start_running(c, service, host, ordinal, &running);

	if (rc)
		return rc;
	if (running == START_NO_SUCH_ORDINAL)
		return start_no_ordinal(c, service->name, ordinal);
	if (running == START_RUNS)
		return 0;
	detail_text(c, "service", service->name);
	if (running == START_OUT_OF_SCOPE)
		return fail(c, ScopeForbidden, "process");
	return fail_retry(c, 5, ServiceNotRunning, service->name);
}

/* Checks that processes run; an endpoint counts as a process, whether the
 * worker sees it or not. */
static int
check_target(struct call *c, const struct service *service, const char *host,
             const struct session_ask *ask)
{
	if (source_of(service, ask->type) == SOURCE_OUTSIDE)
		return check_running(c, service, host, ask->ordinal);
	return ask->ordinal <= 0
	               ? 0
	               : start_no_ordinal(c, ask->service, ask->ordinal);
}

static int
in_progress(struct call *c, const struct session_ask *ask, const char *id)
{
	CLEANUP_SESSION struct session s = {0};

	detail_text(c, "profileId", id);
	if (!session_get(&c->env->store, ask->tenant, id, &s))
		reply_retry(c, profile_retry_s(&s));
	return fail(c, ProfileInProgress, ask->type, ask->service);
}

static int
enqueue_and_answer(struct call *c, const struct session_ask *ask,
                   const char *host)
{
	CLEANUP_SESSION struct session s = {0};
	char id[ID_MAX] = "";
	int rc = start_enqueue(c, ask, host, id);

	if (rc == -EEXIST)
		return in_progress(c, ask, id);
	if (rc == -ENOENT)
		return fail(c, UnknownService, ask->service);
	if (!rc)
		rc = session_get(&c->env->store, ask->tenant, id, &s);
	if (rc)
		return fail_store(c, rc);
	reply_header(c->reply, "Location", PROFILE_PATH "%s", id);
	return profile_answer(c, &s);
}

int
profile_start(struct call *c)
{
	CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_FREE char *host = NULL;
	const json_t *given = param_json(c, P_StartProfile_labels);
	struct session_ask ask = {
		.tenant = c->caller.tenant,
		.service = param_text(c, P_StartProfile_service),
		.type = param_text(c, P_StartProfile_profileType),
		.origin = SESSION_CAPTURE,
		.ordinal = SESSION_ALL_ORDINALS,
		.seconds = param_int(c, P_StartProfile_durationSeconds),
		.rate = param_int(c, P_StartProfile_sampleRate),
		.created_by = c->caller.id,
	};
	int rc;

	if (param_given(c, P_StartProfile_ordinal))
		ask.ordinal = param_int(c, P_StartProfile_ordinal);
	if (given && json_write(given, &labels))
		return fail_store(c, buf_err(&labels));
	ask.labels = given ? buf_str(&labels) : "{}";
	if (find_service(c, ask.service, &service) ||
	    start_find_host(c, &service, &host) ||
	    start_check_type(c, ask.type, &service))
		return -1;
	rc = check_target(c, &service, host, &ask);
	if (rc)
		return rc < 0 ? -1 : 0;
	return enqueue_and_answer(c, &ask, host);
}
