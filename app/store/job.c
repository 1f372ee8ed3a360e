#include "store/job.h"

#include "base/clock.h"
#include "session_private.h"
#include "store/db/row.h"
#include "store/debug_file.h"
#include "store/quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(job, session),          ROW_FIELD(job, tenant),
	ROW_FIELD(job, service),          ROW_FIELD(job, type),
	ROW_FIELD(job, attempt),          ROW_FIELD(job, ordinal),
	ROW_FIELD(job, asked_seconds),    ROW_FIELD(job, asked_rate),
	ROW_FIELD(job, cancel_requested),
};
static const struct row_type type = ROW_TYPE(job, fields);

ROW_DONE(job, type)

struct job_ref
job_ref(const struct job *j)
{
	struct job_ref r = {.attempt = j->attempt};

	snprintf(r.session, sizeof(r.session), "%s", j->session);
	return r;
}

/* --- requesting ----------------------------------------------------------- */

/* Finds the id of the running capture that conflicts; -ENOENT: unknown
 * service. */
static int
find_running(struct store *s, const struct session_ask *ask, const char *host,
             char out[static ID_MAX])
{
	bool samply = !strcmp(ask->origin, SESSION_SAMPLY);
	const struct db_value v[] = {
		V(ask->tenant),
		V(ask->service),
		samply ? V(ask->ordinal) : V(ask->type),
		V(host),
	};

	return row_id(s->db, out,
	              samply ? SQL_SAMPLY_RUNNING : SQL_SESSION_RUNNING, v,
	              ARRAY_LEN(v) - samply)
	               ?: -EEXIST;
}

static int
enqueue(struct store *s, const struct session_ask *ask, const char *host,
        char out[static ID_MAX])
{
	int rc = session_insert(s, ask, host, SESSION_RUNNING, out);

	if (rc == -ENOENT)
		return find_running(s, ask, host, out);
	if (!rc)
		rc = quota_check(s, ask->tenant, QUOTA_bytes, 0);
	if (!rc)
		rc = quota_capture(s, ask->tenant, out);
	if (!rc)
		rc = db_do(s->db, SQL_JOB_INSERT, ARGS(V(out), V(host)));
	return rc;
}

/* Ends the transaction of a refusal, which changed nothing, without dooming an
 * outer one that may still store the reply. */
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
	return store_begin(s)
	               ?: end_unless_refused(s, enqueue(s, ask, host, out));
}

/* Returns -ENOENT if a statement finds no row. */
static int
find_any(struct store *s, enum sql sql, const struct db_value *v, size_t nv)
{
	CLEANUP_ROWS struct db_rows rows = {0};

	return db_first(s->db, sql, v, nv, &rows);
}

/* Returns 1, or 0 if the job is not queued. */
static int
end_queued(struct store *s, const char *id, const struct job_end *end)
{
	int n = db_run(s->db, SQL_JOB_END_QUEUED,
	               ARGS(V(end->state), V(end->error_code),
	                    V(end->error_message), V(id)));

	return n <= 0 ? n : session_end(s, id, SESSION_FAILED) ?: 1;
}

static int
end_early(struct store *s, const char *tenant, const char *id, enum sql running)
{
	static const struct job_end cancelled = {
		.state = "cancelled",
		.error_code = "Cancelled",
		.error_message = "cancelled before it started"};
	int rc = find_any(s, SQL_JOB_EXISTS, ARGS(V(id), V(tenant)));

	if (!rc)
		rc = end_queued(s, id, &cancelled);
	if (!rc)
		rc = db_run(s->db, running, ARGS(V(id)));
	return rc < 0 ? rc : rc ? 0 : -EALREADY;
}

int
job_cancel(struct store *s, const char *tenant, const char *id)
{
	return store_begin(s)
	               ?: store_end(s, end_early(s, tenant, id,
	                                         SQL_JOB_CANCEL_RUNNING));
}

int
job_complete(struct store *s, const char *tenant, const char *id)
{
	return store_begin(s)
	               ?: store_end(s, end_early(s, tenant, id,
	                                         SQL_JOB_COMPLETE_RUNNING));
}

