/*
 * POST /push.v1.PusherService/Push, for Alloy and SDKs of Pyroscope: profiles
 * of any number of series, each of which becomes windows as a push to /ingest
 * does.
 *
 * A request that cannot be read as a whole is refused as a whole.
 * Source: api/push/v1/push.proto of github.com/grafana/pyroscope 2.2.
 */
#include "base/json.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "connect_json.h"
#include "endpoint/call/accept.h"
#include "profile/stored/wire.h"
#include "pushed.h"

#include <errno.h>
#include <string.h>

#define MOST          1024 /* profiles of one request */
#define SERVICE_LABEL "service_name"
#define TEXT_MAX      2048 /* bytes of a label's name or value */

static const char json_form[] = "application/json";
static const char proto_form[] = "application/proto";

enum { REQUEST_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { SAMPLE_PROFILE = 1 };

struct request_push {
	struct call *c;
	struct pushed_list list;
	struct buf why;
};

static void
push_done(struct request_push *r)
{
	pushed_list_done(&r->list);
	buf_done(&r->why);
}

/* --- labels --------------------------------------------------------------- */

static int
bad(struct request_push *r, const char *why)
{
	buf_puts(&r->why, why);
	return -EBADMSG;
}

/* Reads a label into an object, and the name of the service into app. */
static int
read_label(struct request_push *r, struct wire w, json_t *labels,
           char app[static INGEST_APP_MAX])
{
	char text[2][TEXT_MAX + 1] = {"", ""};
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) > 0) {
		uint32_t at = f.key == WIRE_KEY(LABEL_VALUE, WIRE_BYTES);
		size_t n;

		if (!at && f.key != WIRE_KEY(LABEL_NAME, WIRE_BYTES))
			continue;
		n = (size_t)(f.bytes.end - f.bytes.p);
		if (n > TEXT_MAX || memchr(f.bytes.p, 0, n) ||
		    !utf8_valid((const char *)f.bytes.p, n))
			return bad(r, "a label is too long, or not text");
		memcpy(text[at], f.bytes.p, n);
		text[at][n] = '\0';
	}
	if (rc)
		return bad(r, "a label is not a message");
	if (!strcmp(text[0], SERVICE_LABEL)) {
		ingest_app(app, text[1], strnlen(text[1], INGEST_APP_MAX - 1));
		return 0;
	}
	if (!*text[0] || !strncmp(text[0], "__", 2))
		return 0;
	if (json_object_size(labels) == INGEST_MAX_LABELS) {
		buf_addf(&r->why, "a series has more than %d labels",
		         INGEST_MAX_LABELS);
		return -EBADMSG;
	}
	return json_object_set_new(labels, text[0], json_text(text[1]))
	               ? -ENOMEM
	               : 0;
}

static int
read_labels(struct request_push *r, struct wire w, char **out,
            char app[static INGEST_APP_MAX])
{
	CLEANUP_JSON json_t *labels = json_object();
	struct wire_field f;
	int rc, bad_label = 0;

	while ((rc = wire_next(&w, &f)) > 0 && !bad_label)
		if (f.key == WIRE_KEY(SERIES_LABELS, WIRE_BYTES))
			bad_label = read_label(r, f.bytes, labels, app);
	if (rc || bad_label)
		return bad_label ? bad_label
		                 : bad(r, "a series is not a message");
	if (!name_valid(app))
		return bad(r, "a series has no label service_name that can "
		              "name a service");
	*out = json_dumps(labels, JSON_SORT_KEYS | JSON_COMPACT);
	return *out ? 0 : -ENOMEM;
}

/* --- profiles ------------------------------------------------------------- */

static int
take(void *arg, const struct importer_part *of, struct profile **made)
{
	struct profile **out = arg;

	(void)of;
	if (*out)
		return -EOWNERDEAD; /* a file has one */
	*out = TAKE(*made);
	return 0;
}

/* Reads pprof: at once or, if it has patterns, in an importer. */
static int
read_profile(struct request_push *r, struct wire w, struct profile **out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(0);
	struct import_ask ask = {
		.type = "",
		.format = "pprof",
		.content_type = "",
		.deltas = true,
		.no_patterns = true,
		.limits = taken_limits(r->c),
	};
	struct part file;
	const char *p = (const char *)w.p;
	size_t n = (size_t)(w.end - w.p);
	int rc = import_inflate(p, n, &ask.limits, &raw, &r->why);

	if (rc)
		return rc;
	file = (struct part){raw.len ? raw.p : p, raw.len ? raw.len : n};
	rc = input_find("pprof")->read(file.p, file.n, &ask, out, &r->why);
	if (rc != -ENOTSUP)
		return rc;
	rc = taken_read(r->c, IMPORTER_PUSH, &ask, &file, take, out, &r->why);
	return rc ? rc : *out ? 0 : -EOWNERDEAD;
}

