#include "store/baseline.h"

#include "store/db/cursor.h"
#include "store/db/row.h"
#include "store/quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(baseline, id),          ROW_FIELD(baseline, tenant),
	ROW_FIELD(baseline, service),     ROW_FIELD(baseline, type),
	ROW_FIELD(baseline, session),     ROW_FIELD(baseline, label),
	ROW_FIELD(baseline, description), ROW_FIELD(baseline, top_functions),
	ROW_FIELD(baseline, tags),        ROW_FIELD(baseline, created_by),
	ROW_FIELD(baseline, created_ms),  ROW_FIELD(baseline, is_latest),
};
static const struct row_type type = ROW_TYPE(baseline, fields);

ROW_DONE(baseline, type)
ROW_PAGE_DONE(baseline_list, type)

void
baseline_tag(struct buf *tags, const char *tag)
{
	if (!tags->len)
		buf_putc(tags, '\n');
	buf_addf(tags, "%s\n", tag);
}

static int
add(struct store *s, const struct baseline_ask *ask, const char *id)
{
	int rc = quota_turn(s, ask->tenant); /* for the newest created_ms */

	if (!rc)
		rc = db_change(s->db, -ENOENT, SQL_BASELINE_INSERT,
		               ARGS(V(id), V(ask->label), V(ask->description),
		                    V(ask->top_functions), V(ask->tags),
		                    V(ask->created_by), V(ask->tenant),
		                    V(ask->session)));
	return rc ? rc : quota_check(s, ask->tenant, QUOTA_baselines, 1);
}

int
baseline_add(struct store *s, const struct baseline_ask *ask,
             char out[static ID_MAX])
{
	char id[ID_MAX];
	int rc = store_begin(s);

	id_new(BASELINE_PREFIX, id);
	if (!rc)
		rc = store_end(s, add(s, ask, id));
	if (!rc)
		memcpy(out, id, ID_MAX);
	return rc;
}

int
baseline_get(struct store *s, const char *tenant, const char *id,
             struct baseline *out)
{
	return row_one(s->db, &type, out, SQL_BASELINE_GET,
	               ARGS(V(tenant), V(id)));
}

int
baseline_list(struct store *s, const struct baseline_filter *f,
              struct page page, struct baseline_list *out)
{
	CLEANUP_BUF struct buf tag = BUF_INIT(BUF_MAX_SMALL);
	struct cursor c;

	if (*f->tag)
		baseline_tag(&tag, f->tag);
	return page_check(&page)
	               ?: cursor_parse(page.cursor, &c)
	               ?: buf_err(&tag)
	               ?: CURSOR_LIST(s->db, &type, "created_ms", page.limit,
	                              out, SQL_BASELINE_LIST,
	                              ARGS(V(f->tenant), V(f->service),
	                                   V(f->type), V(f->label),
	                                   V(buf_str(&tag)), V(c.ms), V(c.id),
	                                   V(page.limit + 1)));
}

int
baseline_remove(struct store *s, const char *tenant, const char *id)
{
	return db_change(s->db, -ENOENT, SQL_BASELINE_DELETE,
	                 ARGS(V(tenant), V(id)));
}

int
baseline_of_session(struct store *s, const char *tenant, const char *session,
                    struct baseline *out)
{
	return row_one(s->db, &type, out, SQL_BASELINE_OF_SESSION,
	               ARGS(V(tenant), V(session)));
}

int
baseline_count_label(struct store *s, const struct baseline *b, int64_t *out)
{
	return row_int(
		s->db, out, SQL_BASELINE_LABEL_COUNT,
		ARGS(V(b->tenant), V(b->service), V(b->type), V(b->label)));
}

int
baseline_before(struct store *s, const struct baseline_of *of,
                struct baseline *out)
{
	return row_one(s->db, &type, out, SQL_BASELINE_BEFORE,
	               ARGS(V(of->tenant), V(of->service), V(of->type),
	                    V(of->created_ms), V(of->ordinal), V(of->session)));
}
