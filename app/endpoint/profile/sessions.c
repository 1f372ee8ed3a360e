/* GET of all sessions; one is profile_get.c's, POST profile_start.c's. */
#include "endpoint/call/page.h"
#include "profile_json.h"

#include <errno.h>

int
session_list_get(struct call *c)
{
	CLEANUP_SESSIONS struct session_list list = {0};
	const struct session_filter filter = {
		.tenant = c->caller.tenant,
		.service = param_text(c, P_ListSessions_service),
		.type = param_text(c, P_ListSessions_profileType),
		.status = param_text(c, P_ListSessions_status),
		.from_ms = param_int(c, P_ListSessions_from),
		.origin = param_text(c, P_ListSessions_origin),
		.to_ms = param_int(c, P_ListSessions_to),
	};
	struct page page = PAGE_OF(c, ListSessions);
	int64_t top = param_int(c, P_ListSessions_top);
	int rc = session_list(&c->env->store, &filter, page, &list);
	struct buf *out;

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++) {
		json_open(out, NULL, '{');
		if (profile_put(c, out, &list.items[i], top))
			return -1;
		json_close(out, '}');
	}
	return page_end(c, list.next);
}
