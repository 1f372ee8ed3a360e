/*
 * GET find: profiles by a prefix of their id.
 */
#include "profile_json.h"
#include "window_session.h"

#include <errno.h>

static int
put_one(struct call *c, struct buf *out, const struct session *s)
{
	json_open(out, NULL, '{');
	if (profile_put(c, out, s, 0))
		return -1;
	json_close(out, '}');
	return 0;
}

static int
put_windows(struct call *c, struct buf *out, const struct window_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		CLEANUP_SESSION struct session s = {0};
		int rc = window_find(c, l->items[i].id, &s);

		if (rc == -ENOENT) /* expired meanwhile */
			continue;
		if (rc)
			return fail_store(c, rc);
		if (put_one(c, out, &s))
			return -1;
	}
	return 0;
}

int
profile_find(struct call *c)
{
	CLEANUP_SESSIONS struct session_list sessions = {0};
	CLEANUP_WINDOWS struct window_list windows = {0};
	const char *prefix = param_text(c, P_FindProfiles_id);
	const char *tenant = c->caller.tenant;
	struct store *store = &c->env->store;
	struct buf *out;
	int rc = session_find(store, tenant, prefix, &sessions)
	                 ?: window_find_ids(store, tenant, prefix, &windows);

	if (rc)
		return fail_store(c, rc);
	out = page_begin(c);
	for (size_t i = 0; i < sessions.n; i++)
		if (put_one(c, out, &sessions.items[i]))
			return -1;
	return put_windows(c, out, &windows) ? -1 : page_end(c, NULL);
}