int
job_counts(struct store *s, int64_t *out_queued, int64_t *out_running)
{
	int64_t counts[2];
	int rc = row_ints(s->db, counts, 2, SQL_JOB_COUNTS, NO_ARGS);

	if (rc)
		return rc;
	*out_queued = counts[0];
	*out_running = counts[1];
	return 0;
}

/* --- running -------------------------------------------------------------- */

/* For each tenant with processes on the host but no capture, a place is
 * reserved, up to half of all places. Sets *out if others may have more. */
static int
may_have_more(struct store *s, const char *host, int64_t room, int64_t *out)
{
	int64_t places[2], half; /* idle tenants, and running jobs */
	int rc = row_ints(s->db, places, 2, SQL_JOB_PLACES, ARGS(V(host)));

	if (rc)
		return rc;
	half = (room + places[1]) / 2;
	*out = room > (places[0] < half ? places[0] : half);
	return 0;
}

/* Finds the next job. */
static int
find_next(struct store *s, const char *host, int64_t room,
          char out[static ID_MAX])
{
	int64_t more = 0;
	int rc = find_any(s, SQL_JOB_WAITING, ARGS(V(host)))
	                 ?: may_have_more(s, host, room, &more);

	return rc ?: row_id(s->db, out, SQL_JOB_NEXT, ARGS(V(host), V(more)));
}

static int
claim(struct store *s, const char *id, int64_t lease_ms, struct job *out)
{
	return db_change(s->db, -EAGAIN, SQL_JOB_CLAIM, /* claimed meanwhile */
	                 ARGS(V(lease_ms), V(id)))
	               ?: db_do(s->db, SQL_SESSION_STARTED, ARGS(V(id)))
	               ?: row_one(s->db, &type, out, SQL_JOB_GET, ARGS(V(id)));
}

int
job_claim(struct store *s, const char *host, int64_t lease_ms, int64_t room,
          struct job *out)
{
	CLEANUP_JOB struct job j = {0};
	int rc;

	do {
		char id[ID_MAX];

		rc = find_next(s, host, room, id) ?: store_begin(s);
		if (!rc)
			rc = store_end(s, claim(s, id, lease_ms, &j));
	} while (rc == -EAGAIN);
	if (rc)
		return rc;
	*out = TAKE(j);
	return 0;
}

int
job_progress(struct store *s, const struct job_ref *j, int64_t lease_ms,
             const struct job_state *now, int64_t *out_ending)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int64_t asked;
	int rc = db_query(s->db, SQL_JOB_PROGRESS,
	                  ARGS(V(lease_ms), V(now->progress), V(now->phase),
	                       V(now->samples), V(j->session), V(j->attempt)),
	                  &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ESTALE;
	asked = db_col_int(&rows, 0);
	rc = db_next(&rows); /* reading to the end commits the statement */
	if (rc < 0)
		return rc;
	*out_ending = asked;
	return 0;
}

static int
hold(struct store *s, const struct job_ref *j)
{
	return db_change(s->db, -ESTALE, SQL_JOB_HOLD,
	                 ARGS(V(j->attempt), V(j->session)));
}

static int
checkpoint(struct store *s, const struct job_ref *j,
           const struct session_result *result, const struct blob *blob)
{
	int rc = hold(s, j);

	if (!rc)
		rc = session_store_result(s, j->session, result);
	return rc ? rc : session_store_blob(s, j->session, blob);
}

int
job_checkpoint(struct store *s, const struct job_ref *j,
               const struct session_result *result, const struct blob *blob)
{
	return store_begin(s) ?: store_end(s, checkpoint(s, j, result, blob));
}

static int
finish(struct store *s, const struct job_ref *j, const struct job_end *end)
{
	const char *status = strcmp(end->state, "done") ? SESSION_FAILED
	                                                : SESSION_COMPLETED;
	int rc = db_change(s->db, -ESTALE, SQL_JOB_END,
	                   ARGS(V(end->state), V(end->error_code),
	                        V(end->error_message), V(j->session),
	                        V(j->attempt)));

	if (!rc && end->result)
		rc = session_store_result(s, j->session, end->result)
		             ?: debug_file_want(s, j->session,
		                                end->result->unnamed,
		                                end->result->nunnamed);
	if (!rc && end->blob)
		rc = session_store_blob(s, j->session, end->blob);
	if (!rc && end->timeline)
		rc = session_store_blob(s, j->session, end->timeline);
	if (!rc && end->listing)
		rc = session_store_blob(s, j->session, end->listing);
	return rc ? rc : session_end(s, j->session, status);
}

