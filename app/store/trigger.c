#include "store/trigger.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "store/audit.h"
#include "store/db/cursor.h"
#include "store/db/row.h"
#include "store/job.h"
#include "store/quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
#define TRIGGER(kind, text, number, lowest, highest, count, doc) #kind,
#include "triggers.def"
#undef TRIGGER
};

static const struct row_field fields[] = {
	ROW_FIELD(trigger, id),          ROW_FIELD(trigger, tenant),
	ROW_FIELD(trigger, service),     ROW_FIELD(trigger, name),
	ROW_FIELD(trigger, kind),        ROW_FIELD(trigger, function),
	ROW_FIELD(trigger, threshold),   ROW_FIELD(trigger, minimum),
	ROW_FIELD(trigger, type),        ROW_FIELD(trigger, seconds),
	ROW_FIELD(trigger, rate),        ROW_FIELD(trigger, webhook),
	ROW_FIELD(trigger, cooldown_ms), ROW_FIELD(trigger, enabled),
	ROW_FIELD(trigger, created_by),  ROW_FIELD(trigger, created_ms),
	ROW_FIELD(trigger, updated_ms),  ROW_FIELD(trigger, value),
	ROW_FIELD(trigger, value_ms),    ROW_FIELD(trigger, fired_ms),
	ROW_FIELD(trigger, session),     ROW_FIELD(trigger, sent),
};
static const struct row_type type = ROW_TYPE(trigger, fields);

const char *
trigger_kind_name(enum trigger_kind kind)
{
	return kinds[kind];
}

enum trigger_kind
trigger_kind_of(const char *name)
{
	enum trigger_kind k = 0;

	while (k < TRIGGER_KINDS && strcmp(kinds[k], name) != 0)
		k++;
	return k;
}

ROW_DONE(trigger, type)
ROW_PAGE_DONE(trigger_list, type)

/* --- rules ---------------------------------------------------------------- */

static int
check_number(struct store *s, const struct trigger *t)
{
	int64_t n;
	int rc = row_int(s->db, &n, SQL_TRIGGER_COUNT,
	                 ARGS(V(t->tenant), V(t->service)));

	return rc ? rc : n < TRIGGER_MAX ? 0 : -EDQUOT;
}

static int
add(struct store *s, const struct trigger *t, const char *id)
{
	int rc = check_number(s, t);

	if (!rc)
		rc = db_change(
			s->db, -ENOENT, SQL_TRIGGER_INSERT,
			ARGS(V(id), V(t->name), V(t->kind), V(t->function),
		             V(t->threshold), V(t->minimum), V(t->type),
		             V(t->seconds), V(t->rate), V(t->webhook),
		             V(t->cooldown_ms), V(t->enabled), V(t->created_by),
		             V(t->tenant), V(t->service)));
	return rc ? rc : quota_check(s, t->tenant, QUOTA_triggers, 1);
}

int
trigger_add(struct store *s, const struct trigger *t, char out[static ID_MAX])
{
	char id[ID_MAX];
	int rc = store_begin(s);

	if (rc)
		return rc;
	id_new(TRIGGER_PREFIX, id);
	rc = store_end(s, add(s, t, id));
	if (!rc)
		memcpy(out, id, ID_MAX);
	return rc;
}

int
trigger_replace(struct store *s, const struct trigger *t)
{
	return db_change(
		s->db, -ENOENT, SQL_TRIGGER_UPDATE,
		ARGS(V(t->name), V(t->kind), V(t->function), V(t->threshold),
	             V(t->minimum), V(t->type), V(t->seconds), V(t->rate),
	             V(t->webhook), V(t->cooldown_ms), V(t->enabled),
	             V(t->created_by), V(t->tenant), V(t->service), V(t->id)));
}

int
trigger_get(struct store *s, const char *tenant, const char *service,
            const char *id, struct trigger *out)
{
	return row_one(s->db, &type, out, SQL_TRIGGER_GET,
	               ARGS(V(tenant), V(service), V(id)));
}

int
trigger_list(struct store *s, const char *tenant, const char *service,
             struct trigger_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_TRIGGER_LIST,
	                ARGS(V(tenant), V(service)));
}

/* Splits a cursor, which is SERVICE/NAME. */
static int
split_cursor(const char *cursor, char service[static STORE_NAME_MAX],
             const char **name)
{
	const char *slash = strchr(cursor, '/');
	size_t n = slash ? (size_t)(slash - cursor) : 0;

	if (*cursor && (!n || n >= STORE_NAME_MAX))
		return -EINVAL;
	memcpy(service, cursor, n);
	service[n] = '\0';
	*name = slash ? slash + 1 : "";
	return 0;
}

int
trigger_page(struct store *s, const char *tenant, struct page page,
             struct trigger_list *out)
{
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	char service[STORE_NAME_MAX];
	const char *name;
	int rc = page_check(&page) ?: split_cursor(page.cursor, service, &name);

	if (!rc)
		rc = ROW_LIST(s->db, &type, &l, SQL_TRIGGER_PAGE,
		              ARGS(V(tenant), V(service), V(name),
		                   V(page.limit + 1)));
	if (rc)
		return rc;
	if (l.n > (size_t)page.limit) {
		const struct trigger *last = &l.items[l.n - 2];

		trigger_done(&l.items[--l.n]);
		if (asprintf(&l.next, "%s/%s", last->service, last->name) < 0) {
			l.next = NULL;
			return -ENOMEM;
		}
	}
	*out = TAKE(l);
	return 0;
}

