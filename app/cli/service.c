/* stoker service: the services that may be profiled. */
#include "cli.h"

#include "base/file.h"
#include "base/quantity.h"
#include "base/unit.h"
#include "labels.h"
#include "service.h"
#include "survey.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SERVICES "/api/v1/services"
/* By then, a worker has looked for the processes of a new service. */
#define NEW_SERVICE_S 5

void
service_path(struct buf *out, const char *name)
{
	buf_puts(out, SERVICES "/");
	url_escape(out, name);
}

bool
service_is_of_all(const json_t *service)
{
	const json_t *match = json_object_get(service, "match");

	return !strcmp(json_member(match, "exe"), EVERY_PROGRAM);
}

static int
set_text(json_t *object, const char *key, const char *value)
{
	return value ? json_object_set_new(object, key, json_string(value)) : 0;
}

/* A name without a type means a service unit, as in systemctl. */
static int
set_unit(json_t *match, const char *unit)
{
	if (!unit || unit_has_type(unit))
		return set_text(match, "unit", unit);
	return json_object_set_new(match, "unit",
	                           json_sprintf("%s.service", unit));
}

void
match_title(const json_t *match, struct buf *out)
{
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)match, key, value) {
		if (out->len)
			buf_putc(out, '/');
		if (json_is_object(value))
			match_title(value, out);
		else
			buf_puts(out, json_string_value(value));
	}
}

int
match_of(const struct options *o, json_t **out)
{
	CLEANUP_JSON json_t *match = json_object();
	int rc;

	if (set_text(match, "exe", o->all ? EVERY_PROGRAM : o->exe) ||
	    set_unit(match, o->unit) ||
	    set_text(match, "pidFile", o->pid_file) ||
	    set_text(match, "container", o->container) ||
	    set_text(match, "image", o->image) ||
	    set_text(match, "otelService", o->otel_service) ||
	    set_text(match, "cmdline", o->cmdline))
		return failed("an option is not UTF-8");
	if (program_set_match(match, "pod", o->pod))
		return usage_error("--pod takes NAMESPACE/POD or "
		                   "NAMESPACE/POD/CONTAINER");
	if (program_set_match(match, "compose", o->compose))
		return usage_error("--compose takes PROJECT or "
		                   "PROJECT/SERVICE");
	rc = labels_set(match, "label", "container-label", &o->container_label);
	if (rc)
		return rc;
	if (json_object_size(match) + (o->all && o->exe) > 1)
		return usage_error(
			"give one of --unit, --container, --image, "
			"--pod, --compose, --container-label, "
			"--otel-service, --exe, --pid-file and --cmdline");
	*out = TAKE(match);
	return LEAVE_OK;
}

/* Sets "allow" from keys separated by commas: {"javaPerfMap": true, …}. */
static int
set_allow(json_t *service, const char *keys)
{
	json_t *allow = json_object();
	const char *key;
	size_t n;

	json_object_set_new(service, "allow", allow);
	if (!strcmp(keys, "none"))
		return LEAVE_OK;
	while (comma_next(&keys, &key, &n))
		if (!n || json_object_setn_new(allow, key, n, json_true()))
			return usage_error("--allow takes names between "
			                   "commas, or none");
	return LEAVE_OK;
}

/* Sets the functions and packages that are metrics. */
static int
set_metrics(json_t *service, const struct words *names)
{
	json_t *all = json_array();

	json_object_set_new(service, "metrics", all);
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->p[i], "none") != 0 &&
		    json_array_append_new(all, json_string(names->p[i])))
			return usage_error("--metric '%s' is not UTF-8",
			                   names->p[i]);
	return LEAVE_OK;
}

/* Sets the members of a service for which there are options. */
static int
service_options(const struct options *o, json_t *service)
{
	CLEANUP_JSON json_t *match = NULL;
	int rc = match_of(o, &match);

	if (!rc && o->allow)
		rc = set_allow(service, o->allow);
	if (rc)
		return rc;
	if (set_text(service, "kind", o->kind) ||
	    set_text(service, "host", o->host) ||
	    set_text(service, "pprofUrl", o->pprof_url) ||
	    set_text(service, "source", o->source) ||
	    set_text(service, "sourceLink", o->source_link) ||
	    set_text(service, "traceLink", o->trace_link) ||
	    set_text(service, "collector", o->collector) ||
	    set_text(service, "description", o->description))
		return failed("an option is not UTF-8");
	if (json_object_size(match))
		json_object_set(service, "match", match);
	rc = o->metric.n ? set_metrics(service, &o->metric) : LEAVE_OK;
	if (rc)
		return rc;
	return labels_set(service, "labels", "label", &o->label);
}

