#include "store/service.h"

#include "base/ways.h"
#include "store/db/cursor.h"
#include "store/db/row.h"
#include "store/quota.h"

#include <errno.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(service, tenant),      ROW_FIELD(service, name),
	ROW_FIELD(service, kind),        ROW_FIELD(service, host),
	ROW_FIELD(service, match_kind),  ROW_FIELD(service, match_value),
	ROW_FIELD(service, pprof_url),   ROW_FIELD(service, source),
	ROW_FIELD(service, allow),       ROW_FIELD(service, labels),
	ROW_FIELD(service, description), ROW_FIELD(service, source_link),
	ROW_FIELD(service, trace_link),  ROW_FIELD(service, collector),
	ROW_FIELD(service, metrics),     ROW_FIELD(service, created_ms),
	ROW_FIELD(service, updated_ms),
};
static const struct row_type type = ROW_TYPE(service, fields);

const char *
service_ways_kind(const struct service *s)
{
	return !strcmp(s->match_kind, "exe") && !strcmp(s->match_value, "*")
	               ? WAYS_HOST
	               : s->kind;
}

ROW_DONE(service, type)
ROW_PAGE_DONE(service_list, type)

static int
add(struct store *s, const struct service *v)
{
	return db_change(s->db, -EEXIST, SQL_SERVICE_INSERT,
	                 ARGS(V(v->tenant), V(v->name), V(v->kind), V(v->host),
	                      V(v->match_kind), V(v->match_value),
	                      V(v->pprof_url), V(v->source), V(v->allow),
	                      V(v->labels), V(v->description),
	                      V(v->source_link ? v->source_link : ""),
	                      V(v->trace_link ? v->trace_link : ""),
	                      V(v->collector ? v->collector : ""),
	                      V(v->metrics ? v->metrics : SERVICE_NO_METRICS)))
	               ?: quota_check(s, v->tenant, QUOTA_services, 1);
}

int
service_add(struct store *s, const struct service *v)
{
	return store_begin(s) ?: store_end(s, add(s, v));
}

int
service_replace(struct store *s, const struct service *v)
{
	return db_change(s->db, -ENOENT, SQL_SERVICE_UPDATE,
	                 ARGS(V(v->kind), V(v->host), V(v->match_kind),
	                      V(v->match_value), V(v->pprof_url), V(v->source),
	                      V(v->allow), V(v->labels), V(v->description),
	                      V(v->source_link ? v->source_link : ""),
	                      V(v->trace_link ? v->trace_link : ""),
	                      V(v->collector ? v->collector : ""),
	                      V(v->metrics ? v->metrics : SERVICE_NO_METRICS),
	                      V(v->tenant), V(v->name)));
}

int
service_get(struct store *s, const char *tenant, const char *name,
            struct service *out)
{
	return row_one(s->db, &type, out, SQL_SERVICE_GET,
	               ARGS(V(tenant), V(name)));
}

int
service_list(struct store *s, const char *tenant, struct page page,
             struct service_list *out)
{
	CLEANUP_SERVICES struct service_list l = {0};
	int rc = page_check(&page);

	if (!rc)
		rc = ROW_LIST(
			s->db, &type, &l, SQL_SERVICE_LIST,
			ARGS(V(tenant), V(page.cursor), V(page.limit + 1)));
	if (rc)
		return rc;
	if (l.n > (size_t)page.limit) {
		service_done(&l.items[--l.n]);
		if (!(l.next = strdup(l.items[l.n - 1].name)))
			return -ENOMEM;
	}
	*out = TAKE(l);
	return 0;
}

static const struct row_field state_fields[] = {
	ROW_FIELD(service_state, service), ROW_FIELD(service_state, processes),
	ROW_FIELD(service_state, hosts),   ROW_FIELD(service_state, host),
	ROW_FIELD(service_state, session), ROW_FIELD(service_state, type),
	ROW_FIELD(service_state, status),  ROW_FIELD(service_state, error),
	ROW_FIELD(service_state, started_ms),
};
static const struct row_type state_type = ROW_TYPE(service_state, state_fields);

ROW_LIST_DONE(service_state_list, state_type)

int
service_states(struct store *s, const char *tenant, const char *from,
               const char *to, struct service_state_list *out)
{
	return ROW_LIST(s->db, &state_type, out, SQL_SERVICE_STATES,
	                ARGS(V(tenant), V(from), V(to)));
}

int
service_list_host(struct store *s, const char *host, struct service_list *out)
{
	struct service_list l = {0};
	int rc = ROW_LIST(s->db, &type, &l, SQL_SERVICE_LIST_HOST,
	                  ARGS(V(host)));

	if (!rc)
		*out = l;
	return rc;
}

int
service_list_metrics(struct store *s, const char *tenant,
                     struct service_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_SERVICE_LIST_METRICS,
	                ARGS(V(tenant)));
}

int
service_contents(struct store *s, const char *tenant, const char *name,
                 struct service_contents *out)
{
	static const struct row_field counts[] = {
		ROW_FIELD(service_contents, sessions),
		ROW_FIELD(service_contents, windows),
		ROW_FIELD(service_contents, baselines),
		ROW_FIELD(service_contents, triggers),
		ROW_FIELD(service_contents, bytes),
	};
	static const struct row_type of = ROW_TYPE(service_contents, counts);

	return row_one(s->db, &of, out, SQL_SERVICE_CONTENTS,
	               ARGS(V(tenant), V(name)));
}

static int
delete_all(struct store *s, const char *tenant, const char *name)
{
	return db_do(s->db, SQL_SERVICE_DELETE_BLOBS, ARGS(V(tenant), V(name)))
	               ?: db_do(s->db, SQL_BASELINE_DELETE_SERVICE,
	                        ARGS(V(tenant), V(name)))
	               ?: db_do(s->db, SQL_HOLE_OF_SERVICE,
	                        ARGS(V(tenant), V(name)))
	               ?: db_change(s->db, -ENOENT, SQL_SERVICE_DELETE,
	                            ARGS(V(tenant), V(name)));
}

int
service_delete(struct store *s, const char *tenant, const char *name)
{
	return store_begin(s) ?: store_end(s, delete_all(s, tenant, name));
}
