#include "connect.h"

#include "endpoint/call/accept.h"
#include "profile/gzip.h"

#include <errno.h>
#include <string.h>

static const char json_form[] = "application/json";
static const char proto_form[] = "application/proto";

bool
connect_is_json(const struct call *c)
{
	return content_is(c->req->content_type, json_form);
}

static int
refuse(struct call *c, const char *why)
{
	return fail(c, InvalidMessage, why);
}

static int
inflate(struct call *c, const char **p, size_t *n, struct buf *raw)
{
	int rc;

	if (!gzip_is(*p, *n))
		return 0;
	rc = gzip_inflate(*p, *n, raw);
	if (rc == -ENOMEM)
		return fail_memory(c);
	if (rc)
		return refuse(c, rc == -E2BIG ? "it is too long"
		                              : "its gzip is damaged");
	*p = buf_str(raw);
	*n = raw->len;
	return 0;
}

int
connect_read(struct call *c, enum message m, json_t **out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(CONNECT_MAX);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const char *p = c->req->body;
	size_t n = c->req->body_len;
	int rc;

	if (!connect_is_json(c) &&
	    !content_is(c->req->content_type, proto_form))
		return fail(c, UnsupportedMediaType,
		            "application/json or application/proto");
	if (inflate(c, &p, &n, &raw))
		return -1;
	rc = message_read(m, connect_is_json(c), p, n, out, &why);
	if (rc == -ENOMEM)
		return fail_memory(c);
	return rc ? refuse(c, buf_str(&why)) : 0;
}

static void
put_head(struct call *c)
{
	c->reply->status = c->route->status;
	c->reply->content_type = connect_is_json(c) ? json_form : proto_form;
	c->reply->is_json = false;
}

int
connect_answer_json(struct call *c)
{
	struct buf *out = &c->reply->body;

	buf_putc(out, '\n');
	put_head(c);
	return buf_err(out) ? fail_store(c, buf_err(out)) : 0;
}

int
connect_answer(struct call *c, enum message m, const struct buf *wire)
{
	struct buf *out = &c->reply->body;
	int rc = buf_err(wire);

	buf_clear(out);
	put_head(c);
	if (!rc && connect_is_json(c)) {
		rc = message_json(m, buf_str(wire), wire->len, out);
		buf_putc(out, '\n');
	} else if (!rc) {
		buf_add(out, wire->p, wire->len);
	}
	rc = rc ?: buf_err(out);
	return rc ? fail_store(c, rc) : 0;
}

const char *
asked_text(const json_t *q, const char *name)
{
	return json_member(q, name);
}

int64_t
asked_int(const json_t *q, const char *name)
{
	return json_integer_value(json_object_get(q, name));
}

double
asked_real(const json_t *q, const char *name)
{
	return json_real_value(json_object_get(q, name));
}

const json_t *
asked_list(const json_t *q, const char *name)
{
	return json_object_get(q, name);
}
