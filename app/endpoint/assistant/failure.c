#include "failure.h"

bool
failure_take(struct call *c, struct buf *out)
{
	CLEANUP_JSON json_t *error = NULL;
	const struct buf *body = &c->reply->body;

	if (c->busy || c->dropped || buf_err(body))
		return false;
	error = json_loadb(body->p, body->len, 0, NULL);
	buf_puts(out, json_string_value(json_object_get(error, "message"))
	                      ?: "internal error");
	reply_clear(c->reply);
	return true;
}
