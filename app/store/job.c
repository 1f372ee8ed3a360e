#include "store/job.h"

#include "store/db/row.h"
#include "session_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The id of the capture that is in the way; -ENOENT: no such service. */
static int
find_running(struct store *s, const struct session_ask *ask,
             char out[static ID_MAX])
{
	bool samply = !strcmp(ask->origin, SESSION_SAMPLY);
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db,
	                  samply ? SQL_SAMPLY_RUNNING : SQL_SESSION_RUNNING,
	                  ARGS(V(ask->tenant), V(ask->service),
	                       samply ? V(ask->ordinal) : V(ask->type)),
	                  &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	snprintf(out, ID_MAX, "%s", db_col_text(&rows, 0));
	return -EEXIST;
}

static int
enqueue(struct store *s, const struct session_ask *ask, const char *host,
        char out[static ID_MAX])
{
	int rc = session_insert(s, ask, SESSION_RUNNING, out);

	if (rc == -ENOENT)
		return find_running(s, ask, out);
	if (!rc)
		rc = db_run(s->db, SQL_JOB_INSERT, ARGS(V(out), V(host)));
	return rc < 0 ? rc : 0;
}

/* A refusal changed nothing: it ends the transaction without dooming one
 * around it, which may still want to store the answer. */
static int
end_unless_refused(struct store *s, int rc)
{
	if (rc != -EEXIST && rc != -ENOENT)
		return store_end(s, rc);
	return store_commit(s) ?: rc;
}

int
job_enqueue(struct store *s, const struct session_ask *ask, const char *host,
            char out[static ID_MAX])
{
	int rc = store_begin(s);

	return rc ? rc : end_unless_refused(s, enqueue(s, ask, host, out));
}

static int
cancel_queued(struct store *s, const char *id)
{
	int n = db_run(
		s->db, SQL_JOB_CANCEL_QUEUED,
		ARGS(V("Cancelled"), V("cancelled before it started"), V(id)));

	return n < 0 ? n : session_end(s, id, SESSION_FAILED);
}

static int
cancel(struct store *s, const char *tenant, const char *id)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	char state[16];
	int rc = db_query(s->db, SQL_JOB_STATE, ARGS(V(id), V(tenant)), &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	snprintf(state, sizeof(state), "%s", db_col_text(&rows, 0));
	db_finish(&rows);
	if (!strcmp(state, "queued"))
		return cancel_queued(s, id);
	rc = db_run(s->db, SQL_JOB_CANCEL_RUNNING, ARGS(V(id)));
	return rc < 0 ? rc : rc ? 0 : -EALREADY;
}

int
job_cancel(struct store *s, const char *tenant, const char *id)
{
	int rc = store_begin(s);

	return rc ? rc : store_end(s, cancel(s, tenant, id));
}

int
job_counts(struct store *s, int64_t *out_queued, int64_t *out_running)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_JOB_COUNTS, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc < 0)
		return rc;
	*out_queued = db_col_int(&rows, 0);
	*out_running = db_col_int(&rows, 1);
	return 0;
}
