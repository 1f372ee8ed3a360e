#include "store/symbolize.h"

#include "session_private.h"
#include "store/db/row.h"
#include "store/quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(symbolize, session),  ROW_FIELD(symbolize, tenant),
	ROW_FIELD(symbolize, service),  ROW_FIELD(symbolize, origin),
	ROW_FIELD(symbolize, state),    ROW_FIELD(symbolize, error),
	ROW_FIELD(symbolize, quality),  ROW_FIELD(symbolize, attempt),
	ROW_FIELD(symbolize, asked_ms), ROW_FIELD(symbolize, ended_ms),
};
static const struct row_type type = ROW_TYPE(symbolize, fields);

ROW_DONE(symbolize, type)

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
	*out = TAKE(y);
	return 0;
}

int
symbolize_host(struct store *s, const char *tenant, const char *service,
               const char *captured_by, char **out)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_first(s->db, SQL_SYMBOLIZE_HOST,
	                  ARGS(V(captured_by), V(tenant), V(service)), &rows);

	if (rc)
		return rc;
	*out = strdup(db_col_text(&rows, 0));
	return *out ? 0 : -ENOMEM;
}

static int
ask(struct store *s, const char *tenant, const char *session, const char *host,
    bool counts)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	int rc = db_run(s->db, SQL_SYMBOLIZE_ASK,
	                ARGS(V(host), V(session), V(tenant)));

	if (rc < 0)
		return rc;
	if (!rc)
		return symbolize_get(s, tenant, session, &y);
	return counts ? quota_capture(s, tenant, session) : 0;
}

int
symbolize_ask(struct store *s, const char *tenant, const char *session,
              const char *host)
{
	return store_begin(s)
	               ?: store_end(s, ask(s, tenant, session, host, false));
}

int
symbolize_ask_counted(struct store *s, const char *tenant, const char *session,
                      const char *host)
{
	return store_begin(s)
	               ?: store_end(s, ask(s, tenant, session, host, true));
}

/* --- the report of an upload ---------------------------------------------- */

/* Begins the note about frames without names; appends nothing if all have
 * names. */
static void
begin_unnamed(int64_t frames, int64_t named, struct buf *out)
{
	if (named < frames)
		buf_addf(out, "%lld of %lld frames have no function name",
		         (long long)(frames - named), (long long)frames);
}

static void
put_unnamed(int64_t frames, int64_t named, bool searched, struct buf *out)
{
	begin_unnamed(frames, named, out);
	if (!out->len)
		return;
	buf_puts(out, searched ? ": no debug file that names them was pushed "
	                         "or is on the worker's host. "
	                       : " yet: a worker looks for files that name "
	                         "them. ");
	buf_puts(out, "To name those with a build-id, push the program or its "
	              "debug file: stoker debuginfo push FILE. To name them "
	              "before the upload, run stoker symbolize FILE --binary "
	              "PATH");
}

static int
add_note(json_t *notes, const struct buf *text)
{
	return text->len
	               ? json_array_append_new(notes, json_text(buf_str(text)))
	               : 0;
}

static int
change_notes(json_t *notes, int64_t frames, int64_t had, int64_t named,
             bool searched)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	begin_unnamed(frames, had, &text);
	if (text.len)
		json_remove_prefix(notes, buf_str(&text), text.len);
	buf_clear(&text);
	if (searched && named > had)
		buf_addf(&text,
		         "%lld of %lld frames were named after the upload, "
		         "from debug files",
		         (long long)(named - had), (long long)frames);
	if (add_note(notes, &text))
		return -ENOMEM;
	buf_clear(&text);
	put_unnamed(frames, named, searched, &text);
	return add_note(notes, &text) ? -ENOMEM : 0;
}

int
symbolize_report(json_t *report, int64_t frames, int64_t named, bool searched)
{
	const json_t *old = json_object_get(report, "framesNamed");
	int64_t had = old ? json_integer_value(old) : named;

	if (json_object_set_new(report, "frames", json_integer(frames)) ||
	    json_object_set_new(report, "framesNamed", json_integer(named)))
		return -ENOMEM;
	return change_notes(json_object_get(report, "notes"), frames, had,
	                    named, searched);
}

/* --- the worker's side ---------------------------------------------------- */

static int
oldest_waiting(struct store *s, const char *host, char out[static ID_MAX])
{
	return row_id(s->db, out, SQL_SYMBOLIZE_WAITING, ARGS(V(host)));
}

static int
claim(struct store *s, const char *session, struct symbolize *out)
{
	return db_change(s->db, -ESTALE, SQL_SYMBOLIZE_CLAIM, ARGS(V(session)))
	               ?: row_one(s->db, &type, out, SQL_SYMBOLIZE_GET,
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
	*out = TAKE(y);
	return 0;
}

static int
end(struct store *s, const struct symbolize *y, const char *state,
    const char *error)
{
	return db_change(
		s->db, -ESTALE, SQL_SYMBOLIZE_END,
		ARGS(V(state), V(error), V(y->session), V(y->attempt)));
}

static int
finish(struct store *s, const struct symbolize *y, const char *top_functions,
       const char *quality, const struct blob *blob)
{
	return end(s, y, "done", "")
	               ?: db_change(s->db, -ESTALE, SQL_SESSION_RENAMED,
	                            ARGS(V(top_functions), V(quality),
	                                 V(y->session)))
	               ?: session_store_blob(s, y->session, blob);
}

int
symbolize_finish(struct store *s, const struct symbolize *y,
                 const char *top_functions, const char *quality,
                 const struct blob *blob)
{
	return store_begin(s)
	               ?: store_end(s,
	                            finish(s, y, top_functions, quality, blob));
}

int
symbolize_fail(struct store *s, const struct symbolize *y, const char *error)
{
	return store_begin(s) ?: store_end(s, end(s, y, "failed", error));
}

int
symbolize_again(struct store *s, const struct symbolize *y)
{
	return store_begin(s)
	               ?: store_end(s, db_change(s->db, -ESTALE,
	                                         SQL_SYMBOLIZE_AGAIN,
	                                         ARGS(V(y->session),
	                                              V(y->attempt))));
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
