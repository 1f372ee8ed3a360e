/* POST start: checks that the capture can be taken, then queues it. */
#include "audits.h"
#include "profile_json.h"
#include "store/job.h"
#include "store/service.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

/* What a type needs that no engine offers, for services of some kind or of
 * all (""); the engines of this release take the others. */
static const struct {
	const char *type, *kind, *needs;
} unsupported[] = {
	{"memory", "", "a reader of allocations"},
	{"alloc", "", "a reader of allocations"},
	{"block", "", "a tracer of blocking"},
	{"mutex", "", "a tracer of locks"},
	{"goroutine", "go", "a reader of the Go runtime"},
};

static int
check_type(struct call *c, const char *type, const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
		if (strcmp(unsupported[i].type, type) ||
		    (*unsupported[i].kind && strcmp(unsupported[i].kind, kind)))
			continue;
		detail_text(c, "profileType", type);
		detail_text(c, "missing", unsupported[i].needs);
		return fail(c, ProfileTypeUnsupported, type,
		            unsupported[i].needs);
	}
	return 0;
}

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
find_host(struct call *c, const struct service *service, char **out)
{
	int rc = worker_for(&c->env->store, service->host, out);

	if (rc != -EHOSTDOWN && rc != -ENOTUNIQ)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", service->name);
	detail_text(c, "host", service->host);
	detail_text(c, "reason",
	            rc == -EHOSTDOWN
	                    ? "no worker of that host is alive"
	                    : "several workers are alive: the service must "
	                      "name its host");
	return fail_retry(c, 5, WorkerUnavailable, service->name);
}

static bool
has_ordinal(const struct process_list *list, int64_t ordinal)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].ordinal == ordinal)
			return true;
	return false;
}

static int
check_running(struct call *c, const char *name, int64_t ordinal)
{
	CLEANUP(process_list_done) struct process_list list = {0};
	char text[24];
	int rc = process_list(&c->env->store, c->caller.tenant, name, &list);

	if (rc)
		return fail_store(c, rc);
	if (list.n == 0) {
		detail_text(c, "service", name);
		return fail_retry(c, 5, ServiceNotRunning, name);
	}
	if (ordinal == SESSION_ALL_ORDINALS || has_ordinal(&list, ordinal))
		return 0;
	snprintf(text, sizeof(text), "%lld", (long long)ordinal);
	detail_text(c, "service", name);
	detail_int(c, "ordinal", ordinal);
	return fail(c, UnknownOrdinal, text);
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
enqueue(struct call *c, const struct session_ask *ask, const char *host,
        char id[static ID_MAX])
{
	CLEANUP_BUF struct buf detail = BUF_INIT(1024);
	struct store *store = &c->env->store;
	int rc = store_begin(store);

	if (rc)
		return rc;
	json_open(&detail, NULL, '{');
	json_put_text(&detail, "service", ask->service);
	json_put_text(&detail, "profileType", ask->type);
	json_put_int(&detail, "durationSeconds", ask->seconds);
	json_close(&detail, '}');
	rc = job_enqueue(store, ask, host, id);
	if (!rc)
		rc = audit_note(c, id, buf_str(&detail));
	return store_end(store, rc);
}

static int
enqueue_and_answer(struct call *c, const struct session_ask *ask,
                   const char *host)
{
	CLEANUP_SESSION struct session s = {0};
	char id[ID_MAX] = "";
	int rc = enqueue(c, ask, host, id);

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

	if (param_given(c, P_StartProfile_ordinal))
		ask.ordinal = param_int(c, P_StartProfile_ordinal);
	if (given && json_write(given, &labels))
		return fail_store(c, buf_err(&labels));
	ask.labels = given ? buf_str(&labels) : "{}";
	if (find_service(c, ask.service, &service) ||
	    find_host(c, &service, &host) ||
	    check_type(c, ask.type, service.kind) ||
	    check_running(c, ask.service, ask.ordinal))
		return -1;
	return enqueue_and_answer(c, &ask, host);
}
