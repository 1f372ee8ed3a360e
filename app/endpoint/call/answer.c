#include "base/clock.h"
#include "endpoint/call.h"

#include "base/conf.h"
#include "store/audit.h"
#include "store/job.h"
#include "store/service.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json"

struct buf *
answer_json(struct call *c)
{
	c->reply->status = c->route->status;
	c->reply->content_type = JSON_TYPE;
	c->reply->is_json = true;
	buf_clear(&c->reply->body);
	json_open(&c->reply->body, NULL, '{');
	return &c->reply->body;
}

int
answer_end(struct call *c)
{
	json_close(&c->reply->body, '}');
	if (buf_err(&c->reply->body))
		return fail_store(c, buf_err(&c->reply->body));
	return 0;
}

int
answer_empty(struct call *c, int status)
{
	buf_clear(&c->reply->body);
	c->reply->status = status;
	c->reply->content_type = NULL;
	c->reply->is_json = false;
	return 0;
}

/* True when If-None-Match lists the tag, compared weakly: nginx makes tags weak
 * when it compresses. Source: RFC 9110, 13.1.2. */
static bool
etag_listed(const char *list, const char *etag)
{
	size_t n = strlen(etag);

	while (*list) {
		list += strspn(list, " ,");
		if (*list == '*')
			return true;
		if (!strncmp(list, "W/", 2))
			list += 2;
		if (!strncmp(list, etag, n))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

bool
answer_etag(struct call *c, const char *fmt, ...)
{
	char *etag = c->reply->etag;
	va_list ap;
	int n;

	etag[0] = '"';
	va_start(ap, fmt);
	n = vsnprintf(etag + 1, REPLY_ETAG_MAX - 2, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= REPLY_ETAG_MAX - 2) {
		etag[0] = '\0';
		return false;
	}
	memcpy(etag + 1 + n, "\"", 2);
	return etag_listed(c->req->if_none_match, etag);
}

void
detail_text(struct call *c, const char *name, const char *value)
{
	struct buf *d = &c->reply->details;

	buf_putc(d, d->len ? ',' : '{');
	json_put_text(d, name, value);
}

void
detail_int(struct call *c, const char *name, int64_t value)
{
	struct buf *d = &c->reply->details;

	buf_putc(d, d->len ? ',' : '{');
	json_put_int(d, name, value);
}

void
warn_client(struct call *c, const char *fmt, ...)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1024);
	struct buf *w = &c->reply->warnings;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (buf_err(&text) || w->len + 6 * text.len > w->max)
		return; /* more warnings would not help */
	buf_puts(w, w->len ? "," : "");
	json_escape(w, text.p, text.len);
}

void
reply_retry(struct call *c, int seconds)
{
	c->reply->retry_s = seconds;
}

/* Returns the code of the Connect protocol for an error.
 *   Source   connectrpc.com/docs/protocol, "Error codes" */
static const char *
connect_code(enum error e)
{
	static const struct {
		int status;
		const char *code;
	} codes[] = {
		{400, "invalid_argument"},    {401, "unauthenticated"},
		{403, "permission_denied"},   {404, "not_found"},
		{408, "deadline_exceeded"},   {409, "failed_precondition"},
		{412, "failed_precondition"}, {413, "resource_exhausted"},
		{415, "invalid_argument"},    {422, "resource_exhausted"},
		{429, "resource_exhausted"},  {501, "unimplemented"},
		{503, "unavailable"},         {504, "deadline_exceeded"},
	};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].status == errors[e].status)
			return codes[i].code;
	return "internal";
}

/* Writes the details. In the Connect protocol, details are a list of messages:
 * such a reply has its code instead. */
static void
put_details(struct call *c, enum error e)
{
	struct reply *r = c->reply;

	if (r->details.len && !buf_err(&r->details))
		buf_putc(&r->details, '}');
	if (c->route && c->route->connect)
		json_put_text(&r->body, "code", connect_code(e));
	else
		json_put_raw(&r->body, "details", buf_str(&r->details), "{}");
}

int
fail_as(struct call *c, enum error e, const char *fmt, ...)
{
	CLEANUP_BUF struct buf text = BUF_INIT(8192);
	struct reply *r = c->reply;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	buf_clear(&r->headers);
	buf_clear(&r->body);
	if (e == E_Unauthorized)
		reply_header(r, "WWW-Authenticate", "Bearer realm=\"stoker\"");
	r->status = errors[e].status;
	r->content_type = JSON_TYPE;
	r->error = errors[e].code;
	r->is_json = true;
	r->etag[0] = '\0';
	json_open(&r->body, NULL, '{');
	json_put_text(&r->body, "message", buf_str(&text));
	json_put_text(&r->body, "error_code", errors[e].code);
	put_details(c, e);
	json_close(&r->body, '}');
	return -1;
}

int
fail_param(struct call *c, const char *name, const char *expected,
           const char *got)
{
	detail_text(c, "parameter", name);
	detail_text(c, "expected", expected);
	detail_text(c, "got", got);
	return fail(c, InvalidParameter, name, expected);
}