/* --- show ----------------------------------------------------------------- */

static void
members_show(struct buf *out, const json_t *service, const struct screen *s)
{
	static const struct {
		const char *name, *key;
	} members[] = {
		{"name", "name"},
		{"match", "match"},
		{"kind", "kind"},
		{"host", "host"},
		{"source", "source"},
		{"pprof pages", "pprofUrl"},
		{"labels", "labels"},
		{"allow", "allow"},
		{"description", "description"},
		{"source link", "sourceLink"},
		{"trace link", "traceLink"},
		{"collector", "collector"},
		{"metrics", "metrics"},
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		member_show(out, members[i].name,
		            json_object_get(service, members[i].key), s);
	buf_puts(out, "added:       ");
	screen_time(s, json_member(service, "createdAt"), out);
	buf_putc(out, '\n');
}

/* Counts the matching processes on a host. */
static json_int_t
count_matches(const json_t *processes, const char *host)
{
	const json_t *p;
	json_int_t n = 0;
	size_t i;

	json_array_foreach(processes, i, p) {
		n += !strcmp(json_member(p, "host"), host);
	}
	return n;
}

/* Appends a sentence about the processes that captures on a host include and
 * leave out. */
static void
captured_show(struct buf *out, const json_t *host, const json_t *processes,
              const struct screen *s)
{
	static const struct {
		const char *key, *text;
	} left_out[] = {
		{"descendantsOtherUnit", "descendants in other units"},
		{"descendantsOutOfScope", "descendants outside of the scope"},
		{"matchesOutOfScope", "that match outside of the scope"},
		{"processesTooMany", "more than can be followed"},
	};
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *between = "; left out: ";
	json_int_t all = json_integer_value(json_object_get(host, "processes"));
	json_int_t matches =
		count_matches(processes, json_member(host, "host"));

	buf_puts(&text, "Captures on ");
	safe_puts(&text, json_member(host, "host"));
	buf_addf(&text, " are of %" JSON_INTEGER_FORMAT " process%s", all,
	         all == 1 ? "" : "es");
	if (matches && all > matches)
		buf_addf(&text,
		         ": %" JSON_INTEGER_FORMAT
		         " that match%s and %" JSON_INTEGER_FORMAT
		         " that descend%s from %s",
		         matches, matches == 1 ? "es" : "", all - matches,
		         all - matches == 1 ? "s" : "",
		         matches == 1 ? "it" : "them");
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		json_int_t n = json_integer_value(
			json_object_get(host, left_out[i].key));

		if (!n)
			continue;
		buf_addf(&text, "%s%" JSON_INTEGER_FORMAT " %s", between, n,
		         left_out[i].text);
		between = ", ";
	}
	text_wrap(out, buf_str(&text), 0, 2, s->width);
	buf_puts(out, ".\n");
}

static void
all_captured_show(struct buf *out, const json_t *service,
                  const struct screen *s)
{
	const json_t *processes = json_object_get(service, "processes"), *host;
	size_t i;

	json_array_foreach(json_object_get(service, "captured"), i, host) {
		buf_puts(out, i ? "" : "\n");
		captured_show(out, host, processes, s);
	}
}

/* Shows the types that cannot, or perhaps cannot, be captured now, with the
 * remedy. */
static void
lacks_show(struct buf *out, const json_t *service, const struct screen *s)
{
	const json_t *lack;
	size_t i;

	json_array_foreach(json_object_get(service, "unsupported"), i, lack) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		const char *fix = json_member(lack, "fix");

		buf_addf(&text, "%s: %s: ", json_member(lack, "profileType"),
		         json_is_true(json_object_get(lack, "certain"))
		                 ? "not now"
		                 : "perhaps not");
		safe_puts(&text, json_member(lack, "reason"));
		buf_puts(out, i ? "" : "\n");
		text_wrap(out, buf_str(&text), 0, 2, s->width);
		buf_putc(out, '\n');
		if (!*fix)
			continue;
		buf_puts(out, "  ");
		safe_puts(out, fix);
		buf_putc(out, '\n');
	}
}

/* Shows what keeps hosts from sending profiles to the collector. */
static void
collector_show(struct buf *out, const json_t *service, const struct screen *s)
{
	const json_t *problem;
	size_t i;

	json_array_foreach(json_object_get(service, "collectorProblems"), i,
	                   problem) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		buf_puts(&text, "collector, from ");
		safe_puts(&text, json_member(problem, "host"));
		buf_puts(&text, " since ");
		screen_time(s, json_member(problem, "since"), &text);
		buf_puts(&text, ": ");
		safe_puts(&text, json_member(problem, "message"));
		buf_puts(out, i ? "" : "\n");
		text_wrap(out, buf_str(&text), 0, 2, s->width);
		buf_putc(out, '\n');
	}
}

