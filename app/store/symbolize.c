#include "store/symbolize.h"

#include "session_private.h"
#include "store/db/row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(symbolize, session),  ROW_FIELD(symbolize, tenant),
	ROW_FIELD(symbolize, state),    ROW_FIELD(symbolize, error),
	ROW_FIELD(symbolize, quality),  ROW_FIELD(symbolize, attempt),
	ROW_FIELD(symbolize, asked_ms), ROW_FIELD(symbolize, ended_ms),
};
static const struct row_type type = ROW_TYPE(symbolize, fields);

void
symbolize_done(struct symbolize *y)
{
	row_done(&type, y);
}

int
symbolize_get(struct store *s, const char *tenant, const char *session,
              struct symbolize *out)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	int rc = row_one(s->db, &type, &y, SQL_SYMBOLIZE_GET, ARGS(V(session)));

	if (rc)
		return rc;
	if (strcmp(y.tenant, tenant) != 0)
		return -ENOENT;
	*out = y;
	y = (struct symbolize){0};
	return 0;
}

static int
ask(struct store *s, const char *tenant, const char *session)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	int rc = db_run(s->db, SQL_SYMBOLIZE_ASK, ARGS(V(session), V(tenant)));

	if (rc < 0)
		return rc;
	return rc ? 0 : symbolize_get(s, tenant, session, &y);
}

int
symbolize_ask(struct store *s, const char *tenant, const char *session)
{
	int rc = store_begin(s);

	return rc ? rc : store_end(s, ask(s, tenant, session));
}

/* --- the worker's side ---------------------------------------------------- */

static int
oldest_waiting(struct store *s, const char *host, char out[static ID_MAX])
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_SYMBOLIZE_WAITING, ARGS(V(host)), &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	snprintf(out, ID_MAX, "%s", db_col_text(&rows, 0));
	return 0;
}

static int
fenced(int changed)
{
	return changed < 0 ? changed : changed ? 0 : -ESTALE;
}

static int
claim(struct store *s, const char *session, struct symbolize *out)
{
	int rc = fenced(db_run(s->db, SQL_SYMBOLIZE_CLAIM, ARGS(V(session))));

	return rc ? rc
	          : row_one(s->db, &type, out, SQL_SYMBOLIZE_GET,
	                    ARGS(V(session)));
}

int
symbolize_claim(struct store *s, const char *host, struct symbolize *out)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	char session[ID_MAX];
	int rc = oldest_waiting(s, host, session) ?: store_begin(s);

	if (!rc)
		rc = store_end(s, claim(s, session, &y));
	if (rc)
		return rc;
	*out = y;
	y = (struct symbolize){0};
	return 0;
}

static int
end(struct store *s, const struct symbolize *y, const char *state,
    const char *error)
{
	return fenced(
		db_run(s->db, SQL_SYMBOLIZE_END,
	               ARGS(V(state), V(error), V(y->session), V(y->attempt))));
}

static int
finish(struct store *s, const struct symbolize *y, const char *top_functions,
       const char *quality, const struct blob *blob)
{
	int rc = end(s, y, "done", "");

	if (!rc)
		rc = fenced(db_run(
			s->db, SQL_SESSION_RENAMED,
			ARGS(V(top_functions), V(quality), V(y->session))));
	return rc ? rc : session_store_blob(s, y->session, blob);
}

int
symbolize_finish(struct store *s, const struct symbolize *y,
                 const char *top_functions, const char *quality,
                 const struct blob *blob)
{
	int rc = store_begin(s);

	return rc ? rc
	          : store_end(s, finish(s, y, top_functions, quality, blob));
}

int
symbolize_fail(struct store *s, const struct symbolize *y, const char *error)
{
	int rc = store_begin(s);

	return rc ? rc : store_end(s, end(s, y, "failed", error));
}

int
symbolize_take_over(struct store *s, const char *host)
{
	static const char died[] = "the worker died of it";
	int rc = store_begin(s), n;

	if (rc)
		return rc;
	n = db_run(s->db, SQL_SYMBOLIZE_TAKE_OVER,
	           ARGS(V(SYMBOLIZE_TRIES), V((const char *)died), V(host)));
	rc = store_end(s, n < 0 ? n : 0);
	return rc ? rc : n;
}
