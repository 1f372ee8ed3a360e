#include "store/audit.h"

#include "store/db/cursor.h"
#include "store/db/row.h"

#include <errno.h>

#define AUDIT_PREFIX "aud-"

static const struct row_field fields[] = {
	ROW_FIELD(audit, id),     ROW_FIELD(audit, tenant),
	ROW_FIELD(audit, actor),  ROW_FIELD(audit, action),
	ROW_FIELD(audit, target), ROW_FIELD(audit, request_id),
	ROW_FIELD(audit, detail), ROW_FIELD(audit, at_ms),
};
static const struct row_type type = ROW_TYPE(audit, fields);

ROW_PAGE_DONE(audit_list, type)

int
audit_add(struct store *s, const struct audit *a)
{
	char id[ID_MAX];

	id_new(AUDIT_PREFIX, id);
	return db_do(s->db, SQL_AUDIT_INSERT,
	             ARGS(V(id), V(a->tenant), V(a->actor), V(a->action),
	                  V(a->target), V(a->request_id), V(a->detail)));
}

int
audit_list(struct store *s, const char *tenant, const char *text,
           struct page page, struct audit_list *out)
{
	struct cursor c;

	return page_check(&page)
	               ?: cursor_parse(page.cursor, &c)
	               ?: CURSOR_LIST(s->db, &type, "at_ms", page.limit, out,
	                              SQL_AUDIT_LIST,
	                              ARGS(V(tenant), V(c.ms), V(c.id),
	                                   V(text), V(page.limit + 1)));
}

int
audit_recent(struct store *s, const struct audit *a, int64_t within_ms,
             int64_t *out)
{
	return row_int(
		s->db, out, SQL_AUDIT_RECENT,
		ARGS(V(a->tenant), V(within_ms), V(a->actor), V(a->action)));
}

int
audit_prune(struct store *s, int64_t max_age_ms)
{
	return db_do(s->db, SQL_AUDIT_PRUNE, ARGS(V(max_age_ms)));
}
