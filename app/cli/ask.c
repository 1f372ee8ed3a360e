/* How all commands call the server, print, and report errors. */
#include "cli.h"

#include "near.h"
#include "own_server.h"
#include "settings.h"
#include "table.h"
#include "text.h"
#include "when.h"

#include <ctype.h>
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
print_reply(const struct buf *b)
{
	CLEANUP_BUF struct buf safe = BUF_INIT(b->len + 1);

	if (!isatty(STDOUT_FILENO))
		return print(b);
	safe_lines(&safe, buf_str(b));
	return print(&safe);
}

int
print_json(const json_t *j)
{
	CLEANUP_BUF struct buf out = BUF_INIT(SIZE_MAX / 2);
	int rc = json_write_indented(j, &out);

	if (rc)
		return failed("%s", strerror(-rc));
	buf_putc(&out, '\n');
	return print_reply(&out);
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

bool
is_attended(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int
confirm(const struct cli *c, const char *fmt, ...)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf safe = BUF_INIT(BUF_MAX_SMALL);
	char answer[16];
	va_list ap;

	if (c->opt.yes || !is_attended())
		return LEAVE_OK;
	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	safe_puts(&safe, buf_str(&text));
	fprintf(stderr, "%s [y/N] ", buf_str(&safe));
	if (fgets(answer, sizeof(answer), stdin) &&
	    tolower((unsigned char)answer[0]) == 'y')
		return LEAVE_OK;
	return failed("nothing was done");
}

int
query_time(const struct cli *c, const char *option, const char *key,
           const char *text, struct buf *path)
{
	CLEANUP_BUF struct buf time = BUF_INIT(BUF_MAX_SMALL);

	if (!text)
		return LEAVE_OK;
	if (when_read(text, WHEN_PAST, c->screen.now_ms, &time))
		return usage_error("%s takes " WHEN_EXPECTED ", not '%s'",
		                   option, text);
	query_add(path, key, buf_str(&time));
	return LEAVE_OK;
}

int
need_service(struct cli *c, const char *name)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&path, "/api/v1/services/");
	url_escape(&path, name);
	return ask(c, "GET", buf_str(&path), NULL, &r);
}

json_t *
ask_quietly(struct cli *c, const char *path)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = http_call(&c->http, "GET", path, NULL, &r, &why);

	return rc || r.status != 200 ? NULL : TAKE(r.json);
}

/* --- errors --------------------------------------------------------------- */

static bool
is_error(const struct http_reply *r, const char *code)
{
	return !strcmp(json_member(r->json, "error_code"), code);
}

/* Suggests the word that was meant, if the server expects "one of cpu,
 * memory". */
static void
suggest_word(const json_t *details, struct buf *out)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE char *words = NULL;
	const char *expected = json_member(details, "expected");
	struct near near;
	char *rest;

	if (strncmp(expected, "one of ", 7) != 0 ||
	    !(words = strndup(expected + 7, strcspn(expected + 7, "("))))
		return;
	value_bare(&got, json_object_get(details, "got"));
	near = NEAR(buf_str(&got));
	for (char *w = strtok_r(words, ", ", &rest); w;
	     w = strtok_r(NULL, ", ", &rest))
		near_try(&near, w);
	near_show(&near, out);
}

/* Suggests the service that was meant. */
static void
suggest_service(struct cli *c, const char *name, struct buf *out)
{
	CLEANUP_JSON json_t *list =
		ask_quietly(c, "/api/v1/services?limit=500");
	struct near near = NEAR(name);
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(list, "items"), i, item)
		near_try(&near, json_member(item, "name"));
	near_show(&near, out);
	if (!near.best)
		buf_puts(out, "\n  stoker service list shows all of them");
}

/* Appends the values that an option accepts, in the words of its help, since
 * the server's message counts in seconds or days. */
static void
put_expected(const struct option_given *o, const char *expected,
             struct buf *out)
{
	static const char range[] = "an integer from ";

	if (o->count && !strncmp(expected, range, strlen(range)))
		buf_addf(out, "%s, from %s%s%s", o->count,
		         expected + strlen(range), *o->unit ? " " : "",
		         o->unit);
	else
		safe_puts(out, expected);
}

/* Finds the option whose value the server refused. Returns false if the error
 * is not about an option. */
static bool
option_refused(const struct cli *c, const struct http_reply *r,
               struct option_given *out)
{
	const json_t *details = json_object_get(r->json, "details");

	return is_error(r, "InvalidParameter") &&
	       option_of(&c->opt, json_member(details, "parameter"), out);
}

