/* stoker top, get, pin, remove: profiles that exist. */
#include "cli.h"

#include "base/file.h"
#include "profile.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void
profile_path(struct buf *out, const char *id)
{
	buf_puts(out, PROFILES "/");
	url_escape(out, id);
}

/* A profile that is not there yet, or never will be, has no top functions. */
static int
check_ended(const struct cli *c, const json_t *result)
{
	const char *status = "", *phase = "", *message = "";
	double progress = 0;

	(void)json_unpack((json_t *)result, "{s:s, s:s, s:F, s:{s:s}}",
	                  "status", &status, "phase", &phase, "progress",
	                  &progress, "error", "message", &message);
	if (!strcmp(status, "running"))
		return failed("%s is still running: %s, %.0f %%",
		              c->operands[0], phase, progress * 100);
	if (*message && !strcmp(status, "failed"))
		return failed("%s failed: %s", c->operands[0], message);
	return LEAVE_OK;
}

int
cmd_top(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int rc;

	profile_path(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	if (c->opt.json)
		return print_json(json_object_get(r.json, "topFunctions"));
	rc = check_ended(c, r.json);
	if (rc && !json_array_size(json_object_get(r.json, "topFunctions")))
		return rc;
	top_show(&out, r.json, c->opt.limit, screen_width(STDOUT_FILENO));
	return print(&out);
}

static int
write_file(const char *path, const struct buf *body)
{
	CLEANUP_FREE char *copy = strdup(path);
	CLEANUP_FD int dir = -1;
	char *slash = copy ? strrchr(copy, '/') : NULL;
	int rc;

	if (!copy)
		return failed("out of memory");
	if (slash)
		*slash = '\0';
	dir = open(!slash  ? "."
	           : *copy ? copy
	                   : "/",
	           O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return failed("%s: %s", path, strerror(errno));
	rc = file_replace(dir, slash ? slash + 1 : path, 0644, buf_str(body),
	                  body->len);
	return rc ? failed("%s: %s", path, strerror(-rc)) : LEAVE_OK;
}

int
profile_fetch(struct cli *c, const char *path)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	const char *format = c->opt.format ? c->opt.format : "pprof";
	int rc;

	if (!strcmp(format, "pprof") && !c->opt.output && isatty(STDOUT_FILENO))
		return usage_error(
			"pprof is not for a terminal: --output FILE");
	buf_puts(&at, path);
	query_add(&at, "format", format);
	rc = ask(c, "GET", buf_str(&at), NULL, &r);
	if (rc)
		return rc;
	return c->opt.output ? write_file(c->opt.output, &r.body)
	                     : print(&r.body);
}

int
cmd_get(struct cli *c)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	profile_path(&path, c->operands[0]);
	buf_puts(&path, "/flamegraph");
	return profile_fetch(c, buf_str(&path));
}

/* A call about a profile, and what became of it then. */
static int
change(struct cli *c, const char *method, const char *rest, const char *what)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	profile_path(&path, c->operands[0]);
	buf_puts(&path, rest);
	rc = ask(c, method, buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	if (r.status == 202)
		what = "cancelled";
	return print_done(c, c->operands[0], what);
}

int
cmd_pin(struct cli *c)
{
	return change(c, "POST", "/pin", "pinned");
}

int
cmd_unpin(struct cli *c)
{
	return change(c, "DELETE", "/pin", "unpinned");
}

int
cmd_remove(struct cli *c)
{
	return change(c, "DELETE", "", "removed");
}
