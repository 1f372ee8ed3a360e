#include "store/quota.h"

#include "row.h"

#include <errno.h>

static const enum sql counts[QUOTAS] = {
#define QUOTA(name, sql, type, def, counts, frees) SQL_QUOTA_##sql,
#include "quotas.def"
#undef QUOTA
};

void
quota_enforce(struct store *s, const struct conf *conf)
{
	s->quotas = conf;
}

int
quota_held(struct store *s, const char *tenant, enum quota q, int64_t *out)
{
	return row_int(s->db, out, counts[q], ARGS(V(tenant)));
}

int
quota_turn(struct store *s, const char *tenant)
{
	return db_do(s->db, SQL_QUOTA_TURN, ARGS(V(tenant)));
}

int
quota_check(struct store *s, const char *tenant, enum quota q, int64_t added)
{
	struct excess e = {.quota = q};
	int rc;

	e.limit = s->quotas ? conf_quota(s->quotas, tenant, q) : 0;
	if (!e.limit)
		return 0;
	rc = quota_turn(s, tenant) ?: quota_held(s, tenant, q, &e.held);
	if (rc || e.held <= e.limit)
		return rc;
	e.held -= added;
	if (q == QUOTA_captures_per_hour)
		rc = row_int(s->db, &e.wait_ms, SQL_QUOTA_CAPTURES_WAIT,
		             ARGS(V(tenant), V(e.held - e.limit)));
	if (rc)
		return rc;
	s->excess = e;
	return -EXFULL;
}

int
quota_capture(struct store *s, const char *tenant, const char *session)
{
	return db_do(s->db, SQL_CAPTURE_START_INSERT,
	             ARGS(V(tenant), V(session)))
	               ?: quota_check(s, tenant, QUOTA_captures_per_hour, 1);
}

int
quota_prune(struct store *s)
{
	return db_run(s->db, SQL_CAPTURE_START_PRUNE, NO_ARGS);
}

int
quota_tenants(struct store *s, int (*each)(void *arg, const char *tenant),
              void *arg)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_QUOTA_TENANTS, NO_ARGS, &rows);

	while (!rc && (rc = db_next(&rows)) > 0)
		rc = each(arg, db_col_text(&rows, 0));
	return rc;
}
