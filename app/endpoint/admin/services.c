/* /api/v1/services, the paths below it, and /api/v1/workers. */
#include "collectors.h"
#include "endpoint/profile/start.h"
#include "lacks.h"
#include "service_fields.h"
#include "store/worker.h"

#include <errno.h>

#define SERVICES_PATH "/api/v1/services/"

/* Answers with the stored service. */
static int
answer_service(struct call *c, const char *name)
{
	CLEANUP_SERVICE struct service s = {0};
	CLEANUP_LACKS struct lacks lacks = {0};
	CLEANUP_JSON json_t *problems = NULL;
	struct store *store = &c->env->store;
	struct buf *out;
	int rc;

	if (call_service(c, name, &s))
		return -1;
	rc = lacks_read(store, c->caller.tenant, &lacks)
	             ?: collectors_problems(&lacks.workers, &problems);
	if (rc)
		return fail_store(c, rc);
	out = answer_json(c);
	service_put(out, &s, c->caller.who > WHO_VIEWER);
	collectors_put(problems, &s, out);
	lacks_put(&lacks, &s, out);
	return answer_end(c);
}

int
service_list_get(struct call *c)
{
	CLEANUP_SERVICES struct service_list list = {0};
	CLEANUP_LACKS struct lacks lacks = {0};
	CLEANUP_JSON json_t *problems = NULL;
	struct page page = PAGE_OF(c, ListServices);
	struct store *store = &c->env->store;
	struct buf *out;
	int rc = service_list(store, c->caller.tenant, page, &list);

	if (rc)
		return page_fail(c, rc, page.cursor);
	rc = lacks_read(store, c->caller.tenant, &lacks)
	             ?: collectors_problems(&lacks.workers, &problems);
	if (rc)
		return fail_store(c, rc);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++) {
		json_open(out, NULL, '{');
		service_put(out, &list.items[i], c->caller.who > WHO_VIEWER);
		collectors_put(problems, &list.items[i], out);
		lacks_put(&lacks, &list.items[i], out);
		json_close(out, '}');
	}
	return page_end(c, list.next);
}

int
service_one_get(struct call *c)
{
	return answer_service(c, param_text(c, P_GetService_name));
}

int
service_contents_get(struct call *c)
{
	const char *name = param_text(c, P_GetServiceContents_name);
	struct store *store = &c->env->store;
	struct service_contents held;
	struct buf *out;
	int rc;

	if (call_service(c, name, NULL))
		return -1;
	rc = service_contents(store, c->caller.tenant, name, &held);
	if (rc)
		return fail_store(c, rc);
	out = answer_json(c);
	json_put_text(out, "service", name);
	json_put_int(out, "sessions", held.sessions);
	json_put_int(out, "windows", held.windows);
	json_put_int(out, "baselines", held.baselines);
	json_put_int(out, "triggers", held.triggers);
	json_put_int(out, "bytes", held.bytes);
	return answer_end(c);
}

/* Makes a change to a service, and its audit line, in one transaction. */
static int
change(struct call *c, const char *name, const struct service *s,
       int (*write)(struct store *, const struct service *))
{
	struct store *store = &c->env->store;
	int rc = store_begin(store);

	if (rc)
		return rc;
	rc = write ? write(store, s)
	           : service_delete(store, c->caller.tenant, name);
	return audit_end(c, rc, name, "{}");
}

int
service_post(struct call *c)
{
	CLEANUP_SERVICE struct service s = {0};
	const struct service_rows rows = SERVICE_ROWS(CreateService);
	const char *name = param_text(c, P_CreateService_name);
	int rc;

	if (service_read(c, name, &rows, &s))
		return -1;
	rc = change(c, name, &s, service_add);
	if (rc == -EEXIST) {
		detail_text(c, "service", name);
		return fail(c, ServiceExists, name);
	}
	if (rc)
		return fail_store(c, rc);
	reply_header(c->reply, "Location", SERVICES_PATH "%s", name);
	return answer_service(c, name);
}

