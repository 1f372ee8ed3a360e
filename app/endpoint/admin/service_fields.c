#include "service_fields.h"

#include "base/url.h"
#include "match.h"
#include "store/allow.h"
#include "store/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
dup_json(const json_t *j, const char *def, char **out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int rc = 0;

	if (j)
		rc = json_write(j, &text);
	else
		buf_puts(&text, def);
	return rc ? rc : buf_take(&text, out, NULL);
}

static int
dup_text(const char *s, char **out)
{
	*out = strdup(s);
	return *out ? 0 : -ENOMEM;
}

/* Returns what "self" stands for: the host that the service names, or else
 * this one, which may be the only one. */
static const char *
own_host(struct call *c, const struct service_rows *rows,
         char here[static CONF_HOST_MAX])
{
	const char *own = param_text(c, rows->host);

	return !*own && !conf_host(c->env->conf, here) ? here : own;
}

/* Checks an endpoint that the worker will use. */
static int
check_endpoint(struct call *c, const struct service_rows *rows)
{
	const char *text = param_text(c, rows->pprof_url);
	char here[CONF_HOST_MAX] = "";
	struct url u;

	if (!*text && strcmp(param_text(c, rows->source), "endpoint") != 0)
		return 0;
	if (url_parse(text, &u) || strchr(u.path, '?'))
		return fail_param(c, "pprofUrl",
		                  "an http or https address, without a user "
		                  "or a query",
		                  text);
	if (conf_allows_endpoint(c->env->conf, c->caller.tenant, &u,
	                         own_host(c, rows, here)))
		return 0;
	detail_text(c, "parameter", "pprofUrl");
	detail_text(c, "host", u.host);
	return fail(c, EndpointForbidden, u.host);
}

/* Checks the collector to which the worker will send. */
static int
check_collector(struct call *c, const struct service_rows *rows)
{
	const char *text = param_text(c, rows->collector);
	char here[CONF_HOST_MAX] = "";
	struct url u;

	if (!*text)
		return 0;
	if (url_parse(text, &u))
		return fail_param(c, "collector",
		                  "an http or https address, without a user",
		                  text);
	if (conf_allows_collector(c->env->conf, c->caller.tenant, &u,
	                          own_host(c, rows, here)))
		return 0;
	detail_text(c, "parameter", "collector");
	detail_text(c, "host", u.host);
	return fail(c, CollectorForbidden, u.host);
}

static bool
is_opt_in(const char *key)
{
	for (size_t i = 0; i < ALLOW_KEYS; i++)
		if (!strcmp(key, allow_keys[i]))
			return true;
	return false;
}

/* Checks opt-ins. Keeps unknown ones, which may belong to another release. */
static int
check_allow(struct call *c, const struct service_rows *rows)
{
	json_t *all = (json_t *)param_json(c, rows->allow), *value;
	const char *key;

	json_object_foreach(all, key, value) {
		if (!is_opt_in(key))
			warn_client(c, "allow: this release has no opt-in %s",
			            key);
		else if (!json_is_boolean(value))
			return fail_param(c, "allow", "true or false of each",
			                  key);
	}
	return 0;
}

/* True for {line}, {version}, {file} and {file:FOLDER/}, without the braces. */
static bool
is_placeholder(const char *text, size_t n)
{
	return (n == 4 &&
	        (!memcmp(text, "line", n) || !memcmp(text, "file", n))) ||
	       (n == 7 && !memcmp(text, "version", n)) ||
	       (n > 5 && !memcmp(text, "file:", 5));
}

/* True if the host of an address is a plain text, which no file name of a
 * program can change. */
static bool
has_plain_host(const char *text)
{
	static const char *const schemes[] = {"https://", "http://"};
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		if (strncmp(text, schemes[i], strlen(schemes[i])) != 0)
			continue;
		text += strlen(schemes[i]);
		n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789"
		                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._:[]");
		return n && text[n] == '/';
	}
	return false;
}

/* Checks a template of addresses: pages put texts of programs into it. is_known
 * recognizes placeholders; one that begins with `needed` must occur. */
static bool
is_template(const char *text, bool (*is_known)(const char *, size_t),
            char needed)
{
	bool has_needed = false;

	if (!has_plain_host(text))
		return false;
	for (const char *end; *text; text++) {
		if (*text <= ' ' || *text > '~' || strchr("\"'<>\\^`}", *text))
			return false;
		if (*text != '{')
			continue;
		end = text + strcspn(text, "} ");
		if (*end != '}' || memchr(text + 1, '{', end - text - 1) ||
		    !is_known(text + 1, end - text - 1))
			return false;
		has_needed |= text[1] == needed;
		text = end;
	}
	return has_needed;
}

