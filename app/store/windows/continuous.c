#include "store/continuous.h"

#include "base/json_out.h"
#include "store/db/row.h"

#include <errno.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(continuous, tenant),
	ROW_FIELD(continuous, service),
	ROW_FIELD(continuous, types),
	ROW_FIELD(continuous, created_by),
	ROW_FIELD(continuous, sample_rate),
	ROW_FIELD(continuous, retention_days),
	ROW_FIELD(continuous, enabled),
	ROW_FIELD(continuous, created_ms),
	ROW_FIELD(continuous, updated_ms),
};
static const struct row_type type = ROW_TYPE(continuous, fields);

ROW_DONE(continuous, type)
ROW_LIST_DONE(continuous_list, type)

bool
continuous_has_type(const struct continuous *c, const char *name)
{
	CLEANUP_JSON json_t *types = json_loads(c->types, 0, NULL);
	size_t i;
	json_t *v;

	json_array_foreach(types, i, v)
		if (json_is_string(v) && !strcmp(json_string_value(v), name))
			return true;
	return false;
}

int
continuous_put(struct store *s, const struct continuous *c)
{
	return db_change(s->db, -ENOENT, SQL_CONTINUOUS_PUT,
	                 ARGS(V(c->types), V(c->sample_rate),
	                      V(c->retention_days), V(c->enabled),
	                      V(c->created_by), V(c->tenant), V(c->service)));
}

int
continuous_get(struct store *s, const char *tenant, const char *service,
               struct continuous *out)
{
	return row_one(s->db, &type, out, SQL_CONTINUOUS_GET,
	               ARGS(V(tenant), V(service)));
}

int
continuous_list(struct store *s, const char *tenant,
                struct continuous_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_CONTINUOUS_LIST,
	                ARGS(V(tenant)));
}

int
continuous_delete(struct store *s, const char *tenant, const char *service)
{
	return db_change(s->db, -ENOENT, SQL_CONTINUOUS_DELETE,
	                 ARGS(V(tenant), V(service)));
}

/* --- the state of a host -------------------------------------------------- */

static const char *const host_states[] = {
#define HOST_STATE(id, name) [CONTINUOUS_HOST_##id] = name,
#include "store/continuous_host.def"
};

const char *
continuous_host_state_name(enum continuous_host_state state)
{
	return host_states[state];
}

void
continuous_host_put(const struct continuous_host *h, struct buf *out)
{
	json_put_text(out, "state", host_states[h->state]);
#define HOST_FIGURE(member, key, metric, kind, meaning) \
	json_put_int(out, #key, h->member);
#include "store/continuous_host.def"
}

void
continuous_host_read(const json_t *j, struct continuous_host *out)
{
	const char *state = json_string_value(json_object_get(j, "state"));

	*out = (struct continuous_host){0};
	for (size_t i = 0; i < CONTINUOUS_HOST_STATES && state; i++)
		if (!strcmp(host_states[i], state))
			out->state = i;
#define HOST_FIGURE(member, key, metric, kind, meaning) \
	out->member = json_integer_value(json_object_get(j, #key));
#include "store/continuous_host.def"
}

/* --- problems ------------------------------------------------------------- */

static const struct row_field problem_fields[] = {
	ROW_FIELD(continuous_problem, tenant),
	ROW_FIELD(continuous_problem, service),
	ROW_FIELD(continuous_problem, type),
	ROW_FIELD(continuous_problem, host),
	ROW_FIELD(continuous_problem, code),
	ROW_FIELD(continuous_problem, message),
	ROW_FIELD(continuous_problem, since_ms),
};
static const struct row_type problem_type =
	ROW_TYPE(continuous_problem, problem_fields);

ROW_LIST_DONE(continuous_problem_list, problem_type)

int
continuous_problem_list(struct store *s, const char *tenant,
                        const char *service,
                        struct continuous_problem_list *out)
{
	return ROW_LIST(s->db, &problem_type, out, SQL_PROBLEM_LIST,
	                ARGS(V(tenant), V(service)));
}

int
continuous_problem_put(struct store *s, const struct continuous_problem *p)
{
	if (!*p->code)
		return db_do(s->db, SQL_PROBLEM_CLEAR,
		             ARGS(V(p->tenant), V(p->service), V(p->type),
		                  V(p->host)));
	return db_change(s->db, -ENOENT, SQL_PROBLEM_PUT,
	                 ARGS(V(p->type), V(p->host), V(p->code), V(p->message),
	                      V(p->tenant), V(p->service)));
}

int
continuous_problem_forget(struct store *s, const char *host)
{
	return db_do(s->db, SQL_PROBLEM_CLEAR_HOST, ARGS(V(host)));
}