/* Appends why no process of the service is listed. */
static void
put_no_process(struct cli *c, const json_t *service, struct buf *out)
{
	CLEANUP_BUF struct buf command = BUF_INIT(BUF_MAX_SMALL);
	size_t before;

	buf_putc(out, '\n');
	if (*json_member(service, "lookedAt")) {
		buf_puts(out, "No process of it runs now.\n");
		return;
	}
	before = out->len;
	buf_addf(&command, "stoker service set %s",
	         json_member(service, "name"));
	survey_show(c, json_object_get(service, "match"), buf_str(&command),
	            out);
	if (out->len == before)
		buf_puts(out, "No process of it is known: no worker has looked "
		              "for one yet.\n");
}

static int
show_service(struct cli *c, const struct http_reply *r)
{
	static const struct column columns[] = {
		{"ORDINAL", "ordinal", RIGHT, PLAIN},
		{"PID", "pid", RIGHT, PLAIN},
		{"HOST", "host", LEFT, PLAIN},
		{"COMMAND", "command", LEFT, MIDDLE},
	};
	const json_t *processes = json_object_get(r->json, "processes");
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	if (c->opt.json)
		return print_json(r->json);
	members_show(&out, r->json, &c->screen);
	collector_show(&out, r->json, &c->screen);
	lacks_show(&out, r->json, &c->screen);
	if (processes && !json_array_size(processes))
		put_no_process(c, r->json, &out);
	if (json_array_size(processes)) {
		buf_putc(&out, '\n');
		table_show(&out, columns, ARRAY_LEN(columns), processes,
		           &c->screen);
	}
	all_captured_show(&out, r->json, &c->screen);
	return print(&out);
}

/* Warns about a service without processes, for which profiles can only be
 * uploaded. */
static void
warn_of_match(const json_t *service)
{
	if (!json_object_size(json_object_get(service, "match")) &&
	    !*json_member(service, "pprofUrl"))
		fputs("stoker: warning: without --exe, --unit, --pid-file or "
		      "--cmdline,\n  the service has no processes; profiles of "
		      "it can be uploaded\n",
		      stderr);
}

/* Prints that a service was created or changed and, unless its match is NULL,
 * what the match selects now. */
static int
print_service(struct cli *c, const char *what, const json_t *service,
              const json_t *match)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf command = BUF_INIT(BUF_MAX_SMALL);
	const char *name = c->operands[0];
	int rc;

	warn_of_match(service);
	rc = print_done(c, name, what);
	if (rc)
		return rc;
	buf_addf(&command, "stoker service set %s", name);
	survey_show(c, match, buf_str(&command), &out);
	return print(&out);
}

int
service_offer(struct cli *c, const char *name)
{
	CLEANUP_REPLY struct http_reply found = REPLY_INIT, r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *service = NULL;
	int rc;

	if (c->opt.json || !is_attended())
		return LEAVE_OK;
	service_path(&path, name);
	rc = ask_maybe(c, "GET", buf_str(&path), NULL, &found);
	if (rc || found.status != 404)
		return rc;
	service = json_pack("{s:s}", "name", name);
	if (!service)
		return failed("the name of a service is UTF-8");
	rc = confirm(c, "There is no service '%s'. Add it?", name);
	return rc ? rc : ask(c, "POST", SERVICES, service, &r);
}

int
cmd_service_add(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *service = json_object();
	int rc = service_options(&c->opt, service);

	if (!rc && set_text(service, "name", c->operands[0]))
		rc = failed("an option is not UTF-8");
	if (!rc)
		rc = ask(c, "POST", SERVICES, service, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	return print_service(c, "created", r.json,
	                     json_object_get(r.json, "match"));
}

json_t *
services_list(struct cli *c)
{
	CLEANUP_JSON json_t *reply = ask_quietly(c, SERVICES "?limit=500");

	return json_incref(json_object_get(reply, "items"));
}

/* Adds a service for a match, if a process matches or will be waited for. */
static int
add_for(struct cli *c, const json_t *match, const char *name)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *service =
		json_pack("{ss sO}", "name", name, "match", match);
	int rc = c->opt.wait_for_process < 0
	                 ? survey_need(c, match, "stoker run")
	                 : LEAVE_OK;

	if (!rc)
		rc = ask(c, "POST", SERVICES, service, &r);
	if (rc)
		return rc;
	fprintf(stderr, "stoker: added the service %s\n", name);
	if (c->opt.wait_for_process < 0)
		c->opt.wait_for_process = NEW_SERVICE_S;
	return LEAVE_OK;
}

