/*
 * /v0/pipelines: samply profiles of one process of a service.
 *
 * Messages are those of the system that these paths come from, since clients
 * compare them.
 */
#include "base/clock.h"
#include "base/version.h"
#include "profile_json.h"
#include "start.h"
#include "store/job.h"
#include "store/worker.h"
#include "view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SAMPLY_RATE 1000 /* samply's default */
#define HEAP_WAIT_S 20

static int
unknown(struct call *c, const char *name)
{
	buf_clear(&c->reply->details);
	detail_text(c, "pipeline_name", name);
	return fail(c, UnknownPipelineName, name);
}

static int
find_pipeline(struct call *c, const char *name, struct service *out)
{
	int rc = service_get(&c->env->store, c->caller.tenant, name, out);

	if (rc == -ENOENT)
		return unknown(c, name);
	return rc ? fail_store(c, rc) : 0;
}

/* --- start ---------------------------------------------------------------- */

/* Finds the host where the process of that ordinal runs. */
static int
find_host(struct call *c, const struct start_ask *at, struct serving_list *out)
{
	const char *name = at->service->name;
	enum start_running running;

	if (!strcmp(at->host, START_EVERYWHERE))
		return fail_param(c, "host", "the name of a host", at->host);
	if (start_find_hosts(c, at, &running, out))
		return -1;
	if (running == START_RUNS)
		return 0;
	if (running == START_NO_SUCH_ORDINAL)
		return start_no_ordinal(c, name, at->ordinal);
	detail_text(c, "pipeline_name", name);
	return fail_retry(c, 5, PipelineUnavailable, name);
}

static int
in_progress(struct call *c, const char *id)
{
	CLEANUP_SESSION struct session s = {0};

	detail_text(c, "profileId", id);
	if (!session_get(&c->env->store, c->caller.tenant, id, &s))
		reply_retry(c, profile_retry_s(&s));
	return fail(c, SamplyProfilingInProgress);
}

static int
start(struct call *c, const struct session_ask *ask, const char *host)
{
	CLEANUP_SESSION struct session s = {0};
	char id[ID_MAX] = "";
	int rc = start_enqueue(c, ask, host, id);

	if (rc == -EEXIST)
		return in_progress(c, id);
	if (rc == -ENOENT)
		return unknown(c, ask->service);
	if (!rc)
		rc = session_get(&c->env->store, ask->tenant, id, &s);
	if (rc)
		return fail_store(c, rc);
	reply_header(c->reply, "Location", PROFILE_PATH "%s", id);
	return profile_answer(c, &s);
}

int
samply_post(struct call *c)
{
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_SERVING struct serving_list hosts = {0};
	struct session_ask ask = {
		.tenant = c->caller.tenant,
		.service = param_text(c, P_StartSamplyProfile_pipeline_name),
		.type = "cpu",
		.origin = SESSION_SAMPLY,
		.ordinal = param_int(c, P_StartSamplyProfile_ordinal),
		.seconds = param_int(c, P_StartSamplyProfile_duration_secs),
		.rate = SAMPLY_RATE,
		.labels = "{}",
		.created_by = c->caller.id,
	};
	const struct start_ask at = {
		.service = &service,
		.host = param_text(c, P_StartSamplyProfile_host),
		.ordinal = ask.ordinal,
		.outside = true,
	};

	if (find_pipeline(c, ask.service, &service) ||
	    find_host(c, &at, &hosts))
		return -1;
	return start(c, &ask, hosts.items[0].host);
}

/* --- result --------------------------------------------------------------- */

/* Names the file after the time of the profile, so that two profiles have
 * different names. */
static void
put_name(struct call *c, const struct session *s)
{
	char time[RFC3339_LEN], name[RFC3339_LEN];
	size_t n = 0;

	clock_format(s->started_ms, time);
	for (const char *p = time; *p; p++)
		if (*p != ':' && *p != '.')
			name[n++] = *p;
	name[n] = '\0';
	reply_header(c->reply, "Content-Disposition",
	             "attachment; filename=\"%s-%s-%lld-samply_profile.json.gz"
	             "\"",
	             name, s->service, (long long)s->ordinal);
}

static int
answer_profile(struct call *c, const struct session *s)
{
	const struct format *f = format_find("firefox");
	struct blob b;
	int rc = blob_of_session(&c->env->store, s->id, BLOB_PPROF, &b);

	if (rc)
		return fail_store(c, rc);
	put_name(c, s);
	if (answer_etag(c, "%.32s-samply-%s", b.checksum, stoker_version))
		return answer_empty(c, 304);
	reply_header(c->reply, "X-Profile-Id", "%s", s->id);
	c->reply->status = c->route->status;
	c->reply->content_type = "application/gzip";
	return view_gzipped(c, s, f, &b);
}

/* Fails because there is no usable profile, with the outcome of the newest run,
 * if there was one. */
static int
no_profile(struct call *c, const struct session *newest)
{
	detail_text(c, "pipeline_name",
	            param_text(c, P_GetSamplyProfile_pipeline_name));
	if (newest->id && profile_runs(newest))
		reply_retry(c, profile_retry_s(newest));
	if (!newest->id || profile_runs(newest))
		return fail(c, NoSamplyProfile);
	detail_text(c, "profileId", newest->id);
	detail_text(c, "error_code", newest->error_code);
	detail_text(c, "reason", newest->error_message);
	return fail(c, SamplyProfilingFailure);
}

