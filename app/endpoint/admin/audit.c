/*
 * GET of the audit log.
 */
#include "store/audit.h"
#include "endpoint/call.h"

static void
put_entry(struct buf *out, const struct audit *a)
{
	json_open(out, NULL, '{');
	json_put_text(out, "id", a->id);
	json_put_time(out, "at", a->at_ms);
	json_put_text(out, "actor", a->actor);
	json_put_text(out, "action", a->action);
	json_put_text(out, "target", a->target);
	json_put_text(out, "requestId", a->request_id);
	json_put_raw(out, "detail", a->detail, "{}");
	json_close(out, '}');
}

int
audit_get(struct call *c)
{
	CLEANUP(audit_list_done) struct audit_list list = {0};
	struct page page = PAGE_OF(c, ListAudit);
	struct buf *out;
	int rc = audit_list(&c->env->store, c->caller.tenant,
	                    param_text(c, P_ListAudit_search), page, &list);

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++)
		put_entry(out, &list.items[i]);
	return page_end(c, list.next);
}
