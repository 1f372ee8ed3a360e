#include "store/delivery.h"

#include "base/json_out.h"
#include "session_private.h"
#include "store/db/row.h"

static const struct row_field fields[] = {
	ROW_FIELD(delivery, source),    ROW_FIELD(delivery, tenant),
	ROW_FIELD(delivery, service),   ROW_FIELD(delivery, collector),
	ROW_FIELD(delivery, queued_ms),
};
static const struct row_type type = ROW_TYPE(delivery, fields);

ROW_LIST_DONE(delivery_list, type)

int
delivery_add_session(struct store *s, const char *session)
{
	return db_do(s->db, SQL_DELIVERY_ADD_SESSION, ARGS(V(session)));
}

int
delivery_oldest(struct store *s, const char *host, int max,
                struct delivery_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_DELIVERY_OLDEST,
	                ARGS(V(host), V(max)));
}

int
delivery_unwanted(struct store *s, const char *host, int max,
                  struct delivery_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_DELIVERY_UNWANTED,
	                ARGS(V(host), V(max)));
}

int
delivery_excess(struct store *s, const char *host, const char *tenant,
                const char *service, int64_t most, int max,
                struct delivery_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_DELIVERY_EXCESS,
	                ARGS(V(tenant), V(service), V(host), V(max), V(most)));
}

int
delivery_waiting(struct store *s, const char *host, int64_t *out)
{
	return row_int(s->db, out, SQL_DELIVERY_WAITING, ARGS(V(host)));
}

static int
end(struct store *s, const char *tenant, const char *source)
{
	int64_t last = 0;
	int rc = row_int(s->db, &last, SQL_DELIVERY_IS_LAST, ARGS(V(source)));

	if (!rc)
		rc = db_run(s->db, SQL_DELIVERY_END, ARGS(V(source)));
	if (rc > 0 && last)
		rc = session_drop(s, tenant, source);
	return rc < 0 ? rc : 0;
}

int
delivery_end(struct store *s, const char *tenant, const char *source)
{
	return store_begin(s) ?: store_end(s, end(s, tenant, source));
}

int
delivery_prune(struct store *s, int64_t max_age_ms)
{
	return db_run(s->db, SQL_DELIVERY_PRUNE, ARGS(V(max_age_ms)));
}

/* --- what a worker publishes ---------------------------------------------- */

void
delivery_host_put(const struct delivery_host *h, struct buf *out)
{
#define DELIVERY_FIGURE(member, key, metric, kind, meaning) \
	json_put_int(out, #key, h->member);
#include "store/delivery_host.def"
}

void
delivery_host_read(const json_t *j, struct delivery_host *out)
{
#define DELIVERY_FIGURE(member, key, metric, kind, meaning) \
	out->member = json_integer_value(json_object_get(j, #key));
#include "store/delivery_host.def"
}
