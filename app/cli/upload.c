/* stoker upload: stores a profile from another tool. */
#include "session.h"

#include "files.h"
#include "import.h"
#include "profile/pprof.h"
#include "table.h"

#include <string.h>
#include <unistd.h>

static void
query_number(struct buf *path, const char *key, int64_t v)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (v < 0)
		return;
	buf_int(&text, v);
	query_add(path, key, buf_str(&text));
}

/* Converts a file that this machine reads better than the server to pprof.
 * *type is its type. */
static int
convert_here(struct cli *c, struct buf *file, const char **type)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct type *of;
	int rc = import_local(c, c->operands[1], file, c->opt.format, &p, &of);

	if (rc)
		return rc;
	buf_clear(file);
	rc = pprof_encode(p, file);
	*type = of->name;
	return rc ? failed("%s: %s", c->operands[1], strerror(-rc)) : LEAVE_OK;
}

int
cmd_upload(struct cli *c)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf file = BUF_INIT(IMPORT_MAX_FILE);
	CLEANUP_BUF struct buf notes = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	struct content body = {.type = "application/octet-stream"};
	const char *type = c->opt.type;
	struct screen screen;
	int rc = read_named(c->operands[1], &file);
	bool local = !rc && import_is_local(c, &file);

	if (local)
		rc = convert_here(c, &file, &type);
	if (!rc)
		rc = service_offer(c, c->operands[0]);
	if (rc)
		return rc;
	buf_puts(&path, PROFILING "/sessions");
	query_add(&path, "service", c->operands[0]);
	query_add(&path, "type", type);
	query_add(&path, "format", local ? NULL : c->opt.format);
	query_number(&path, "sampleRate", c->opt.rate);
	query_number(&path, "durationSeconds", c->opt.seconds);
	query_add(&path, "event", local ? NULL : c->opt.event);
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
