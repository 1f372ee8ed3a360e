/*
 * POST /agent/block: a block of windows from a host (store/block.h). The key
 * determines host and tenant. A block for a time that the centre already has
 * succeeds.
 */
#include "store/block.h"
#include "endpoint/call.h"
#include "profile/types.h"
#include "store/token.h"

#include <errno.h>

static int
answer(struct call *c, int64_t cursor_ms, bool again)
{
	struct buf *out = answer_json(c);

	json_put_int(out, "cursorMs", cursor_ms);
	json_put_bool(out, "again", again);
	return answer_end(c);
}

/* Refuses a block for its time; the reply has the time that would be
 * accepted. */
static int
fail_time(struct call *c, int rc, int64_t cursor_ms)
{
	detail_int(c, "cursorMs", cursor_ms);
	return rc == -ESTALE ? fail(c, BlockOverlaps) : fail(c, BlockAhead);
}

static int
check(struct call *c, const struct block *b)
{
	if (!token_is_within(b->tenant, c->caller.tenants))
		return fail(c, TenantForbidden, b->tenant);
	for (size_t i = 0; i < b->nseries; i++)
		if (!type_find(b->series[i].type))
			return fail(c, InvalidBlock,
			            "an unknown type of profile");
	return 0;
}

int
agent_block(struct call *c)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	CLEANUP_BLOCK struct block b = {0};
	const char *body = c->req->body ? c->req->body : "";
	int64_t cursor_ms = 0;
	int rc = block_decode(body, c->req->body_len, &b, &why);

	if (rc == -EBADMSG)
		return fail(c, InvalidBlock, buf_str(&why));
	if (rc)
		return rc == -E2BIG ? fail(c, PayloadTooLarge,
		                           "the block of windows")
		                    : fail_memory(c);
	if (check(c, &b))
		return -1;
	rc = block_accept(&c->env->store, c->caller.host, &b, body,
	                  c->req->body_len, &cursor_ms);
	if (!rc || rc == -EALREADY)
		return answer(c, b.end_ms, rc != 0);
	if (rc == -ESTALE || rc == -EAGAIN)
		return fail_time(c, rc, cursor_ms);
	return fail_store(c, rc);
}
