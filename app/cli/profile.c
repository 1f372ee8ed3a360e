/* stoker top, get, pin, remove, open: work with existing profiles. */
#include "cli.h"

#include "files.h"
#include "live.h"
#include "named.h"
#include "profile.h"
#include "result.h"
#include "table.h"
#include "text.h"
#include "top.h"
#include "tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Refuses a profile that is not complete, which has no top functions. */
static int
check_ended(const char *id, const json_t *result)
{
	const char *status = "", *phase = "", *message = "";
	double progress = 0;

	(void)json_unpack((json_t *)result, "{s:s, s:s, s:F, s:{s:s}}",
	                  "status", &status, "phase", &phase, "progress",
	                  &progress, "error", "message", &message);
	if (!strcmp(status, "running"))
		return failed("%s is still running: %s, %.0f %%", id, phase,
		              progress * 100);
	if (*message && !strcmp(status, "failed"))
		return failed("%s failed: %s", id, message);
	return LEAVE_OK;
}

static int
ask_profile(struct cli *c, char id[static ID_MAX], struct http_reply *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc = profile_named(c, c->operands[0], type_asked(c), id);

	if (rc)
		return rc;
	profile_path(&path, id);
	return ask(c, "GET", buf_str(&path), NULL, out);
}

int
cmd_top(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	char id[ID_MAX];
	int rc;

	if (c->opt.disasm && !c->opt.list)
		return usage_error("--disasm needs --list FUNCTION");
	if (!c->noperands)
		return live_top(c);
	rc = ask_profile(c, id, &r);
	if (rc)
		return rc;
	graph_path(&path, id);
	if (c->opt.json)
		return top_print_json(c, r.json,
		                      json_object_get(r.json, "topFunctions"),
		                      buf_str(&path));
	rc = check_ended(id, r.json);
	if (rc && !json_array_size(json_object_get(r.json, "topFunctions")))
		return rc;
	reasons_show(&out, r.json, &c->screen);
	rc = session_top(c, r.json, &out);
	return rc ? rc : print(&out);
}

/* Returns the format to fetch; --json selects json. */
static const char *
format_of(const struct cli *c)
{
	return c->opt.format ? c->opt.format : c->opt.json ? "json" : "pprof";
}

int
profile_fetch(struct cli *c, const char *path)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	const char *format = format_of(c);
	int rc;

	if (c->opt.json && strcmp(format, "json") != 0)
		return usage_error("--json does not go with --format %s",
		                   format);

	if (!strcmp(format, "pprof") && !c->opt.output && isatty(STDOUT_FILENO))
		return usage_error(
			"pprof is not for a terminal: --output FILE");
	buf_puts(&at, path);
	query_add(&at, "format", format);
	query_add(&at, "sampleType", c->opt.sample_type);
	rc = ask(c, "GET", buf_str(&at), NULL, &r);
	if (rc)
		return rc;
	return c->opt.output ? write_named(c->opt.output, &r.body)
	                     : print_reply(&r.body);
}

int
cmd_get(struct cli *c)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	char id[ID_MAX];
	int rc = profile_named(c, c->operands[0], type_asked(c), id);

	if (rc)
		return rc;
	graph_path(&path, id);
	return profile_fetch(c, buf_str(&path));
}

/* Changes a profile with a call, and prints the outcome. */
static int
change(struct cli *c, const char *id, const char *method, const char *rest,
       const char *what)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	profile_path(&path, id);
	buf_puts(&path, rest);
	rc = ask(c, method, buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	if (r.status == 202)
		what = "cancelled";
	return print_done(c, id, what);
}

static int
pin(struct cli *c, const char *method, const char *what)
{
	char id[ID_MAX];
	int rc = profile_named(c, c->operands[0], "cpu", id);

	return rc ? rc : change(c, id, method, "/pin", what);
}

int
cmd_pin(struct cli *c)
{
	return pin(c, "POST", "pinned");
}

int
cmd_unpin(struct cli *c)
{
	return pin(c, "DELETE", "unpinned");
}

/* A pinned profile is meant to stay: without a terminal, only --yes removes
 * it. */
static int
confirm_pinned(const struct cli *c, const char *id)
{
	return is_attended()
	               ? confirm(c, "Delete %s, which is pinned?", id)
	               : usage_error("%s is pinned: to delete it, add --yes",
	                             id);
}

/* A running capture is cancelled without asking: it keeps its samples, so
 * nothing is lost. */
static int
confirm_remove(struct cli *c, const char *id)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	if (c->opt.yes)
		return LEAVE_OK;
	profile_path(&path, id);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc || !strcmp(json_member(r.json, "status"), "running"))
		return rc;
	if (json_is_true(json_object_get(r.json, "pinned")))
		return confirm_pinned(c, id);
	return confirm(c, "Delete %s, a %s profile of %s?", id,
	               json_member(r.json, "profileType"),
	               json_member(r.json, "service"));
}

int
cmd_remove(struct cli *c)
{
	char id[ID_MAX];
	int rc = profile_named(c, c->operands[0], NULL, id);

	if (!rc)
		rc = confirm_remove(c, id);
	return rc ? rc : change(c, id, "DELETE", "", "removed");
}

/* --- open ----------------------------------------------------------------- */

/* True for a link that may be passed to a browser. */
static bool
is_link(const char *url)
{
	return !strncmp(url, "http://", 7) || !strncmp(url, "https://", 8);
}

static bool
has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

/* Starts the desktop's browser. If that fails, nothing is reported, since the
 * link has been printed. */
static void
start_browser(const char *url)
{
	char *argv[] = {(char *)"xdg-open", (char *)url, NULL};
	posix_spawn_file_actions_t quiet;
	pid_t pid;

	if (posix_spawn_file_actions_init(&quiet))
		return;
	if (!posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO,
	                                      "/dev/null", O_WRONLY, 0) &&
	    !posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ))
		waitpid(pid, NULL, 0);
	posix_spawn_file_actions_destroy(&quiet);
}

/* Prints a link from the server, alone on standard output. */
static int
print_link(const char *url)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf tunnel = BUF_INIT(BUF_MAX_SMALL);

	if (!is_link(url))
		return failed("the server gave no link");
	safe_puts(&out, url);
	buf_putc(&out, '\n');
	tunnel_show(&tunnel, url);
	fputs(buf_str(&tunnel), stderr);
	return print(&out);
}

int
cmd_open(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	char id[ID_MAX];
	const char *url;
	int rc = ask_profile(c, id, &r);

	if (rc)
		return rc;
	if (c->opt.json)
		return print_json(json_object_get(r.json, "links"));
	url = json_member(r.json, "flameGraphUrl");
	rc = print_link(url);
	if (!rc && has_display())
		start_browser(url);
	return rc;
}

/* The link is a secret. As an argument of a browser it would be visible to
 * every user of this machine, so the user has to open it. */
int
cmd_ui(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	int rc = ask(c, "POST", "/api/v1/browser-session/link", NULL, &r);

	if (rc)
		return rc;
	return c->opt.json ? print_json(r.json)
	                   : print_link(json_member(r.json, "url"));
}
