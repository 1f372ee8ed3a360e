/* stoker service: what may be profiled. */
#include "cli.h"

#include "base/file.h"
#include "labels.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SERVICES "/api/v1/services"

static void
service_path(struct buf *out, const char *name)
{
	buf_puts(out, SERVICES "/");
	url_escape(out, name);
}

static int
set_text(json_t *object, const char *key, const char *value)
{
	return value ? json_object_set_new(object, key, json_string(value)) : 0;
}

/* {"exe": …} from the one option that says how processes are known. */
static int
match_of(const struct options *o, json_t **out)
{
	CLEANUP_JSON json_t *match = json_object();

	if (set_text(match, "exe", o->exe) ||
	    set_text(match, "unit", o->unit) ||
	    set_text(match, "pidFile", o->pid_file) ||
	    set_text(match, "cmdline", o->cmdline))
		return failed("an option is not UTF-8");
	if (json_object_size(match) > 1)
		return usage_error("give one of --exe, --unit, --pid-file and "
		                   "--cmdline");
	*out = TAKE(match);
	return LEAVE_OK;
}

static int
service_of(const struct cli *c, json_t **out)
{
	CLEANUP_JSON json_t *service = json_object();
	CLEANUP_JSON json_t *match = NULL;
	const struct options *o = &c->opt;
	int rc = match_of(o, &match);

	if (rc)
		return rc;
	if (set_text(service, "name", c->operands[0]) ||
	    set_text(service, "kind", o->kind) ||
	    set_text(service, "host", o->host) ||
	    set_text(service, "pprofUrl", o->pprof_url) ||
	    set_text(service, "source", o->source) ||
	    set_text(service, "description", o->description))
		return failed("an option is not UTF-8");
	if (json_object_size(match))
		json_object_set(service, "match", match);
	rc = labels_set(service, &o->label);
	if (!rc)
		*out = TAKE(service);
	return rc;
}

/* What captures are of beside the rows, and what they are not of. */
static void
show_captured(struct buf *out, const json_t *captured)
{
	static const struct column columns[] = {
		{"HOST", "host", LEFT, PLAIN},
		{"CAPTURED", "processes", RIGHT, PLAIN},
		{"OTHER UNIT", "descendantsOtherUnit", RIGHT, PLAIN},
		{"OUT OF SCOPE", "descendantsOutOfScope", RIGHT, PLAIN},
		{"TOO MANY", "processesTooMany", RIGHT, PLAIN},
	};

	if (!json_array_size(captured))
		return;
	buf_putc(out, '\n');
	table_show(out, columns, ARRAY_LEN(columns), captured,
	           screen_width(STDOUT_FILENO));
}

static int
show_service(const struct cli *c, const struct reply *r)
{
	static const struct column columns[] = {
		{"ORDINAL", "ordinal", RIGHT, PLAIN},
		{"PID", "pid", RIGHT, PLAIN},
		{"HOST", "host", LEFT, PLAIN},
		{"COMMAND", "command", LEFT, PLAIN},
	};
	CLEANUP_JSON json_t *processes = NULL, *captured = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	if (c->opt.json)
		return print_json(r->json);
	processes = json_incref(json_object_get(r->json, "processes"));
	json_object_del(r->json, "processes");
	captured = json_incref(json_object_get(r->json, "captured"));
	json_object_del(r->json, "captured");
	object_show(&out, r->json);
	if (processes) {
		buf_putc(&out, '\n');
		table_show(&out, columns, ARRAY_LEN(columns), processes,
		           screen_width(STDOUT_FILENO));
		show_captured(&out, captured);
	}
	return print(&out);
}

int
cmd_service_add(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_JSON json_t *service = NULL;
	int rc = service_of(c, &service);

	if (!rc)
		rc = ask(c, "POST", SERVICES, service, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	return print_done(c, c->operands[0], "created");
}

int
cmd_service_list(struct cli *c)
{
	static const struct column columns[] = {
		{"NAME", "name", LEFT, PLAIN},
		{"KIND", "kind", LEFT, PLAIN},
		{"HOST", "host", LEFT, PLAIN},
		{"MATCH", "match", LEFT, PLAIN},
		{"DESCRIPTION", "description", LEFT, PLAIN},
	};

	return list_show(c, SERVICES, columns, ARRAY_LEN(columns));
}

/* Adds what matches now under "processes", and whom captures are of. */
static int
add_processes(struct cli *c, const char *path, json_t *service)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	buf_addf(&at, "%s/processes", path);
	rc = ask(c, "GET", buf_str(&at), NULL, &r);
	if (rc)
		return rc;
	json_object_set(service, "processes", json_object_get(r.json, "items"));
	json_object_set(service, "captured",
	                json_object_get(r.json, "captured"));
	return 0;
}

int
cmd_service_show(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	service_path(&path, c->operands[0]);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (!rc && c->opt.processes)
		rc = add_processes(c, buf_str(&path), r.json);
	return rc ? rc : show_service(c, &r);
}

int
cmd_service_remove(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	service_path(&path, c->operands[0]);
	rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	return rc ? rc : print_done(c, c->operands[0], "removed");
}

/* The name is in the path of a PUT, and no field of its body. */
static int
replace(struct cli *c, const char *name, const json_t *service,
        struct reply *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *body = json_copy((json_t *)service);

	service_path(&path, name);
	json_object_del(body, "name");
	return ask_maybe(c, "PUT", buf_str(&path), body, out);
}

/* Replaces a service, or creates it when there is none; what the server has
 * then is added to done. */
static int
apply_one(struct cli *c, const char *file, const json_t *service, json_t *done)
{
	CLEANUP_REPLY struct reply put = REPLY_INIT;
	CLEANUP_REPLY struct reply post = REPLY_INIT;
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
	json_array_foreach(all, i, service)
	{
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