int
job_finish(struct store *s, const struct job_ref *j, const struct job_end *end)
{
	return store_begin(s) ?: store_end(s, finish(s, j, end));
}

int
job_requeue(struct store *s, const struct job_ref *j)
{
	return db_change(s->db, -ESTALE, SQL_JOB_REQUEUE,
	                 ARGS(V(j->session), V(j->attempt)));
}

int
job_abandon(struct store *s, const struct job *j)
{
	static const struct job_end died = {
		"failed",
		"WorkerDied",
		"the worker stopped during the capture; what it had saved is "
		"kept",
		NULL,
		NULL,
		NULL,
		NULL};
	static const struct job_end cancelled = {
		"cancelled", "Cancelled", "cancelled on request", NULL, NULL,
		NULL,        NULL};
	struct job_ref ref = job_ref(j);

	if (j->cancel_requested == JOB_CANCEL)
		return job_finish(s, &ref, &cancelled);
	if (j->cancel_requested || j->asked_seconds > JOB_RERUN_SECONDS ||
	    j->attempt >= JOB_ATTEMPTS_MAX)
		return job_finish(s, &ref, &died);
	return job_requeue(s, &ref);
}

/* Recovers jobs until none is left: each recovery removes one from the
 * statement's result. */
static int
recover_all(struct store *s, enum sql sql, const struct db_value *v, size_t nv)
{
	int rc, n = 0;

	for (;; n++) {
		CLEANUP_JOB struct job j = {0};

		rc = row_one(s->db, &type, &j, sql, v, nv);
		if (rc)
			break;
		rc = job_abandon(s, &j);
		if (rc && rc != -ESTALE)
			break;
	}
	return rc == -ENOENT ? n : rc;
}

int
job_take_over(struct store *s, const char *host)
{
	return recover_all(s, SQL_JOB_ORPHANED, ARGS(V(host)));
}

/* Returns -ENOENT when no job is stranded. */
static int
find_stranded(struct store *s, char out[static ID_MAX])
{
	return row_id(s->db, out, SQL_JOB_STRANDED,
	              ARGS(V((int64_t)JOB_STRANDED_MS)));
}

/* Ends queued jobs of hosts without a live worker; returns their number. */
static int
end_stranded(struct store *s)
{
	static const struct job_end died = {
		.state = "failed",
		.error_code = "WorkerDied",
		.error_message = "the host's worker stopped before the capture "
				 "began, and none has started since"};
	int rc, n = 0;

	for (;; n++) {
		char id[ID_MAX];

		rc = find_stranded(s, id);
		if (!rc)
			rc = store_begin(s);
		if (!rc) {
			rc = end_queued(s, id, &died);
			rc = store_end(s, rc < 0 ? rc : 0);
		}
		if (rc)
			return rc == -ENOENT ? n : rc;
	}
}

int
job_expire(struct store *s, int64_t grace_ms)
{
	int expired = recover_all(s, SQL_JOB_EXPIRED, ARGS(V(grace_ms)));
	int stranded = expired < 0 ? 0 : end_stranded(s);

	return stranded < 0 ? stranded : expired + stranded;
}

int
lease_clock_check(struct lease_clock *l, struct store *s, int64_t wait_ms,
                  int64_t now_ns)
{
	int64_t clock_ms, offset_ms;
	int rc = store_now(s, &clock_ms);

	if (rc)
		return rc;
	offset_ms = clock_ms - now_ns / NS_PER_MS;
	if (llabs(offset_ms - l->offset_ms) > MS_PER_S)
		l->from_ns = now_ns + wait_ms * NS_PER_MS;
	l->offset_ms = offset_ms;
	return now_ns >= l->from_ns;
}
