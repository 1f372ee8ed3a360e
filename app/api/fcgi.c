#include "fcgi.h"

#include "base/id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHUNK ((size_t)64 << 10)

static const char *
header(FCGX_Request *f, const char *name)
{
	const char *v = FCGX_GetParam(name, f->envp);

	return v ? v : "";
}

/* Reads a length; "" is 0, because a request without a body has none. */
static int64_t
parse_length(const char *text)
{
	char *end;
	long long n;

	if (!*text)
		return 0;
	errno = 0;
	n = strtoll(text, &end, 10);
	return errno || *end || n < 0 ? -1 : n;
}

/* Reads all of CONTENT_LENGTH or fails. libfcgi ends the stream early when the
 * peer goes away or a signal arrives, and only FCGX_GetError() shows it. */
int
fcgi_body(FCGX_Request *f, struct request *r, struct buf *body)
{
	size_t left = (size_t)r->content_length;

	buf_clear(body);
	while (left) {
		size_t want = left < CHUNK ? left : CHUNK;
		char *to = buf_reserve(body, want);
		int n = to ? FCGX_GetStr(to, (int)want, f->in) : 0;

		if (n <= 0)
			return -EPIPE;
		body->len += (size_t)n;
		left -= (size_t)n;
	}
	/* the stream must end after the body */
	if (FCGX_GetChar(f->in) != EOF || FCGX_GetError(f->in))
		return -EPIPE;
	r->body = buf_str(body);
	r->body_len = body->len;
	return 0;
}

static const char *
request_id(FCGX_Request *f, char made[static ID_MAX])
{
	const char *id = header(f, "REQUEST_ID");

	if (strlen(id) <= REQUEST_MAX_ID && id_valid("", id))
		return id;
	id_new("req-", made);
	return made;
}

static bool
is_loopback(const char *address)
{
	return !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

int
fcgi_receive(FCGX_Request *f, struct request *out)
{
	static char made[ID_MAX];

	out->method = request_method(header(f, "REQUEST_METHOD"));
	out->id = request_id(f, made);
	out->authorization = header(f, "HTTP_AUTHORIZATION");
	out->tenant = header(f, "HTTP_X_TENANT_ID");
	if (!*out->tenant) /* the header of Pyroscope's clients */
		out->tenant = header(f, "HTTP_X_SCOPE_ORGID");
	out->content_type = header(f, "CONTENT_TYPE");
	out->accept = header(f, "HTTP_ACCEPT");
	out->if_none_match = header(f, "HTTP_IF_NONE_MATCH");
	out->idempotency_key = header(f, "HTTP_IDEMPOTENCY_KEY");
	out->cookie = header(f, "HTTP_COOKIE");
	out->origin = header(f, "HTTP_ORIGIN");
	out->fetch_site = header(f, "HTTP_SEC_FETCH_SITE");
	out->mcp_version = header(f, "HTTP_MCP_PROTOCOL_VERSION");
	out->host = header(f, "HTTP_HOST");
	out->secure = !strcmp(header(f, "REQUEST_SCHEME"), "https");
	out->loopback = is_loopback(header(f, "REMOTE_ADDR"));
	out->metrics_allowed = !strcmp(header(f, "METRICS_ALLOWED"), "1");
	out->sso_user = header(f, "SSO_USER");
	out->sso_groups = header(f, "SSO_GROUPS");
	out->certificate = header(f, "HOST_CERTIFICATE");
	out->content_length = parse_length(header(f, "CONTENT_LENGTH"));
	out->peer_fd = f->ipcFd;
	out->body = "";
	out->body_len = 0;
	return request_target(out, header(f, "REQUEST_URI"));
}

/* The reason phrase of each status in routes.def and errors.def, which nginx
 * passes on. Source: RFC 9110, 15; RFC 6585 for 429 and 431. */
static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{304, "Not Modified"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{411, "Length Required"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{416, "Range Not Satisfiable"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

const char *
fcgi_reason(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

static void
put_line(struct buf *b, const char *name, const char *value)
{
	buf_puts(b, name);
	buf_puts(b, value);
	buf_puts(b, "\r\n");
}

/* Writes the headers, without printf, because this runs for every reply. */
static void
put_head(struct buf *b, const struct request *req, const struct reply *reply)
{
	buf_puts(b, "Status: ");
	buf_int(b, reply->status);
	put_line(b, " ", fcgi_reason(reply->status));
	put_line(b, "X-Request-Id: ", req->id);
	if (reply->content_type)
		put_line(b, "Content-Type: ", reply->content_type);
	if (*reply->etag)
		put_line(b, "ETag: ", reply->etag);
	if (reply->retry_s) {
		buf_puts(b, "Retry-After: ");
		buf_int(b, reply->retry_s);
		buf_puts(b, "\r\n");
	}
	buf_add(b, buf_str(&reply->headers), reply->headers.len);
	if (reply->status != 204 && reply->status != 304) {
		buf_puts(b, "Content-Length: ");
		buf_int(b, (int64_t)reply->body.len);
		buf_puts(b, "\r\n");
	}
	buf_puts(b, "\r\n");
}

void
fcgi_send(FCGX_Request *f, const struct request *req, const struct reply *reply)
{
	static struct buf head = BUF_INIT(2 * REPLY_MAX_HEADERS);

	buf_clear(&head);
	put_head(&head, req, reply);
	FCGX_PutStr(buf_str(&head), (int)head.len, f->out);
	if (req->method != METHOD_HEAD)
		FCGX_PutStr(buf_str(&reply->body), (int)reply->body.len,
		            f->out);
}
