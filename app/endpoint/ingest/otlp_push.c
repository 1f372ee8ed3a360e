/*
 * POST /v1development/profiles, for exporters of OpenTelemetry: profiles of any
 * number of services, each of which becomes windows as a push to /ingest does.
 *
 * Profiles that cannot be stored do not keep others from being stored: the
 * reply has their number, and the first reason. A request of which nothing is
 * stored fails. Source: the OTLP specification, section OTLP/HTTP;
 * collector/profiles/v1development of opentelemetry-proto 1.11.
 */
#include "base/rows.h"
#include "endpoint/call/accept.h"
#include "profile/otlp.h"
#include "profile/stored/wire.h"
#include "pushed.h"

#include <errno.h>
#include <string.h>

#define MOST    4096 /* pushes of one request */
#define UNNAMED "unknown_service"

enum { RESPONSE_PARTIAL_SUCCESS = 1 };
enum { PARTIAL_REJECTED = 1, PARTIAL_MESSAGE };

struct export
{
	struct call *c;
	struct pushed_list list; /* parts by service; profiles that add up
	                            are one */
	uint32_t *profiles;      /* by part: the number of profiles in it */
	uint32_t room;
	uint64_t rejected;
	struct buf why; /* the first reason */
};

static void
export_done(struct export *e)
{
	pushed_list_done(&e->list);
	free(e->profiles);
	buf_done(&e->why);
}

static void PRINTF(3, 4)
	reject(struct export *e, uint32_t profiles, const char *fmt, ...)
{
	va_list ap;

	e->rejected += profiles;
	if (e->why.len)
		return;
	va_start(ap, fmt);
	buf_vaddf(&e->why, fmt, ap);
	va_end(ap);
}

/* --- reading -------------------------------------------------------------- */

/* Makes the windows of a part, which has none if they cannot be stored. */
static int
make_windows(struct export *e, const struct otlp_part *of, struct profile *p)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const char *name = *of->service ? of->service : UNNAMED;
	char app[INGEST_APP_MAX];
	int rc;

	ingest_app(app, name, strlen(name));
	e->profiles[e->list.n] = of->profiles;
	rc = pushed_add(&e->list, app, of->labels, p, &why);
	if (!rc && name_valid(app))
		return 0;
	if (rc && rc != -EBADMSG && rc != -EOVERFLOW)
		return rc;
	reject(e, of->profiles, "%s: %s", name,
	       rc ? buf_str(&why) : "this is not a name of a service");
	push_windows_done(&e->list.windows[e->list.n - 1]);
	return 0;
}

static int
take_part(void *arg, const struct otlp_part *of, struct profile **made)
{
	struct export *e = arg;
	int rc = ROWS_ROOM_OF(e->profiles, e->room, e->list.n, 1, MOST);

	if (rc == -E2BIG)
		buf_addf(&e->why,
		         "it has more than %d profiles that do not "
		         "add up",
		         MOST);
	return rc ? rc : make_windows(e, of, *made);
}

static int
take_imported(void *arg, const struct importer_part *of, struct profile **made)
{
	return take_part(
		arg, &(struct otlp_part){of->service, of->labels, of->profiles},
		made);
}

/* Reads protobuf at once, and JSON in an importer. */
static int
read_body(struct export *e, const struct import_ask *ask, struct buf *why)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(0);
	struct part body = {e->c->req->body, e->c->req->body_len};
	int rc = import_inflate(body.p, body.n, &ask->limits, &raw, why);

	if (rc)
		return rc;
	if (raw.len)
		body = (struct part){raw.p, raw.len};
	if (otlp_is_json(body.p, body.n))
		return taken_read(e->c, IMPORTER_OTLP, ask, &body,
		                  take_imported, e, why);
	return otlp_read(body.p, body.n, ask, take_part, e, why);
}

