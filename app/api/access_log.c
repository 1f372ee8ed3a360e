#include "access_log.h"

#include "base/clock.h"

#define LINE_MAX_BYTES ((size_t)8 << 10)

static void
put_line(struct buf *out, const struct call *c, int64_t us)
{
	const struct reply *r = c->reply;

	json_open(out, NULL, '{');
	json_put_time(out, "time", clock_wall_ms());
	json_put_text(out, "requestId", c->req->id);
	json_put_text(out, "method", method_names[c->req->method]);
	json_put_text(out, "route", c->route ? c->route->path : "");
	json_put_int(out, "status", r->status);
	json_put_int(out, "us", us);
	json_put_int(out, "bytes", (int64_t)r->body.len);
	json_put_text(out, "tenant", c->caller.tenant);
	json_put_text(out, "token", c->caller.id);
	if (r->error)
		json_put_text(out, "error", r->error);
	if (r->cause.len)
		json_put_text(out, "cause", buf_str(&r->cause));
	json_close(out, '}');
	buf_putc(out, '\n');
}

void
access_log(const struct call *c, int64_t us)
{
	static struct buf line = BUF_INIT(LINE_MAX_BYTES);

	buf_clear(&line);
	put_line(&line, c, us);
	if (!buf_err(&line) && write(STDERR_FILENO, line.p, line.len) < 0)
		return; /* nowhere left to say it */
}
