#include "endpoint/refusal.h"

#include "accept.h"

#include <ctype.h>
#include <string.h>

#define HTML "text/html; charset=utf-8"
#define CSP                                                              \
	"default-src 'none'; style-src 'unsafe-inline'; img-src data:; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

extern const char web_refused_html[];
extern const uint64_t web_refused_html_len;

/* Texts for errors. In advice, '{' and '}' enclose a command, and '$' is the
 * profile's id. */
static const struct {
	enum error error;
	const char *head, *advice;
} pages[] = {
	{E_Unauthorized, "This link does not work",
         "Links work for a limited time, and only as they were sent. Ask "
         "whoever sent this one for a new link. With an API key of this "
         "server you can make one yourself: {stoker top $} prints it."},
	{E_Forbidden, "You may not see this page", ""},
	{E_UnknownProfile, "This profile is no longer here",
         "It was deleted, or is older than profiles are kept. A profile that "
         "must stay can be pinned: {stoker pin $}."},
	{E_EmptyRange, "There is no profile of that time",
         "Nothing was captured then, or what was is older than profiles are "
         "kept."},
	{E_SessionNotCompleted, "The capture is still running",
         "The page loads again by itself once it has ended."},
	{E_SessionFailed, "The capture failed", ""},
	{E_ProfileNotKept, "The profile's data is gone", ""},
};

static void
put_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			buf_puts(out, "&lt;");
		else if (*text == '&')
			buf_puts(out, "&amp;");
		else
			buf_putc(out, *text);
	}
}

static void
put_advice(struct buf *out, const char *advice, const char *id)
{
	for (; *advice; advice++) {
		if (*advice == '{')
			buf_puts(out, "<code>");
		else if (*advice == '}')
			buf_puts(out, "</code>");
		else if (*advice == '$')
			put_escaped(out, id);
		else
			buf_putc(out, *advice);
	}
}

/* Writes the message of the error, or the part of it that is the reason. */
static void
put_reason(struct buf *out, const json_t *error)
{
	const json_t *details = json_object_get(error, "details");
	const char *text =
		json_string_value(json_object_get(details, "reason"));
	char first[2] = {0};

	if (!text)
		text = json_string_value(json_object_get(error, "message"));
	if (!text || !*text)
		return;
	first[0] = (char)toupper((unsigned char)*text);
	put_escaped(out, first);
	put_escaped(out, text + 1);
	buf_putc(out, '.');
}

/* Appends the text that replaces a mark of the page. */
static void
fill(struct call *c, const json_t *error, const char *mark, struct buf *out)
{
	const char *code =
		json_string_value(json_object_get(error, "error_code"));
	const char *head = "The page can't be shown", *advice = "";
	const char *id = path_param(c, "profileId");

	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		if (!code || strcmp(code, errors[pages[i].error].code) != 0)
			continue;
		head = pages[i].head;
		advice = pages[i].advice;
	}
	if (*mark == 'H')
		put_escaped(out, head);
	else if (*mark == 'R')
		put_reason(out, error);
	else if (*mark == 'A')
		put_advice(out, advice, id ? id : "sess-…");
	else
		buf_addf(out, "%d %s", c->reply->status, code ? code : "");
}

static bool
is_for_browser(const struct call *c)
{
	const char *accept = c->req->accept;

	return c->reply->error && c->route && c->route->who == WHO_LINK &&
	       accept_quality(accept, "text/html") >
	               accept_quality(accept, "application/json");
}

void
refusal_page(struct call *c)
{
	CLEANUP_JSON json_t *error = NULL;
	CLEANUP_BUF struct buf page = BUF_INIT(BUF_MAX_SMALL);
	const char *at = web_refused_html;
	struct reply *r = c->reply;

	if (!is_for_browser(c))
		return;
	error = json_loadb(r->body.p, r->body.len, 0, NULL);
	for (const char *mark; (mark = strstr(at, "<!--"));) {
		buf_add(&page, at, (size_t)(mark - at));
		fill(c, error, mark + strlen("<!--"), &page);
		at = strstr(mark, "-->") + strlen("-->");
	}
	buf_puts(&page, at);
	if (!error || buf_err(&page))
		return;
	buf_clear(&r->body);
	buf_add(&r->body, page.p, page.len);
	r->content_type = HTML;
	r->is_json = false;
	reply_header(r, "Cache-Control", "no-store");
	reply_header(r, "Content-Security-Policy", "%s", CSP);
	reply_header(r, "Referrer-Policy", "no-referrer");
	reply_header(r, "Vary", "Accept");
	if (r->retry_s)
		reply_header(r, "Refresh", "%d", r->retry_s);
}