static int
read_parts(struct export *e)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.deltas = true,
		.limits = taken_limits(e->c),
	};
	int rc = read_body(e, &ask, &why);

	if (!rc || rc == -ENODATA)
		return 0;
	if (!why.len)
		buf_puts(&why, buf_str(&e->why));
	if (rc == -EPROTONOSUPPORT) /* no known layout */
		rc = -EBADMSG;
	return taken_refuse(e->c, rc, buf_str(&why));
}

/* --- storing -------------------------------------------------------------- */

/* Finds or creates the service of a part; the part is left out if there is
 * none. */
static int
find_service(struct export *e, uint32_t i)
{
	const char *app = e->list.parts[i].app;
	struct push_windows *w = &e->list.windows[i];
	int rc;

	if (!w->n)
		return 0;
	rc = pushed_service(e->c, app, "Pushed by OpenTelemetry");
	if (!rc)
		return 0;
	if (rc != -ENOENT && rc != -EXFULL)
		return fail_store(e->c, rc);
	reject(e, e->profiles[i], "%s: %s", app,
	       rc == -ENOENT ? "the service is unknown, and create_services in "
	                       "[upload] of stoker.conf is 0"
	                     : "the tenant has as many services as its quota "
	                       "allows");
	push_windows_done(w);
	return 0;
}

static int
store_parts(struct export *e)
{
	const struct pushed_list *l = &e->list;
	int rc = 0;

	for (uint32_t i = 0; i < l->n && !rc; i++)
		rc = find_service(e, i);
	if (rc || call_begin(e->c))
		return -1;
	rc = pushed_store(&e->list);
	for (uint32_t i = 0; i < l->n && !rc; i++)
		if (l->windows[i].refused)
			reject(e, e->profiles[i], "%s: %s", l->parts[i].app,
			       l->windows[i].refused == -EDQUOT
			               ? "pushes of the service have too many "
			                 "sets of labels: max_series in "
			                 "[upload] of stoker.conf is the limit"
			               : "the service was removed");
	return rc ? fail_store(e->c, rc) : 0;
}

/* --- answering ------------------------------------------------------------ */

static void
put_partial(const struct export *e, struct buf *out)
{
	size_t place;

	if (!e->rejected)
		return;
	place = wire_open(out, RESPONSE_PARTIAL_SUCCESS);
	wire_put_number(out, PARTIAL_REJECTED, e->rejected);
	wire_put_bytes(out, PARTIAL_MESSAGE, buf_str(&e->why), e->why.len);
	wire_close(out, place);
}

static int
answer_protobuf(const struct export *e)
{
	struct reply *r = e->c->reply;

	if (answer_empty(e->c, e->c->route->status))
		return -1;
	r->content_type = "application/x-protobuf";
	put_partial(e, &r->body);
	return buf_err(&r->body) ? fail_store(e->c, buf_err(&r->body)) : 0;
}

static int
answer_in_json(const struct export *e)
{
	struct buf *out = answer_json(e->c);
	char number[24];

	if (e->rejected) {
		snprintf(number, sizeof(number), "%llu",
		         (unsigned long long)e->rejected);
		json_open(out, "partialSuccess", '{');
		json_put_text(out, "rejectedProfiles", number);
		json_put_text(out, "errorMessage", buf_str(&e->why));
		json_close(out, '}');
	}
	return answer_end(e->c);
}

static uint64_t
profiles_of(const struct export *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->list.n; i++)
		n += e->profiles[i];
	return n;
}

int
otlp_post(struct call *c)
{
	CLEANUP(export_done)
	struct export e = {
		.c = c,
		.list = {.c = c, .most = MOST},
		.why = BUF_INIT(BUF_MAX_SMALL),
	};

	if (read_parts(&e) || store_parts(&e))
		return -1;
	if (e.rejected && e.rejected == profiles_of(&e)) {
		detail_text(c, "reason", buf_str(&e.why));
		return fail(c, IngestFailed, buf_str(&e.why));
	}
	return content_is(c->req->content_type, "application/json")
	               ? answer_in_json(&e)
	               : answer_protobuf(&e);
}
