#include "dispatch.h"

#include "base/clock.h"
#include "endpoint/refusal.h"
#include "idempotent.h"
#include "router.h"

#include <errno.h>
#include <jansson_config.h>
#include <stdio.h>
#include <string.h>

static int
find_route(struct call *c)
{
	CLEANUP_BUF struct buf allow = BUF_INIT(256);
	struct route_match m = route_find(c->req);

	c->route = m.route;
	/* An upload names its service in the query; a request for a capture
	 * names it in the body. */
	if (m.route && m.route->op == OP_CreateSession && !c->req->nquery)
		c->route = &routes[OP_StartProfile];
	if (m.route)
		return 0;
	if (!m.allowed)
		return fail(c, NotFound);
	route_allow(m.allowed, &allow);
	detail_text(c, "allowed", buf_str(&allow));
	(void)fail(c, MethodNotAllowed);
	reply_header(c->reply, "Allow", "%s", buf_str(&allow));
	return -1;
}

/* True for application/json, with any parameters. */
static bool
is_json(const char *type)
{
	static const char json[] = "application/json";
	size_t n = sizeof(json) - 1;

	return !strncasecmp(type, json, n) &&
	       (!type[n] || strchr("; ", type[n]));
}

static int
bad_json(struct call *c, const json_error_t *e)
{
	char deep[64];

	detail_int(c, "line", e->line);
	detail_int(c, "column", e->column);
	if (json_error_code(e) != json_error_stack_overflow)
		return fail(c, InvalidJson, e->text);
	snprintf(deep, sizeof(deep),
	         "it is nested deeper than the limit of "
	         "%d levels",
	         JSON_PARSER_MAX_DEPTH);
	return fail(c, InvalidJson, deep);
}

static int
receive(struct call *c, int64_t most, const char *key)
{
	char why[160];

	if (c->req->content_length < 0)
		return fail(c, LengthRequired);
	if (c->req->content_length > most) {
		detail_int(c, "maxBytes", most);
		snprintf(why, sizeof(why),
		         "the request body has more than %lld bytes%s",
		         (long long)most, key);
		return fail(c, PayloadTooLarge, why);
	}
	if (!c->receive(c))
		return 0;
	c->dropped = true;
	return fail(c, BadRequest);
}

/* An upload may be compressed; this is about how much it grows. */
#define UPLOAD_GROWS 8

/* Reads the body of an upload, after a place for a heavy call was obtained. */
static int
receive_upload(struct call *c)
{
	int64_t bytes = c->req->content_length;

	if (bytes > 0 && bytes <= c->env->conf->upload_max_bytes &&
	    call_reads(c, (uint64_t)bytes * (c->route->elf ? 1 : UPLOAD_GROWS)))
		return -1;
	return receive(c, c->env->conf->upload_max_bytes,
	               ", max_bytes in [upload] of stoker.conf");
}

/* Messages of JSON-RPC may come as a list. */
static bool
is_batch(const struct call *c)
{
	return json_is_array(c->body) && !strcmp(c->route->reply, "RPC");
}

static int
read_body(struct call *c)
{
	const struct request *r = c->req;
	json_error_t e;

	if (c->route->upload)
		return receive_upload(c);
	if (c->route->connect)
		return receive(c, CONNECT_MAX, "");
	if (!c->route->max_body)
		return 0;
	if (receive(c, (int64_t)c->route->max_body, ""))
		return -1;
	if (!is_json(r->content_type)) {
		detail_text(c, "contentType", r->content_type);
		return fail(c, UnsupportedMediaType, "application/json");
	}
	c->body = json_loadb(r->body, r->body_len, JSON_REJECT_DUPLICATES, &e);
	if (!c->body)
		return bad_json(c, &e);
	if (!json_is_object(c->body) && !is_batch(c))
		return fail_param(c, "body", "an object", "a list");
	return 0;
}

static int
run_handler(struct call *c)
{
	if (!is_batch(c) && params_read(c))
		return -1;
	if (c->route->method == METHOD_POST && *c->req->idempotency_key)
		return idempotent_run(c);
	return route_run(c);
}

/* Runs the handler. If the database aborts the transaction because of a
 * conflict, runs it again, for as long as a call may wait for a lock. */
static int
run(struct call *c, struct jwt_keys *keys)
{
	int64_t end_ns = clock_mono_ns() + DB_BUSY_MAX_MS * NS_PER_MS;
	int rc;

	if (call_go_on(c) || find_route(c) || auth_check(c, keys) ||
	    read_body(c))
		return -1;
	rc = run_handler(c);
	while (rc && c->busy && clock_mono_ns() < end_ns) {
		c->busy = c->begun = c->repeated = false;
		reply_clear(c->reply);
		rc = run_handler(c);
	}
	return rc;
}

/* Adds warnings about ignored members and parameters to the object in the
 * reply. */
static void
add_warnings(struct reply *r)
{
	struct buf *b = &r->body;

	if (!r->warnings.len || buf_err(&r->warnings) || !r->is_json ||
	    b->len < 2 || b->p[b->len - 1] != '}')
		return;
	b->len--;
	json_open(b, "warnings", '[');
	buf_add(b, r->warnings.p, r->warnings.len);
	json_close(b, ']');
	json_close(b, '}');
}

/* Ends a JSON reply with a line feed, so that a shell's prompt after curl
 * starts on a new line. */
static void
end_line(struct reply *r)
{
	if (r->is_json && r->body.len)
		buf_putc(&r->body, '\n');
}

static void
finish(struct call *c)
{
	struct reply *r = c->reply;

	add_warnings(r);
	refusal_page(c);
	end_line(r);
	if (!buf_err(&r->body) && !buf_err(&r->headers))
		return;
	if (buf_err(&r->body) == -ENOMEM)
		(void)fail_memory(c);
	else
		(void)fail(c, InternalError);
	end_line(r);
}

void
dispatch(struct call *c, struct jwt_keys *keys)
{
	(void)run(c, keys);
	finish(c);
}

void
dispatch_refuse(struct call *c, int rc)
{
	if (rc == -E2BIG)
		(void)fail(c, UriTooLong);
	else if (rc == -ENOENT)
		(void)fail(c, NotFound);
	else if (rc == -EPROTONOSUPPORT)
		(void)fail_store(c, rc);
	else
		(void)fail(c, BadRequest);
	finish(c);
}

void
dispatch_done(struct call *c)
{
	json_decref(c->body);
	c->body = NULL;
	caller_clear(&c->caller);
	counters_heavy_end(c->env->counters);
}
