/* stoker upload: stores a profile from another tool. */
#include "session.h"

#include "files.h"
#include "table.h"

#include <unistd.h>

/* The server's limit is lower, and the server reports it. */
#define UPLOAD_MAX ((size_t)1 << 30)

static void
query_number(struct buf *path, const char *key, int64_t v)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (v < 0)
		return;
	buf_int(&text, v);
	query_add(path, key, buf_str(&text));
}

int
cmd_upload(struct cli *c)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf file = BUF_INIT(UPLOAD_MAX);
	CLEANUP_BUF struct buf notes = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	struct content body = {.type = "application/octet-stream"};
	struct screen screen;
	int rc = read_named(c->operands[1], &file);

	if (!rc)
		rc = service_offer(c, c->operands[0]);
	if (rc)
		return rc;
	buf_puts(&path, PROFILING "/sessions");
	query_add(&path, "service", c->operands[0]);
	query_add(&path, "type", c->opt.type);
	query_add(&path, "format", c->opt.format);
	query_number(&path, "sampleRate", c->opt.rate);
	query_number(&path, "durationSeconds", c->opt.seconds);
	query_add(&path, "event", c->opt.event);
	body.p = buf_str(&file);
	body.n = file.len;
	rc = ask_send(c, buf_str(&path), &body, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	screen_of(STDERR_FILENO, false, &screen);
	reasons_show(&notes, r.json, &screen);
	fputs(buf_str(&notes), stderr);
	return print_done(c, c->operands[1], json_member(r.json, "id"));
}
