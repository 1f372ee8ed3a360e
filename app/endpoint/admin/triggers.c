/*
 * /api/v1/services/{name}/triggers: rules that start captures.
 */
#include "trigger_fields.h"

#include <errno.h>
#include <stdio.h>

static int
unknown(struct call *c, const char *id)
{
	detail_text(c, "triggerId", id);
	return fail(c, UnknownTrigger, id);
}

static bool
sees_all(const struct call *c)
{
	return c->caller.who > WHO_VIEWER;
}

static int
answer_trigger(struct call *c, const char *service, const char *id)
{
	CLEANUP_TRIGGER struct trigger t = {0};
	struct buf *out;
	int rc = trigger_get(&c->env->store, c->caller.tenant, service, id, &t);

	if (rc)
		return rc == -ENOENT ? unknown(c, id) : fail_store(c, rc);
	out = answer_json(c);
	trigger_put(out, &t, sees_all(c));
	return answer_end(c);
}

static int
answer_list(struct call *c, const struct trigger_list *l)
{
	struct buf *out = page_begin(c);

	for (size_t i = 0; i < l->n; i++) {
		json_open(out, NULL, '{');
		trigger_put(out, &l->items[i], sees_all(c));
		json_close(out, '}');
	}
	return page_end(c, l->next);
}

int
triggers_all_get(struct call *c)
{
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	struct page page = PAGE_OF(c, ListAllTriggers);
	int rc = trigger_page(&c->env->store, c->caller.tenant, page, &l);

	return rc ? page_fail(c, rc, page.cursor) : answer_list(c, &l);
}

int
triggers_get(struct call *c)
{
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	const char *service = param_text(c, P_ListTriggers_name);
	int rc;

	if (call_service(c, service, NULL))
		return -1;
	rc = trigger_list(&c->env->store, c->caller.tenant, service, &l);
	return rc ? fail_store(c, rc) : answer_list(c, &l);
}

int
trigger_one_get(struct call *c)
{
	return answer_trigger(c, param_text(c, P_GetTrigger_name),
	                      param_text(c, P_GetTrigger_triggerId));
}

/* Makes a change, and its audit line, in one transaction. */
static int
change(struct call *c, const struct trigger *t, char id[static ID_MAX])
{
	struct store *store = &c->env->store;
	int rc = store_begin(store);

	if (rc)
		return rc;
	rc = t->id ? trigger_replace(store, t) : trigger_add(store, t, id);
	return audit_end(c, rc, id, "{}");
}

static int
fail_change(struct call *c, const struct trigger *t, int rc)
{
	if (rc == -ENOENT && t->id)
		return unknown(c, t->id);
	if (rc == -EEXIST) {
		detail_text(c, "trigger", t->name);
		return fail(c, TriggerExists, t->name);
	}
	if (rc == -EDQUOT) {
		detail_int(c, "limit", TRIGGER_MAX);
		return fail(c, TooManyTriggers, t->service);
	}
	return fail_service(c, rc, t->service);
}

int
trigger_post(struct call *c)
{
	const struct trigger_rows rows = TRIGGER_ROWS(CreateTrigger);
	struct trigger t;
	char id[ID_MAX];
	int rc;

	if (trigger_read(c, &rows, &t))
		return -1;
	rc = change(c, &t, id);
	if (rc)
		return fail_change(c, &t, rc);
	reply_header(c->reply, "Location", "/api/v1/services/%s/triggers/%s",
	             t.service, id);
	return answer_trigger(c, t.service, id);
}

int
trigger_replace_put(struct call *c)
{
	const struct trigger_rows rows = TRIGGER_ROWS(ReplaceTrigger);
	const char *given = param_text(c, P_ReplaceTrigger_triggerId);
	struct trigger t;
	char id[ID_MAX];
	int rc;

	if (trigger_read(c, &rows, &t))
		return -1;
	snprintf(id, sizeof(id), "%s", given);
	t.id = id;
	rc = change(c, &t, id);
	return rc ? fail_change(c, &t, rc) : answer_trigger(c, t.service, id);
}

int
trigger_delete(struct call *c)
{
	const char *service = param_text(c, P_DeleteTrigger_name);
	const char *id = param_text(c, P_DeleteTrigger_triggerId);
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = store_begin(store);

	if (!rc)
		rc = audit_end(c, trigger_remove(store, tenant, service, id),
		               id, "{}");
	return rc ? fail_id(c, rc, P_DeleteTrigger_triggerId)
	          : answer_empty(c, c->route->status);
}