int
service_for(struct cli *c, const json_t *match, const char *title,
            char out[static SERVICE_NAME_MAX])
{
	CLEANUP_JSON json_t *all = services_list(c);
	const json_t *service;
	size_t i;

	program_name(title, out);
	json_array_foreach(all, i, service) {
		const char *name = json_member(service, "name");

		if (json_equal(json_object_get(service, "match"), match)) {
			snprintf(out, SERVICE_NAME_MAX, "%s", name);
			return LEAVE_OK;
		}
		if (!strcmp(name, out))
			return failed("the service %s is another one: add one "
			              "with a name of its own\n"
			              "  stoker help service add",
			              out);
	}
	return *out ? add_for(c, match, out)
	            : failed("no service can be named after %s\n"
	                     "  stoker help service add",
	                     title);
}

int
cmd_service_list(struct cli *c)
{
	static const struct column columns[] = {
		{"NAME", "name", LEFT, PLAIN},
		{"KIND", "kind", LEFT, PLAIN},
		{"HOST", "host", LEFT, PLAIN},
		{"MATCH", "match", LEFT, MIDDLE},
		{"DESCRIPTION", "description", LEFT, PLAIN},
	};
	static const struct column on_screen[] = {
		{"NAME", "name", LEFT, PLAIN},
		{"KIND", "kind", LEFT, PLAIN},
		{"HOST", "host", LEFT, PLAIN},
		{"DESCRIPTION", "description", LEFT, PLAIN},
	};
	CLEANUP_JSON json_t *items = NULL;
	int rc = list_ask(c, SERVICES, &items);

	if (rc)
		return rc;
	if (c->opt.json || !c->screen.width)
		return items_show(c, items, columns, ARRAY_LEN(columns));
	table_note(items, "match");
	return items_show(c, items, on_screen, ARRAY_LEN(on_screen));
}

/* Adds members about the processes that match now. */
static int
add_processes(struct cli *c, const char *path, json_t *service)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	buf_addf(&at, "%s/processes", path);
	rc = ask(c, "GET", buf_str(&at), NULL, &r);
	if (rc)
		return rc;
	json_object_set(service, "processes", json_object_get(r.json, "items"));
	json_object_set(service, "captured",
	                json_object_get(r.json, "captured"));
	json_object_set(service, "lookedAt",
	                json_object_get(r.json, "lookedAt"));
	return 0;
}