static int
check_source_link(struct call *c, const struct service_rows *rows)
{
	const char *text = param_text(c, rows->source_link);

	if (!*text || is_template(text, is_placeholder, 'f'))
		return 0;
	return fail_param(c, "sourceLink",
	                  "an http or https address with {file} or "
	                  "{file:FOLDER/}, and no other placeholders than "
	                  "{line} and {version}",
	                  text);
}

static bool
is_of_trace(const char *name, size_t n)
{
	return (n == strlen("trace") && !strncmp(name, "trace", n)) ||
	       (n == strlen("span") && !strncmp(name, "span", n));
}

static int
check_trace_link(struct call *c, const struct service_rows *rows)
{
	const char *text = param_text(c, rows->trace_link);

	if (!*text || is_template(text, is_of_trace, 't'))
		return 0;
	return fail_param(c, "traceLink",
	                  "an http or https address with {trace}, and no other "
	                  "placeholder than {span}",
	                  text);
}

static int
fill(struct call *c, const char *name, const struct service_rows *rows,
     const struct match_rule *match, struct service *s)
{
	int rc = dup_text(c->caller.tenant, &s->tenant);

	rc = rc ? rc : dup_text(name, &s->name);
	rc = rc ? rc : dup_text(param_text(c, rows->kind), &s->kind);
	rc = rc ? rc : dup_text(param_text(c, rows->host), &s->host);
	rc = rc ? rc : dup_text(match->kind, &s->match_kind);
	rc = rc ? rc : dup_text(match->value, &s->match_value);
	rc = rc ? rc : dup_text(param_text(c, rows->pprof_url), &s->pprof_url);
	rc = rc ? rc : dup_text(param_text(c, rows->source), &s->source);
	rc = rc ? rc : dup_json(param_json(c, rows->allow), "{}", &s->allow);
	rc = rc ? rc : dup_json(param_json(c, rows->labels), "{}", &s->labels);
	rc = rc ? rc
	        : dup_text(param_text(c, rows->description), &s->description);
	rc = rc ? rc
	        : dup_text(param_text(c, rows->source_link), &s->source_link);
	rc = rc ? rc
	        : dup_text(param_text(c, rows->trace_link), &s->trace_link);
	rc = rc ? rc : dup_text(param_text(c, rows->collector), &s->collector);
	rc = rc ? rc
	        : dup_json(param_json(c, rows->metrics), SERVICE_NO_METRICS,
	                   &s->metrics);
	return rc;
}

int
service_read(struct call *c, const char *name, const struct service_rows *rows,
             struct service *out)
{
	CLEANUP_SERVICE struct service s = {0};
	struct match_rule match;
	int rc;

	if (match_of_caller(c, "match", param_json(c, rows->match), &match) ||
	    check_endpoint(c, rows) || check_allow(c, rows) ||
	    check_source_link(c, rows) || check_trace_link(c, rows) ||
	    check_collector(c, rows))
		return -1;
	rc = fill(c, name, rows, &match, &s);
	if (rc)
		return fail_store(c, rc);
	*out = TAKE(s);
	return 0;
}

/* Writes the address of a collector; without its path, which may hold a key,
 * unless whole. */
static void
put_collector(struct buf *out, const char *text, bool whole)
{
	char shown[URL_MAX + 1] = "";
	struct url u;

	if (!whole && !url_parse(text, &u))
		snprintf(shown, sizeof(shown), "%.*s", (int)(u.path - text),
		         text);
	json_put_text(out, "collector", whole ? text : shown);
}

void
service_put(struct buf *out, const struct service *s, bool whole)
{
	json_put_text(out, "name", s->name);
	json_put_text(out, "kind", s->kind);
	json_put_text(out, "host", s->host);
	json_open(out, "match", '{');
	if (container_match_is(s->match_kind) &&
	    !container_match_is_text(s->match_kind))
		json_put_raw(out, s->match_kind, s->match_value, "{}");
	else if (*s->match_kind)
		json_put_text(out, s->match_kind, s->match_value);
	json_close(out, '}');
	json_put_text(out, "pprofUrl", s->pprof_url);
	json_put_text(out, "source", s->source);
	json_put_raw(out, "allow", s->allow, "{}");
	json_put_raw(out, "labels", s->labels, "{}");
	json_put_text(out, "description", s->description);
	json_put_text(out, "sourceLink", s->source_link);
	json_put_text(out, "traceLink", s->trace_link);
	put_collector(out, s->collector, whole);
	json_put_raw(out, "metrics", s->metrics, SERVICE_NO_METRICS);
	json_put_time(out, "createdAt", s->created_ms);
	json_put_time(out, "updatedAt", s->updated_ms);
}
