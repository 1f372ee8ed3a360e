#include "page.h"

#include <errno.h>

struct buf *
page_begin(struct call *c)
{
	struct buf *out = answer_json(c);

	json_open(out, "items", '[');
	return out;
}

int
page_end(struct call *c, const char *next)
{
	struct buf *out = &c->reply->body;

	json_close(out, ']');
	if (next)
		json_put_text(out, "nextCursor", next);
	else
		json_put_null(out, "nextCursor");
	return answer_end(c);
}

int
page_fail(struct call *c, int rc, const char *cursor)
{
	if (rc == -EINVAL)
		return fail_param(c, "cursor", "nextCursor of the page before",
		                  cursor);
	return fail_store(c, rc);
}
