/* What every command does: talk to the server, print, complain. */
#include "cli.h"

#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void
complain(const char *fmt, va_list ap)
{
	fputs("stoker: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int
usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	return LEAVE_USAGE;
}

int
failed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	return LEAVE_FAILED;
}

int
print(const struct buf *b)
{
	if (buf_err(b))
		return failed("%s", strerror(-buf_err(b)));
	fwrite(buf_str(b), 1, b->len, stdout);
	if (fflush(stdout) || ferror(stdout))
		return failed("standard output: %s", strerror(errno));
	return LEAVE_OK;
}

int
print_json(const json_t *j)
{
	if (json_dumpf(j, stdout,
	               JSON_INDENT(2) | JSON_ENCODE_ANY |
	                       JSON_REAL_PRECISION(15)) ||
	    putchar('\n') < 0 || fflush(stdout))
		return failed("standard output: %s", strerror(errno));
	return LEAVE_OK;
}

int
print_done(const struct cli *c, const char *name, const char *what)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;

	if (!c->opt.json) {
		buf_addf(&line, "%s: %s\n", name, what);
		return print(&line);
	}
	j = json_pack("{ss ss}", "name", name, "result", what);
	return j ? print_json(j) : failed("a name is not UTF-8");
}

int
need_token(const struct cli *c)
{
	return c->token_why ? failed("%s", c->token_why) : LEAVE_OK;
}

/* An error as people read it, or as JSON. */
static void
tell_error(const struct cli *c, const struct reply *r)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (c->opt.json && r->json) {
		print_json(r->json);
		return;
	}
	error_show(&text, r->status, r->json, r->retry_after);
	fputs(buf_str(&text), stderr);
	if (r->status == 401 && !c->http.token)
		fputs("  give a token: --token-file FILE or $STOKER_TOKEN; "
		      "stoker token create makes one\n",
		      stderr);
}

/* What the server ignored. */
static void
tell_warnings(const struct cli *c, const struct reply *r)
{
	const json_t *list = json_object_get(r->json, "warnings"), *warning;
	size_t i;

	if (c->opt.json)
		return; /* they are in it */
	json_array_foreach(list, i, warning)
	{
		CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);

		value_show(&line, warning);
		fprintf(stderr, "stoker: warning: %s\n", buf_str(&line));
	}
}

/* What became of an exchange, told to the user; status may_be is no failure. */
static int
judge(struct cli *c, int rc, const struct reply *r, const struct buf *why,
      long may_be)
{
	if (rc == -EINTR)
		return LEAVE_INTERRUPTED;
	if (rc == -EHOSTUNREACH) {
		failed("%s\n  stoker doctor tells what is missing",
		       buf_str(why));
		return LEAVE_UNREACHED;
	}
	if (rc)
		return failed("%s", strerror(-rc));
	if (r->status >= 200 && r->status < 300)
		tell_warnings(c, r);
	if ((r->status >= 200 && r->status < 300) || r->status == may_be)
		return LEAVE_OK;
	tell_error(c, r);
	return LEAVE_FAILED;
}

static int
ask_json(struct cli *c, const char *method, const char *path,
         const json_t *body, struct reply *out, long may_be)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = need_token(c);

	if (rc)
		return rc;
	rc = http_call(&c->http, method, path, body, out, &why);
	return judge(c, rc, out, &why, may_be);
}

int
ask(struct cli *c, const char *method, const char *path, const json_t *body,
    struct reply *out)
{
	return ask_json(c, method, path, body, out, 0);
}

int
ask_maybe(struct cli *c, const char *method, const char *path,
          const json_t *body, struct reply *out)
{
	return ask_json(c, method, path, body, out, 404);
}

int
ask_send(struct cli *c, const char *path, const struct content *body,
         struct reply *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = need_token(c);

	if (rc)
		return rc;
	rc = http_send(&c->http, "POST", path, body, out, &why);
	return judge(c, rc, out, &why, 0);
}