static void
tell_option(const struct option_given *o, const struct http_reply *r)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	const json_t *details = json_object_get(r->json, "details");

	buf_addf(&line, "%s takes ", o->name);
	put_expected(o, json_member(details, "expected"), &line);
	buf_puts(&line, ", not '");
	if (o->value)
		safe_puts(&line, o->value);
	else
		value_bare(&line, json_object_get(details, "got"));
	buf_puts(&line, "' (InvalidParameter)");
	suggest_word(details, &line);
	usage_error("%s", buf_str(&line));
}

/* True if the key is refused because another installation has the port. */
static bool
asked_another(struct cli *c)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	return !settings_load(&c->opt, &conf, &why) &&
	       own_server(&c->http, &conf) == OWN_NO;
}

static void
tell_hints(struct cli *c, const struct http_reply *r)
{
	CLEANUP_BUF struct buf hint = BUF_INIT(BUF_MAX_SMALL);
	const json_t *details = json_object_get(r->json, "details");

	if (is_error(r, "UnknownService"))
		suggest_service(c, json_member(details, "service"), &hint);
	if (is_error(r, "ProfileInProgress")) {
		buf_puts(&hint, "\n  stoker remove ");
		safe_puts(&hint, json_member(details, "profileId"));
		buf_puts(&hint, " cancels it");
	}
	if (is_error(r, "WrongProfileType") && !c->opt.type)
		buf_puts(&hint, "\n  with --type, @last and the name of a "
		                "service stand for profiles of that type");
	if (is_error(r, "WorkerUnavailable"))
		buf_puts(&hint, "\n" WORKER_REMEDY);
	if (is_error(r, "SessionInUse"))
		buf_puts(&hint, "\n  stoker baseline list names the baseline; "
		                "remove that first");
	if (r->status == 401 && !c->http.token)
		buf_puts(&hint,
		         "\n  stoker setup, as root on the server's host, "
		         "makes a token; --token-file FILE names one");
	if (r->status == 401 && c->http.token && asked_another(c))
		buf_puts(&hint, "\n  " OWN_NO_FOUND ": stoker doctor shows how "
		                "to end it");
	if (hint.len)
		fprintf(stderr, "%s\n", buf_str(&hint) + 1);
}

int
tell_reply(struct cli *c, const struct http_reply *r)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct option_given o;
	bool refused = option_refused(c, r, &o);

	if (c->opt.json && r->json) {
		print_json(r->json);
	} else if (refused) {
		tell_option(&o, r);
	} else {
		error_show(&text, r->status, r->json, r->retry_after);
		fputs(buf_str(&text), stderr);
		tell_hints(c, r);
	}
	return refused ? LEAVE_USAGE : LEAVE_FAILED;
}

/* Prints the warnings of a reply, such as parameters that were ignored. */
static void
tell_warnings(const struct cli *c, const struct http_reply *r)
{
	const json_t *list = json_object_get(r->json, "warnings"), *warning;
	size_t i;

	if (c->opt.json)
		return; /* the JSON contains them */
	json_array_foreach(list, i, warning) {
		CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);

		value_show(&line, warning);
		fprintf(stderr, "stoker: warning: %s\n", buf_str(&line));
	}
}

/* Prints the error of a call, if any, and returns the exit status. The HTTP
 * status may_be is not a failure. */
static int
judge(struct cli *c, int rc, const struct http_reply *r, const struct buf *why,
      long may_be)
{
	if (rc == -EINTR)
		return LEAVE_INTERRUPTED;
	if (rc == -EHOSTUNREACH) {
		failed("%s\n  stoker doctor, on the server's host, shows "
		       "what is missing",
		       buf_str(why));
		return LEAVE_UNREACHED;
	}
	if (rc)
		return failed("%s", strerror(-rc));
	if (r->status >= 200 && r->status < 300)
		tell_warnings(c, r);
	if ((r->status >= 200 && r->status < 300) || r->status == may_be)
		return LEAVE_OK;
	return tell_reply(c, r);
}

static int
ask_json(struct cli *c, const char *method, const char *path,
         const json_t *body, struct http_reply *out, long may_be)
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
    struct http_reply *out)
{
	return ask_json(c, method, path, body, out, 0);
}

int
ask_maybe(struct cli *c, const char *method, const char *path,
          const json_t *body, struct http_reply *out)
{
	return ask_json(c, method, path, body, out, 404);
}

int
ask_early(struct cli *c, const char *method, const char *path,
          const json_t *body, struct http_reply *out)
{
	return ask_json(c, method, path, body, out, 503);
}

int
ask_send(struct cli *c, const char *path, const struct content *body,
         struct http_reply *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = need_token(c);

	if (rc)
		return rc;
	rc = http_send(&c->http, "POST", path, body, out, &why);
	return judge(c, rc, out, &why, 0);
}
