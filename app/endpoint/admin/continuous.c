/*
 * /continuous: services that are profiled all the time.
 */
#include "store/continuous.h"
#include "base/ways.h"

#include "continuous_state.h"
#include "endpoint/profile/start.h"
#include "profile/types.h"

#include <stdio.h>
#include <string.h>

#define TYPE_LIST 256

/* Writes the members of a row. Returns -errno when the store failed. */
static int
put_continuous(struct call *c, const struct continuous_view *view,
               const struct continuous *v, struct buf *out)
{
	json_put_text(out, "service", v->service);
	json_put_raw(out, "profileTypes", v->types, "[]");
	json_put_int(out, "sampleRate", v->sample_rate);
	json_put_int(out, "retentionDays", v->retention_days);
	json_put_bool(out, "enabled", v->enabled);
	json_put_time(out, "createdAt", v->created_ms);
	json_put_time(out, "updatedAt", v->updated_ms);
	return continuous_view_put(&c->env->store, view, v, out);
}

static int
answer_continuous(struct call *c, const char *service)
{
	CLEANUP_CONTINUOUS struct continuous v = {0};
	CLEANUP_CONTINUOUS_VIEW struct continuous_view view = {0};
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = continuous_get(store, tenant, service, &v)
	                 ?: continuous_view(store, tenant, service, &view);

	if (!rc)
		rc = put_continuous(c, &view, &v, answer_json(c));
	return rc ? fail_service(c, rc, service) : answer_end(c);
}

static bool
has_type(const json_t *list, size_t before, const char *type)
{
	for (size_t i = 0; i < before; i++)
		if (!strcmp(json_string_value(json_array_get(list, i)), type))
			return true;
	return false;
}

static const char *
type_list(char out[static TYPE_LIST])
{
	size_t n = (size_t)snprintf(out, TYPE_LIST, "a list of ");

	for (size_t i = 0; i < profile_ntypes && n < TYPE_LIST; i++)
		if (ways_exist(profile_types[i].name))
			n += (size_t)snprintf(out + n, TYPE_LIST - n, "%s%s",
			                      i ? ", " : "",
			                      profile_types[i].name);
	return out;
}

/* Reads the types as a JSON array, each once. */
static int
read_types(struct call *c, struct buf *out)
{
	const json_t *list = param_json(c, P_SetContinuous_profileTypes);
	char words[TYPE_LIST];
	size_t i;
	json_t *v;

	json_open(out, NULL, '[');
	if (!list)
		json_put_text(out, NULL, "cpu");
	json_array_foreach(list, i, v) {
		const char *type = json_string_value(v);

		if (!ways_exist(type))
			return fail_param(c, "profileTypes", type_list(words),
			                  type);
		if (!has_type(list, i, type))
			json_put_text(out, NULL, type);
	}
	json_close(out, ']');
	return buf_err(out) ? fail_store(c, buf_err(out)) : 0;
}

/* Checks that the service's settings allow each type. */
static int
check_types(struct call *c, const struct continuous *v)
{
	CLEANUP_SERVICE struct service s = {0};
	CLEANUP_JSON json_t *types = json_loads(v->types, 0, NULL);
	size_t i;
	json_t *type;

	if (call_service(c, v->service, &s))
		return -1;
	json_array_foreach(types, i, type)
		if (start_check_type(c, json_string_value(type), &s))
			return -1;
	return 0;
}

static int
put(struct call *c, const struct continuous *v)
{
	CLEANUP_BUF struct buf detail = BUF_INIT(BUF_MAX_SMALL);
	struct store *store = &c->env->store;

	json_open(&detail, NULL, '{');
	json_put_raw(&detail, "profileTypes", v->types, "[]");
	json_put_bool(&detail, "enabled", v->enabled);
	json_close(&detail, '}');
	return store_begin(store)
	               ?: audit_end(c, continuous_put(store, v), v->service,
	                            buf_str(&detail));
}

int
continuous_post(struct call *c)
{
	CLEANUP_BUF struct buf types = BUF_INIT(1024);
	CLEANUP_FREE char *json = NULL;
	const char *service = param_text(c, P_SetContinuous_service);
	struct continuous v = {
		.tenant = c->caller.tenant,
		.service = (char *)service,
		.created_by = c->caller.id,
		.sample_rate = param_int(c, P_SetContinuous_sampleRate),
		.retention_days = param_int(c, P_SetContinuous_retentionDays),
		.enabled = !param_given(c, P_SetContinuous_enabled) ||
	                   param_int(c, P_SetContinuous_enabled),
	};
	int rc;

	if (read_types(c, &types))
		return -1;
	rc = buf_take(&types, &json, NULL);
	v.types = json;
	if (!rc && v.enabled && check_types(c, &v))
		return -1;
	if (!rc)
		rc = put(c, &v);
	return rc ? fail_service(c, rc, service)
	          : answer_continuous(c, service);
}

int
continuous_list_get(struct call *c)
{
	CLEANUP_CONTINUOUS_LIST struct continuous_list l = {0};
	CLEANUP_CONTINUOUS_VIEW struct continuous_view view = {0};
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	struct buf *out;
	int rc = continuous_list(store, tenant, &l)
	                 ?: continuous_view(store, tenant, "", &view);

	if (rc)
		return fail_store(c, rc);
	out = page_begin(c);
	for (size_t i = 0; i < l.n && !rc; i++) {
		json_open(out, NULL, '{');
		rc = put_continuous(c, &view, &l.items[i], out);
		json_close(out, '}');
	}
	return rc ? fail_store(c, rc) : page_end(c, NULL);
}

int
continuous_one_get(struct call *c)
{
	return answer_continuous(c, param_text(c, P_GetContinuous_service));
}

int
continuous_remove(struct call *c)
{
	const char *service = param_text(c, P_DeleteContinuous_service);
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = store_begin(store);

	if (!rc)
		rc = audit_end(c, continuous_delete(store, tenant, service),
		               service, "{}");
	return rc ? fail_service(c, rc, service)
	          : answer_empty(c, c->route->status);
}
