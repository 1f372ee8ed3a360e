#include "endpoint/call/page.h"
#include "store/worker.h"

static void
put_worker(struct buf *out, const struct worker *w)
{
	json_open(out, NULL, '{');
	json_put_text(out, "host", w->host);
	json_put_text(out, "version", w->version);
	json_put_bool(out, "alive", w->alive);
	json_put_time(out, "startedAt", w->started_ms);
	json_put_time(out, "heartbeatAt", w->heartbeat_ms);
	json_put_raw(out, "capabilities", w->capabilities, "{}");
	json_close(out, '}');
}

int
workers_get(struct call *c)
{
	CLEANUP_WORKERS struct worker_list list = {0};
	struct buf *out;
	int rc = worker_list(&c->env->store, &list);

	if (rc)
		return fail_store(c, rc);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++)
		put_worker(out, &list.items[i]);
	return page_end(c, NULL);
}
