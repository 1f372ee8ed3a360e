/*
 * POST start: checks that the capture is possible, then queues it.
 */
#include "profile_json.h"
#include "start.h"
#include "store/source.h"

#include <errno.h>
#include <string.h>

/* Finds the hosts of the capture. An endpoint has ordinal 0 or none. */
static int
find_hosts(struct call *c, const struct start_ask *at, struct serving_list *out)
{
	const char *service = at->service->name;
	enum start_running running;

	if (!at->outside && at->ordinal > 0)
		return start_no_ordinal(c, service, at->ordinal);
	if (start_find_hosts(c, at, &running, out))
		return -1;
	if (running == START_RUNS)
		return 0;
	if (running == START_NO_SUCH_ORDINAL)
		return start_no_ordinal(c, service, at->ordinal);
	detail_text(c, "service", service);
	if (running == START_OUT_OF_SCOPE)
		return fail(c, ScopeForbidden, "process");
	return fail_retry(c, 5, ServiceNotRunning, service);
}

static int
in_progress(struct call *c, const struct session_ask *ask, const char *id)
{
	CLEANUP_SESSION struct session s = {0};

	detail_text(c, "profileId", id);
	if (!session_get(&c->env->store, ask->tenant, id, &s)) {
		detail_text(c, "host", s.host);
		reply_retry(c, profile_retry_s(&s));
	}
	return fail(c, ProfileInProgress, ask->type, ask->service);
}

/* Queues a capture on each host, or none. */
static int
enqueue_all(struct call *c, const struct session_ask *ask,
            const struct serving_list *hosts, struct profile_started *out)
{
	struct store *store = &c->env->store;
	int rc = store_begin(store);

	if (rc)
		return rc;
	for (size_t i = 0; i < hosts->n && !rc; i++) {
		out[i].host = hosts->items[i].host;
		rc = start_enqueue(c, ask, out[i].host, out[i].id);
		if (rc == -EEXIST) /* that capture comes first in the list */
			memmove(out[0].id, out[i].id, ID_MAX);
	}
	return store_end(store, rc);
}

static int
enqueue_and_answer(struct call *c, const struct session_ask *ask,
                   const struct serving_list *hosts)
{
	struct profile_started started[START_HOSTS_MAX] = {0};
	CLEANUP_SESSION struct session s = {0};
	int rc = enqueue_all(c, ask, hosts, started);

	if (rc == -EEXIST)
		return in_progress(c, ask, started[0].id);
	if (rc == -ENOENT)
		return fail(c, UnknownService, ask->service);
	if (!rc)
		rc = session_get(&c->env->store, ask->tenant, started[0].id,
		                 &s);
	if (rc)
		return fail_store(c, rc);
	reply_header(c->reply, "Location", PROFILE_PATH "%s", started[0].id);
	return profile_answer_start(c, &s, started, hosts->n);
}

int
profile_start(struct call *c)
{
	CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_SERVING struct serving_list hosts = {0};
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
	struct start_ask at = {
		.service = &service,
		.host = param_text(c, P_StartProfile_host),
	};

	if (param_given(c, P_StartProfile_ordinal))
		ask.ordinal = param_int(c, P_StartProfile_ordinal);
	if (given && json_write(given, &labels))
		return fail_store(c, buf_err(&labels));
	ask.labels = given ? buf_str(&labels) : "{}";
	if (call_service(c, ask.service, &service) ||
	    start_check_type(c, ask.type, &service))
		return -1;
	at.ordinal = ask.ordinal;
	at.outside = source_of(&service, ask.type) == SOURCE_OUTSIDE;
	if (find_hosts(c, &at, &hosts))
		return -1;
	return enqueue_and_answer(c, &ask, &hosts);
}
