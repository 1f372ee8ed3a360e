#include "start.h"

#include "audits.h"
#include "store/job.h"
#include "store/source.h"
#include "store/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int
start_running(struct call *c, const char *service, int64_t ordinal,
              enum start_running *out)
{
	CLEANUP(process_list_done) struct process_list list = {0};
	int rc = process_list(&c->env->store, c->caller.tenant, service, &list);

	if (rc)
		return fail_store(c, rc);
	if (!list.n)
		*out = START_NOTHING_RUNS;
	else if (ordinal == SESSION_ALL_ORDINALS || has_ordinal(&list, ordinal))
		*out = START_RUNS;
	else
		*out = START_NO_SUCH_ORDINAL;
	return 0;
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
