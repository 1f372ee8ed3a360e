#include "endpoint/reply.h"

#include <errno.h>
#include <string.h>

#define KEPT_BYTES  ((size_t)1 << 20)
#define MAX_DETAILS ((size_t)16 << 10)

void
reply_init(struct reply *r)
{
	*r = (struct reply){
		.body = BUF_INIT(BUF_MAX_REPLY),
		.headers = BUF_INIT(REPLY_MAX_HEADERS),
		.details = BUF_INIT(MAX_DETAILS),
		.warnings = BUF_INIT(MAX_DETAILS),
		.cause = BUF_INIT(MAX_DETAILS),
	};
}

void
reply_done(struct reply *r)
{
	buf_done(&r->body);
	buf_done(&r->headers);
	buf_done(&r->details);
	buf_done(&r->warnings);
	buf_done(&r->cause);
}

void
reply_clear(struct reply *r)
{
	if (r->body.cap > KEPT_BYTES)
		buf_done(&r->body);
	buf_clear(&r->body);
	buf_clear(&r->headers);
	buf_clear(&r->details);
	buf_clear(&r->warnings);
	buf_clear(&r->cause);
	r->status = r->retry_s = 0;
	r->content_type = r->error = NULL;
	r->is_json = false;
	r->etag[0] = '\0';
}

void
reply_header(struct reply *r, const char *name, const char *fmt, ...)
{
	size_t start;
	va_list ap;

	buf_puts(&r->headers, name);
	buf_puts(&r->headers, ": ");
	start = r->headers.len;
	va_start(ap, fmt);
	buf_vaddf(&r->headers, fmt, ap);
	va_end(ap);
	for (size_t i = start; i < r->headers.len; i++)
		if ((unsigned char)r->headers.p[i] < ' ')
			r->headers.err = -EINVAL;
	buf_puts(&r->headers, "\r\n");
}