static int
fail_quota(struct call *c)
{
	const struct excess *e = &c->env->store.excess;
	const struct conf_quota *q = &conf_quotas[e->quota];

	detail_text(c, "quota", q->name);
	detail_int(c, "limit", e->limit);
	detail_int(c, "held", e->held);
	detail_text(c, "freedBy", q->frees);
	counters_quota(c->env->counters, e->quota);
	if (e->wait_ms)
		reply_retry(c, (int)(e->wait_ms / MS_PER_S) + 1);
	return fail(c, QuotaExceeded, q->name, (long long)e->held,
	            (long long)e->limit, q->frees);
}

int
fail_memory(struct call *c)
{
	detail_int(c, "maxBytes", c->env->conf->api_request_memory);
	return fail(c, RequestTooExpensive);
}

/* The part of the reason that a user may know. */
static const char *
store_reason(int rc)
{
	switch (rc) {
	case -EBUSY:
		return "another program keeps the database locked";
	case -EDQUOT:
	case -ENOSPC:
		return "the disk is full";
	case -EROFS:
		return "the disk is read-only";
	case -EACCES:
	case -EPERM:
		return "the server lacks access to its files";
	case -EBADMSG:
		return "its files are damaged";
	case -EIO:
	case -EPROTO: /* other columns: row.h */
		return "the disk or the database fails";
	case -EPROTONOSUPPORT:
		return "a newer release of Stoker has changed the database";
	default:
		return "the object store does not do what it is asked for";
	}
}

int
fail_store(struct call *c, int rc)
{
	const char *why = db_why(c->env->store.db);

	if (rc == -EXFULL)
		return fail_quota(c);
	buf_addf(&c->reply->cause, "%s%s%s", strerror(-rc), *why ? ": " : "",
	         why);
	c->busy = rc == -EBUSY;
	switch (rc) {
	case -ENOMEM:
		return fail_memory(c);
	case -ETOOMANYREFS:
		return fail(c, TooManyChanges, CHANGES_MAX);
	case -EACCES:
	case -EBUSY:
	case -EDQUOT:
	case -EIO:
	case -ENOSPC:
	case -EPERM:
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -EROFS:
	case -EBADMSG:
	case -EHOSTUNREACH: /* from an object store: s3.h */
	case -EKEYREJECTED:
	case -ENOTSUP:
	case -EREMOTEIO:
	case -ETIMEDOUT:
		counters_store_error(c->env->counters);
		return fail_retry(c, 2, StoreUnavailable, store_reason(rc));
	default:
		return fail(c, InternalError);
	}
}

int
fail_service(struct call *c, int rc, const char *name)
{
	if (rc != -ENOENT)
		return fail_store(c, rc);
	detail_text(c, "service", name);
	return fail(c, UnknownService, name);
}

int
call_service(struct call *c, const char *name, struct service *out)
{
	CLEANUP_SERVICE struct service found = {0};
	int rc = service_get(&c->env->store, c->caller.tenant, name,
	                     out ?: &found);

	return rc ? fail_service(c, rc, name) : 0;
}

/* --- lists ---------------------------------------------------------------- */

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

/* --- hosts of a fleet ----------------------------------------------------- */

int
call_check_certificate(struct call *c, const char *host)
{
	const char *shown = c->req->certificate;

	if (!*shown || !strcmp(shown, host))
		return 0;
	detail_text(c, "certificate", shown);
	detail_text(c, "host", host);
	return fail(c, CertificateForbidden, host,
	            strcmp(shown, "-") ? shown : "no host");
}

/* --- jobs of silent workers ----------------------------------------------- */

#define EXPIRE_NS (10 * NS_PER_S)

int
call_expire_jobs(struct call *c)
{
	struct env *e = c->env;
	const int64_t lease_ms = e->conf->worker_lease * MS_PER_S;
	const int64_t now_ns = clock_mono_ns();
	int rc = lease_clock_check(&e->leases, &e->store, 2 * lease_ms, now_ns);

	if (rc <= 0)
		return rc;
	e->leases.from_ns = now_ns + EXPIRE_NS;
	rc = job_expire(&e->store, lease_ms);
	return rc < 0 && rc != -EBUSY ? rc : 0;
}

/* --- the audit log -------------------------------------------------------- */

#define HOUR_MS (3600 * MS_PER_S)

int
audit_lines(struct call *c, const char *action, int64_t within_ms, int64_t *out)
{
	const struct audit like = {
		.tenant = c->caller.tenant,
		.actor = c->caller.id,
		.action = (char *)action,
	};

	return audit_recent(&c->env->store, &like, within_ms, out);
}

int
audit_note(struct call *c, const char *target, const char *detail)
{
	const struct audit a = {
		.tenant = c->caller.tenant,
		.actor = c->caller.id,
		.action = (char *)c->route->name,
		.target = (char *)target,
		.request_id = (char *)c->req->id,
		.detail = (char *)detail,
	};
	int64_t n = 0;
	int rc = audit_lines(c, "", HOUR_MS, &n);

	if (!rc && n >= CHANGES_MAX)
		rc = -ETOOMANYREFS;
	return rc ?: audit_add(&c->env->store, &a);
}

int
audit_end(struct call *c, int rc, const char *target, const char *detail)
{
	return store_end(&c->env->store, rc ?: audit_note(c, target, detail));
}