int
trigger_list_fired(struct store *s, const char *tenant, int64_t age_ms,
                   struct trigger_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_TRIGGER_LIST_FIRED,
	                ARGS(V(tenant), V(age_ms)));
}

int
trigger_list_host(struct store *s, const char *host, struct trigger_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_TRIGGER_LIST_HOST,
	                ARGS(V(host)));
}

int
trigger_remove(struct store *s, const char *tenant, const char *service,
               const char *id)
{
	return db_change(s->db, -ENOENT, SQL_TRIGGER_DELETE,
	                 ARGS(V(tenant), V(service), V(id)));
}

/* --- firing --------------------------------------------------------------- */

int
trigger_report(struct store *s, const char *id, double value)
{
	return db_do(s->db, SQL_TRIGGER_REPORT, ARGS(V(value), V(id)));
}

static int
enqueue(struct store *s, const struct trigger *t, const char *host,
        char out[static ID_MAX])
{
	CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
	struct session_ask ask = {
		.tenant = t->tenant,
		.service = t->service,
		.type = t->type,
		.origin = SESSION_CAPTURE,
		.ordinal = SESSION_ALL_ORDINALS,
		.seconds = t->seconds,
		.rate = t->rate,
		.created_by = t->id,
	};
	int rc;

	json_open(&labels, NULL, '{');
	json_put_text(&labels, TRIGGER_LABEL, t->name);
	json_close(&labels, '}');
	ask.labels = buf_str(&labels);
	rc = buf_err(&labels) ?: job_enqueue(s, &ask, host, out);
	return rc == -EEXIST ? 0 : rc;
}

/* Records the firing in the audit log; the actor is the rule. */
static int
note(struct store *s, const struct trigger *t, double value,
     const char *session)
{
	CLEANUP_BUF struct buf detail = BUF_INIT(BUF_MAX_SMALL);
	struct audit a = {
		.tenant = t->tenant,
		.actor = t->id,
		.action = (char *)"FireTrigger",
		.target = (char *)session,
		.request_id = (char *)"",
	};

	json_open(&detail, NULL, '{');
	json_put_text(&detail, "service", t->service);
	json_put_text(&detail, "trigger", t->name);
	json_put_real(&detail, "value", value);
	json_close(&detail, '}');
	a.detail = (char *)buf_str(&detail);
	return buf_err(&detail) ?: audit_add(s, &a);
}

static int
fire(struct store *s, const struct trigger *t, const char *host, double value,
     const struct trigger_shift *shift, char out[static ID_MAX])
{
	const struct trigger_shift none = {0};
	char id[ID_MAX], session[ID_MAX];
	int rc = db_change(s->db, -EAGAIN, SQL_TRIGGER_FIRE,
	                   ARGS(V(value), V(t->id)))
	                 ?: enqueue(s, t, host, session);

	if (rc)
		return rc;
	shift = shift ?: &none;
	id_new(FIRING_PREFIX, id);
	rc = db_do(s->db, SQL_FIRING_INSERT,
	           ARGS(V(id), V(host), V(session), V(shift->at_ms),
	                V(shift->earliest_ms), V(shift->latest_ms), V(t->id)))
	             ?: note(s, t, value, session);
	if (rc)
		return rc;
	memcpy(out, session, ID_MAX);
	return 0;
}

int
trigger_fire(struct store *s, const struct trigger *t, const char *host,
             double value, const struct trigger_shift *shift,
             char out[static ID_MAX])
{
	return store_begin(s)
	               ?: store_end(s, fire(s, t, host, value, shift, out));
}

/* --- webhooks ------------------------------------------------------------- */

/* A shift may be found this far from the restart that caused it. */
#define NEAR_MS (2 * 60 * MS_PER_S)

static const struct row_field firing_fields[] = {
	ROW_FIELD(firing, id),        ROW_FIELD(firing, trigger),
	ROW_FIELD(firing, tenant),    ROW_FIELD(firing, service),
	ROW_FIELD(firing, kind),      ROW_FIELD(firing, function),
	ROW_FIELD(firing, url),       ROW_FIELD(firing, value),
	ROW_FIELD(firing, threshold), ROW_FIELD(firing, fired_ms),
	ROW_FIELD(firing, since_ms),  ROW_FIELD(firing, earliest_ms),
	ROW_FIELD(firing, latest_ms), ROW_FIELD(firing, restart_ms),
	ROW_FIELD(firing, tries),     ROW_FIELD(firing, session),
	ROW_FIELD(firing, status),
};
static const struct row_type firing_type = ROW_TYPE(firing, firing_fields);

ROW_LIST_DONE(firing_list, firing_type)

int
firing_due(struct store *s, const char *host, int max, struct firing_list *out)
{
	return ROW_LIST(s->db, &firing_type, out, SQL_FIRING_DUE,
	                ARGS(V(NEAR_MS), V(host), V(max)));
}

int
firing_waits(struct store *s, const char *host, bool *out)
{
	int rc = row_any(s->db, SQL_FIRING_WAITS, ARGS(V(host)));

	if (rc < 0)
		return rc;
	*out = rc;
	return 0;
}

int
firing_tried(struct store *s, const char *id, const char *state,
             int64_t delay_ms)
{
	return db_do(s->db, SQL_FIRING_TRIED,
	             ARGS(V(state), V(delay_ms), V(id)));
}

int
firing_prune(struct store *s, int64_t age_ms)
{
	return db_run(s->db, SQL_FIRING_PRUNE, ARGS(V(age_ms)));
}