/* Adds the windows of one profile. */
static int
add_profile(struct request_push *r, struct wire w, const char *labels,
            const char *app)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = read_profile(r, w, &p);

	if (rc)
		return rc;
	rc = pushed_add(&r->list, app, labels, p, &r->why);
	if (rc == -E2BIG && !r->why.len)
		buf_addf(&r->why, "a push has more than %d profiles", MOST);
	return rc;
}

static int
read_sample(struct request_push *r, struct wire w, const char *labels,
            const char *app)
{
	struct wire_field f;
	int rc, failed = 0;

	while ((rc = wire_next(&w, &f)) > 0 && !failed)
		if (f.key == WIRE_KEY(SAMPLE_PROFILE, WIRE_BYTES))
			failed = add_profile(r, f.bytes, labels, app);
	return failed ? failed : rc ? bad(r, "a sample is not a message") : 0;
}

static int
read_series(struct request_push *r, struct wire w)
{
	CLEANUP_FREE char *labels = NULL;
	char app[INGEST_APP_MAX] = "";
	struct wire_field f;
	int rc = read_labels(r, w, &labels, app);

	while (!rc && wire_next(&w, &f) > 0)
		if (f.key == WIRE_KEY(SERIES_SAMPLES, WIRE_BYTES))
			rc = read_sample(r, f.bytes, labels, app);
	return rc;
}

/* Sets *w to the message of a body, which may be compressed or in JSON. */
static int
open_body(struct request_push *r, bool is_json, struct buf *raw,
          struct buf *message, struct wire *w)
{
	const struct import_limits limits = taken_limits(r->c);
	const char *p = r->c->req->body;
	size_t n = r->c->req->body_len;
	int rc = import_inflate(p, n, &limits, raw, &r->why);

	if (!rc && raw->len) {
		p = raw->p;
		n = raw->len;
	}
	if (!rc && is_json) {
		*message = BUF_INIT(2 * n);
		rc = connect_json(p, n, message, &r->why);
		p = buf_str(message);
		n = message->len;
	}
	*w = (struct wire){(const uint8_t *)p, (const uint8_t *)p + n};
	return rc;
}

static int
read_push(struct request_push *r, bool is_json)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(0);
	CLEANUP_BUF struct buf message = BUF_INIT(0);
	struct wire_field f;
	struct wire w;
	int more, rc = open_body(r, is_json, &raw, &message, &w);

	while (!rc && (more = wire_next(&w, &f)) != 0) {
		if (more < 0)
			rc = bad(r, "the body is not a protobuf message");
		else if (f.key == WIRE_KEY(REQUEST_SERIES, WIRE_BYTES))
			rc = read_series(r, f.bytes);
	}
	return rc ? taken_refuse(r->c, rc, buf_str(&r->why)) : 0;
}

/* --- storing -------------------------------------------------------------- */

static int
refuse(struct call *c, int rc, const char *service)
{
	if (rc == -ENOENT)
		return fail(c, UnknownService, service);
	if (rc == -EDQUOT)
		return fail(c, TooManyPushedSeries, service);
	return fail_store(c, rc);
}

static int
store_push(struct request_push *r)
{
	struct pushed_list *l = &r->list;
	struct call *c = r->c;
	int rc = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		rc = pushed_service(c, l->parts[i].app, "Pushed by Connect");
		if (rc)
			return refuse(c, rc, l->parts[i].app);
	}
	if (!l->n)
		return 0;
	if (call_begin(c))
		return -1;
	rc = pushed_store(l);
	for (uint32_t i = 0; i < l->n; i++)
		if (rc || l->windows[i].refused)
			return refuse(c, rc ? rc : l->windows[i].refused,
			              l->parts[i].app);
	return 0;
}

int
connect_push(struct call *c)
{
	bool is_json = content_is(c->req->content_type, json_form);
	CLEANUP(push_done)
	struct request_push r = {
		.c = c,
		.list = {.c = c, .most = MOST},
		.why = BUF_INIT(BUF_MAX_SMALL),
	};

	if (!is_json && !content_is(c->req->content_type, proto_form))
		return fail(c, UnsupportedMediaType,
		            "application/proto or application/json");
	if (read_push(&r, is_json) || store_push(&r))
		return -1;
	if (answer_empty(c, c->route->status))
		return -1;
	c->reply->content_type = is_json ? json_form : proto_form;
	if (is_json)
		buf_puts(&c->reply->body, "{}\n");
	return 0;
}