int
service_replace_put(struct call *c)
{
	CLEANUP_SERVICE struct service s = {0};
	const struct service_rows rows = SERVICE_ROWS(ReplaceService);
	const char *name = param_text(c, P_ReplaceService_name);
	int rc;

	if (service_read(c, name, &rows, &s))
		return -1;
	rc = change(c, name, &s, service_replace);
	if (rc)
		return fail_service(c, rc, name);
	return answer_service(c, name);
}

int
service_remove(struct call *c)
{
	const char *name = param_text(c, P_DeleteService_name);
	int rc = change(c, name, NULL, NULL);

	if (rc)
		return fail_service(c, rc, name);
	return answer_empty(c, c->route->status);
}

static void
put_process(struct buf *out, const struct worker_process *p, bool whole)
{
	json_open(out, NULL, '{');
	json_put_int(out, "ordinal", p->ordinal);
	json_put_text(out, "host", p->host);
	json_put_int(out, "pid", p->pid);
	json_put_text(out, "command", whole ? p->cmdline : p->argv0);
	if (whole) {
		json_put_text(out, "bootId", p->boot_id);
		json_put_int(out, "startTime", p->start_time);
	}
	json_put_time(out, "seenAt", p->seen_ms);
	json_close(out, '}');
}

static void
put_trees(struct buf *out, const struct process_tree_list *trees)
{
	json_open(out, "captured", '[');
	for (size_t i = 0; i < trees->n; i++) {
		const struct process_tree *t = &trees->items[i];

		json_open(out, NULL, '{');
		json_put_text(out, "host", t->host);
		json_put_int(out, "processes", t->followed);
		json_put_int(out, "descendantsOtherUnit", t->other_unit);
		json_put_int(out, "descendantsOutOfScope", t->out_of_scope);
		json_put_int(out, "processesTooMany", t->too_many);
		json_put_int(out, "matchesOutOfScope", t->refused);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Processes of a service, and the processes that its captures include. */
struct running {
	struct process_list list;
	struct process_tree_list trees;
	int64_t looked_ms; /* 0: no worker looked on request */
};

static void
running_done(struct running *r)
{
	process_list_done(&r->list);
	process_tree_list_done(&r->trees);
}

static int
read_running(struct call *c, const char *service, struct running *r)
{
	struct store *store = &c->env->store;

	running_done(r);
	return process_list(store, c->caller.tenant, service, &r->list)
	               ?: process_tree_list(store, c->caller.tenant, service,
	                                    &r->trees);
}

/* Asks the workers to look again: they may not have looked since the service
 * was created. */
static int
look_again(struct call *c, const struct service *s, struct running *r)
{
	CLEANUP_SERVING struct serving_list hosts = {0};
	int rc = worker_serving(&c->env->store, c->caller.tenant, s->name,
	                        SESSION_ALL_ORDINALS, s->host, START_HOSTS_MAX,
	                        &hosts);

	if (rc || !hosts.n)
		return rc;
	rc = start_look(c, &hosts, &r->looked_ms)
	             ?: read_running(c, s->name, r);
	return rc == -ETIMEDOUT || rc == -ECANCELED ? 0 : rc;
}

int
processes_get(struct call *c)
{
	CLEANUP_SERVICE struct service s = {0};
	CLEANUP(running_done) struct running r = {0};
	const char *name = param_text(c, P_ListProcesses_name);
	bool operates = c->caller.who > WHO_VIEWER;
	struct buf *out;
	int rc;

	if (call_service(c, name, &s))
		return -1;
	rc = read_running(c, name, &r);
	if (!rc &&
	    (!r.list.n || (operates && param_int(c, P_ListProcesses_look))))
		rc = look_again(c, &s, &r);
	if (rc)
		return fail_store(c, rc);
	out = answer_json(c);
	json_put_time_or_null(out, "lookedAt", r.looked_ms);
	put_trees(out, &r.trees);
	json_open(out, "items", '[');
	for (size_t i = 0; i < r.list.n; i++)
		put_process(out, &r.list.items[i], operates);
	return page_end(c, NULL);
}