int
cmd_service_show(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	service_path(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (!rc && c->opt.processes)
		rc = add_processes(c, buf_str(&path), r.json);
	return rc ? rc : show_service(c, &r);
}

/* --- remove --------------------------------------------------------------- */

/* Appends "3 profiles, 1 baseline"; nothing if the service has none. */
static void
put_contents(struct buf *out, const json_t *contents)
{
	static const struct {
		const char *key, *one;
	} kinds[] = {
		{"sessions", "profile"},
		{"windows", "window"},
		{"baselines", "baseline"},
		{"triggers", "trigger"},
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		json_int_t n = json_integer_value(
			json_object_get(contents, kinds[i].key));

		if (n)
			buf_addf(out, "%s%" JSON_INTEGER_FORMAT " %s%s",
			         out->len ? ", " : "", n, kinds[i].one,
			         n == 1 ? "" : "s");
	}
}

static void
put_removed(struct buf *out, const json_t *contents)
{
	CLEANUP_BUF struct buf held = BUF_INIT(BUF_MAX_SMALL);
	json_int_t bytes =
		json_integer_value(json_object_get(contents, "bytes"));

	put_contents(&held, contents);
	if (!held.len)
		return;
	buf_addf(out, " with %s", buf_str(&held));
	if (!bytes)
		return;
	buf_puts(out, " (");
	quantity(out, bytes, "bytes");
	buf_putc(out, ')');
}

int
cmd_service_remove(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_REPLY struct http_reply contents = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf with = BUF_INIT(BUF_MAX_SMALL);
	const char *name = c->operands[0];
	int rc;

	service_path(&path, name);
	buf_addf(&at, "%s/contents", buf_str(&path));
	rc = ask(c, "GET", buf_str(&at), NULL, &contents);
	put_removed(&with, contents.json);
	if (!rc)
		rc = confirm(c, "Delete service %s%s?", name, buf_str(&with));
	if (!rc)
		rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	buf_clear(&at);
	buf_addf(&at, "removed%s", buf_str(&with));
	return print_done(c, name, c->opt.json ? "removed" : buf_str(&at));
}

/* --- set ------------------------------------------------------------------ */

/* Removes the members that a PUT does not accept; the name is in its path. */
static void
keep_settings(json_t *service)
{
	static const char *const others[] = {"name", "createdAt", "updatedAt",
	                                     "unsupported",
	                                     "collectorProblems"};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		json_object_del(service, others[i]);
}

int
service_allow_more(struct cli *c, const char *name)
{
	CLEANUP_REPLY struct http_reply old = REPLY_INIT;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *more = json_object();
	int rc = c->opt.allow ? set_allow(more, c->opt.allow) : LEAVE_OK;

	if (rc || !c->opt.allow)
		return rc;
	service_path(&path, name);
	rc = ask(c, "GET", buf_str(&path), NULL, &old);
	if (rc)
		return rc;
	json_object_update_missing(json_object_get(more, "allow"),
	                           json_object_get(old.json, "allow"));
	json_object_update(old.json, more);
	keep_settings(old.json);
	return ask(c, "PUT", buf_str(&path), old.json, &r);
}

int
cmd_service_set(struct cli *c)
{
	CLEANUP_REPLY struct http_reply old = REPLY_INIT;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *before = NULL;
	const json_t *match;
	int rc;

	service_path(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &old);
	before = json_incref(json_object_get(old.json, "match"));
	if (!rc)
		rc = service_options(&c->opt, old.json);
	if (rc)
		return rc;
	match = json_object_get(old.json, "match");
	keep_settings(old.json);
	rc = ask(c, "PUT", buf_str(&path), old.json, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	return print_service(c, "changed", r.json,
	                     json_equal(match, before) ? NULL : match);
}

/* --- apply ---------------------------------------------------------------- */

static int
replace(struct cli *c, const char *name, const json_t *service,
        struct http_reply *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *body = json_copy((json_t *)service);

	service_path(&path, name);
	keep_settings(body);
	return ask_maybe(c, "PUT", buf_str(&path), body, out);
}

/* Replaces a service, or creates it, and adds the server's reply to done. */
static int
apply_one(struct cli *c, const char *file, const json_t *service, json_t *done)
{
	CLEANUP_REPLY struct http_reply put = REPLY_INIT;
	CLEANUP_REPLY struct http_reply post = REPLY_INIT;
	const char *name = json_string_value(json_object_get(service, "name"));
	bool is_new;
	int rc;

	if (!name)
		return failed("%s: a service without a name", file);
	rc = replace(c, name, service, &put);
	is_new = !rc && put.status == 404;
	if (is_new)
		rc = ask(c, "POST", SERVICES, service, &post);
	if (rc) {
		fprintf(stderr, "  in %s, service %s\n", file, name);
		return rc;
	}
	json_array_append(done, is_new ? post.json : put.json);
	return c->opt.json
	               ? LEAVE_OK
	               : print_done(c, name, is_new ? "created" : "replaced");
}

static int
read_json(const char *file, json_t **out)
{
	CLEANUP_BUF struct buf text = BUF_INIT((size_t)1 << 20);
	json_error_t e;
	int rc = strcmp(file, "-") ? file_read(AT_FDCWD, file, &text)
	                           : fd_read_all(STDIN_FILENO, &text);

	if (rc)
		return failed("%s: %s", file, strerror(-rc));
	*out = json_loadb(buf_str(&text), text.len, JSON_REJECT_DUPLICATES, &e);
	if (!*out)
		return failed("%s:%d:%d: %s", file, e.line, e.column, e.text);
	return LEAVE_OK;
}

static int
apply_file(struct cli *c, const char *file, json_t *done)
{
	CLEANUP_JSON json_t *all = NULL;
	int rc = read_json(file, &all);
	const json_t *service;
	size_t i;

	if (rc || !json_is_array(all))
		return rc ? rc : apply_one(c, file, all, done);
	json_array_foreach(all, i, service) {
		rc = apply_one(c, file, service, done);
		if (rc)
			return rc;
	}
	return LEAVE_OK;
}

int
cmd_service_apply(struct cli *c)
{
	CLEANUP_JSON json_t *done = json_array();
	int rc = need_token(c);

	for (size_t i = 0; !rc && i < c->noperands; i++)
		rc = apply_file(c, c->operands[i], done);
	return rc || !c->opt.json ? rc : print_json(done);
}
