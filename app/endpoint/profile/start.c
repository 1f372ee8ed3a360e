#include "start.h"

#include "base/clock.h"
#include "endpoint/call/db_watch.h"
#include "store/job.h"
#include "store/source.h"
#include "store/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How long to wait for a look, which takes a worker milliseconds unless the
 * host is very busy. */
#define LOOK_WAIT_NS INT64_C(3000000000)

int
start_check_type(struct call *c, const char *type,
                 const struct service *service)
{
	const char *missing;

	if (source_of(service, type))
		return 0;
	missing = source_missing(service, type);
	detail_text(c, "service", service->name);
	detail_text(c, "profileType", type);
	detail_text(c, "missing", missing);
	return fail(c, ProfileTypeUnsupported, type, service->name, missing);
}

int
start_find_host(struct call *c, const struct service *service, char **out)
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
read_running(struct call *c, const char *service, int64_t ordinal,
             enum start_running *out)
{
	CLEANUP(process_list_done) struct process_list list = {0};
	int rc = process_list(&c->env->store, c->caller.tenant, service, &list);

	if (rc)
		return rc;
	if (!list.n)
		*out = START_NOTHING_RUNS;
	else if (ordinal == SESSION_ALL_ORDINALS || has_ordinal(&list, ordinal))
		*out = START_RUNS;
	else
		*out = START_NO_SUCH_ORDINAL;
	return 0;
}

/* A look of a host's worker. */
struct look {
	const char *host;
	int64_t asked_ms, looked_ms;
};

/* Returns 0 when the worker has looked since, or -EAGAIN. */
static int
has_looked(struct call *c, void *arg)
{
	struct look *l = arg;
	int64_t wanted;
	int rc = worker_look(&c->env->store, l->host, &wanted, &l->looked_ms);

	return rc ? rc : l->looked_ms < l->asked_ms ? -EAGAIN : 0;
}

int
start_look(struct call *c, const char *host, int64_t *out_looked_ms)
{
	int64_t deadline = clock_mono_ns() + LOOK_WAIT_NS;
	struct look l = {.host = host};
	int rc = worker_look_ask(&c->env->store, host, &l.asked_ms)
	                 ?: db_watch_until(c, has_looked, &l, deadline);

	if (!rc)
		*out_looked_ms = l.looked_ms;
	return rc;
}

static void
tell_match(struct call *c, const struct service *service, int64_t looked_ms)
{
	CLEANUP_BUF struct buf match = BUF_INIT(BUF_MAX_SMALL);
	char time[RFC3339_LEN];

	if (*service->match_kind)
		buf_addf(&match, "%s=%s", service->match_kind,
		         service->match_value);
	detail_text(c, "match", buf_str(&match));
	clock_format(looked_ms, time);
	detail_text(c, "lookedAt", time);
}

/* Checks, when no process is known, whether matching ones are outside of the
 * scope. */
static int
read_refused(struct call *c, const char *service, enum start_running *out)
{
	CLEANUP_TREES struct process_tree_list list = {0};
	int64_t refused = 0;
	int rc = process_tree_list(&c->env->store, c->caller.tenant, service,
	                           &list);

	for (size_t i = 0; i < list.n; i++)
		refused += list.items[i].refused;
	if (rc || !refused)
		return rc;
	detail_int(c, "matchesOutOfScope", refused);
	*out = START_OUT_OF_SCOPE;
	return 0;
}

int
start_running(struct call *c, const struct service *service, const char *host,
              int64_t ordinal, enum start_running *out)
{
	int64_t looked_ms = 0;
	int rc = read_running(c, service->name, ordinal, out);

	if (rc)
		return fail_store(c, rc);
	if (*out == START_RUNS)
		return 0;
	call_pause(c); /* the worker could not answer while this one writes */
	rc = start_look(c, host, &looked_ms);
	if (!rc)
		rc = read_running(c, service->name, ordinal, out);
	if (!rc && *out == START_NOTHING_RUNS)
		rc = read_refused(c, service->name, out);
	if (rc == -ETIMEDOUT || rc == -ECANCELED)
		*out = START_RUNS;
	else if (rc)
		return fail_store(c, rc);
	else if (*out != START_RUNS)
		tell_match(c, service, looked_ms);
	return call_begin(c);
}

int
start_no_ordinal(struct call *c, const char *service, int64_t ordinal)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)ordinal);
	detail_text(c, "service", service);
	detail_int(c, "ordinal", ordinal);
	return fail(c, UnknownOrdinal, text);
}

int
start_enqueue(struct call *c, const struct session_ask *ask, const char *host,
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
