#include "store/lease.h"

#include "store/db/row.h"

#include <errno.h>
#include <stdio.h>

int
lease_take(struct store *s, const char *name, const char *holder, int64_t ms)
{
	return db_run(
		s->db, SQL_LEASE_TAKE,
		ARGS(V(name), V(holder), V((const char *)s->host), V(ms)));
}

int
lease_drop(struct store *s, const char *name, const char *holder)
{
	return db_do(s->db, SQL_LEASE_DROP, ARGS(V(name), V(holder)));
}

int
lease_get(struct store *s, const char *name, char host[static CONF_HOST_MAX],
          int64_t *out_ms)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_first(s->db, SQL_LEASE_GET, ARGS(V(name)), &rows);

	if (rc)
		return rc;
	snprintf(host, CONF_HOST_MAX, "%s", db_col_text(&rows, 0));
	*out_ms = db_col_int(&rows, 1);
	return 0;
}
