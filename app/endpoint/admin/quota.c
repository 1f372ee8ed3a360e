/* /api/v1/quota: what a tenant holds, and may hold. */
#include "store/quota.h"
#include "endpoint/call.h"

static void
put_limit(struct buf *out, int64_t limit)
{
	if (limit)
		json_put_int(out, "limit", limit);
	else
		json_put_null(out, "limit");
}

int
quota_get(struct call *c)
{
	const char *tenant = c->caller.tenant;
	struct buf *out = page_begin(c);

	for (enum quota q = 0; q < QUOTAS; q++) {
		int64_t held;
		int rc = quota_held(&c->env->store, tenant, q, &held);

		if (rc)
			return fail_store(c, rc);
		json_open(out, NULL, '{');
		json_put_text(out, "quota", conf_quotas[q].name);
		put_limit(out, conf_quota(c->env->conf, tenant, q));
		json_put_int(out, "held", held);
		json_put_text(out, "counts", conf_quotas[q].counts);
		json_put_text(out, "freedBy", conf_quotas[q].frees);
		json_close(out, '}');
	}
	return page_end(c, NULL);
}