int
samply_get(struct call *c)
{
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_SESSION struct session newest = {0}, good = {0};
	const char *name = param_text(c, P_GetSamplyProfile_pipeline_name);
	int64_t ordinal = param_int(c, P_GetSamplyProfile_ordinal);
	struct store *store = &c->env->store;
	int rc;

	if (find_pipeline(c, name, &service))
		return -1;
	rc = session_samply_newest(store, service.tenant, name, ordinal,
	                           &newest);
	if (rc && rc != -ENOENT)
		return fail_store(c, rc);
	if (!rc && profile_runs(&newest) &&
	    param_int(c, P_GetSamplyProfile_latest)) {
		reply_retry(c, profile_retry_s(&newest));
		return answer_empty(c, 204);
	}
	rc = session_samply_good(store, service.tenant, name, ordinal, &good);
	if (rc == -ENOENT)
		return no_profile(c, &newest);
	return rc ? fail_store(c, rc) : answer_profile(c, &good);
}

/* --- cancel --------------------------------------------------------------- */

static int
cancel(struct call *c, const char *id)
{
	struct store *store = &c->env->store;

	return store_begin(store)
	               ?: audit_end(c, job_cancel(store, c->caller.tenant, id),
	                            id, "{\"cancelled\":true}");
}

int
samply_cancel(struct call *c)
{
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_SESSION struct session s = {0};
	const char *name = param_text(c, P_CancelSamplyProfile_pipeline_name);
	int rc;

	if (find_pipeline(c, name, &service))
		return -1;
	rc = session_samply_newest(&c->env->store, service.tenant, name,
	                           param_int(c, P_CancelSamplyProfile_ordinal),
	                           &s);
	if (!rc)
		rc = profile_runs(&s) ? cancel(c, s.id) : -ENOENT;
	if (rc == -ENOENT || rc == -EALREADY) {
		detail_text(c, "pipeline_name", name);
		return fail(c, NoSamplyRun);
	}
	if (rc)
		return fail_store(c, rc);
	reply_header(c->reply, "Location", PROFILE_PATH "%s", s.id);
	return answer_empty(c, c->route->status);
}

/* --- list ----------------------------------------------------------------- */

static int
put_pipeline(struct call *c, struct buf *out, const struct service *s)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	int rc = process_list(&c->env->store, s->tenant, s->name, &l);

	if (rc)
		return rc;
	json_open(out, NULL, '{');
	json_put_text(out, "name", s->name);
	json_put_text(out, "status", l.n ? "running" : "unavailable");
	json_open(out, "ordinals", '[');
	for (size_t i = 0; i < l.n; i++)
		json_put_int(out, NULL, l.items[i].ordinal);
	json_close(out, ']');
	json_close(out, '}');
	return 0;
}

int
pipeline_list_get(struct call *c)
{
	CLEANUP_SERVICES struct service_list list = {0};
	struct page page = PAGE_OF(c, ListPipelines);
	struct buf *out;
	int rc = service_list(&c->env->store, c->caller.tenant, page, &list);

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++) {
		rc = put_pipeline(c, out, &list.items[i]);
		if (rc)
			return fail_store(c, rc);
	}
	return page_end(c, list.next);
}

/* --- memory in use -------------------------------------------------------- */

/* Starts a memory profile, or joins one that is running. */
static int
take_heap(struct call *c, const struct service *service, const char *host,
          char id[static ID_MAX])
{
	const struct session_ask ask = {
		.tenant = c->caller.tenant,
		.service = service->name,
		.type = "memory",
		.origin = SESSION_CAPTURE,
		.ordinal = param_int(c, P_GetHeapProfile_ordinal),
		.seconds = 1,
		.rate = 1,
		.labels = "{}",
		.created_by = c->caller.id,
	};
	int rc = start_enqueue(c, &ask, host, id);

	if (rc == -ENOENT)
		return unknown(c, service->name);
	return rc && rc != -EEXIST ? fail_store(c, rc) : 0;
}

static int
answer_heap(struct call *c, const struct session *s)
{
	const struct format *f = format_find(BLOB_PPROF);
	struct blob b;
	int rc;

	detail_text(c, "profileId", s->id);
	if (profile_runs(s))
		return fail_retry(c, profile_retry_s(s), SessionNotCompleted);
	rc = blob_of_session(&c->env->store, s->id, BLOB_PPROF, &b);
	if (rc == -ENOENT)
		return fail(c, SessionFailed, s->error_message);
	if (rc)
		return fail_store(c, rc);
	c->reply->status = c->route->status;
	c->reply->content_type = f->content_type;
	reply_header(c->reply, "Content-Disposition",
	             "attachment; filename=\"%s-%s.pb.gz\"", s->service, s->id);
	return view_render(c, s, f, NULL, &b);
}

int
heap_get(struct call *c)
{
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_SERVING struct serving_list hosts = {0};
	const char *name = param_text(c, P_GetHeapProfile_pipeline_name);
	const struct start_ask at = {
		.service = &service,
		.host = param_text(c, P_GetHeapProfile_host),
		.ordinal = param_int(c, P_GetHeapProfile_ordinal),
		.outside = true,
	};
	char id[ID_MAX] = "";
	int rc;

	if (find_pipeline(c, name, &service) ||
	    start_check_type(c, "memory", &service) ||
	    find_host(c, &at, &hosts) ||
	    take_heap(c, &service, hosts.items[0].host, id))
		return -1;
	rc = session_get(&c->env->store, service.tenant, id, &s);
	if (rc)
		return fail_store(c, rc);
	profile_wait(c, HEAP_WAIT_S, &s);
	return answer_heap(c, &s);
}
