#include "tools.h"

#include "endpoint/profile/profile_json.h"
#include "explain.h"
#include "quote.h"
#include "store/session.h"

#include <errno.h>
#include <string.h>

#define OBJECT "arguments" /* their rows in members.def */
#define WAIT_S 20
#define WORD   32

/* --- arguments ------------------------------------------------------------ */

/* Returns the next word of a tool's arguments, without its mark; false at the
 * end. */
static bool
next_argument(const char **at, char word[static WORD], bool *required)
{
	size_t n;

	*at += strspn(*at, " ");
	n = strcspn(*at, " ");
	if (!n || n >= WORD)
		return false;
	*required = (*at)[n - 1] == '!';
	memcpy(word, *at, n);
	word[n - *required] = '\0';
	*at += n;
	return true;
}

static bool
takes(const struct tool *t, const char *name)
{
	const char *at = t->arguments;
	char word[WORD];
	bool required;

	while (next_argument(&at, word, &required))
		if (!strcmp(word, name))
			return true;
	return false;
}

static int
check_arguments(struct call *c, const struct tool *t, const json_t *arguments)
{
	const char *at = t->arguments, *key;
	char word[WORD];
	bool required;
	json_t *unused;

	while (next_argument(&at, word, &required)) {
		struct value v = {0};

		if (member_read(c, OBJECT, arguments, word, &v))
			return -1;
		if (required && !v.given)
			return fail_param(c, word, "a value", "nothing");
	}
	json_object_foreach((json_t *)arguments, key, unused)
		if (!takes(t, key))
			return fail_param(
				c, "arguments",
				*t->arguments ? t->arguments : "nothing", key);
	return 0;
}

/* Returns an argument that was checked. */
static struct value
argument(struct call *c, const json_t *arguments, const char *name)
{
	struct value v = {0};

	(void)!member_read(c, OBJECT, arguments, name, &v);
	return v;
}

/* --- questions about a service -------------------------------------------- */

/* Adds the existing services to the message about an unknown one. */
static int
name_services(struct call *c, struct buf *out)
{
	if (c->reply->error != errors[E_UnknownService].code)
		return -1;
	reply_clear(c->reply);
	buf_puts(out, "There is no such service. ");
	return explain_services(c, out);
}

static int
tool_explain(struct call *c, const struct tool *t, const json_t *arguments,
             struct buf *out)
{
	const struct value from = argument(c, arguments, "from");
	const struct explain_ask ask = {
		.service = argument(c, arguments, "service").s,
		.sections = explain_sections(t->name),
		.type = argument(c, arguments, "profileType").s,
		.function = argument(c, arguments, "function").s,
		.session = "",
		.from_ms = from.given ? from.i : 0,
		.to_ms = argument(c, arguments, "to").i,
	};

	return explain_service(c, &ask, out) ? name_services(c, out) : 0;
}

static int
tool_services(struct call *c, const struct tool *t, const json_t *arguments,
              struct buf *out)
{
	(void)t, (void)arguments;
	return explain_services(c, out);
}

/* --- captures ------------------------------------------------------------- */

static int
put_capture(struct call *c, const struct session *s, struct buf *out)
{
	const struct explain_ask ask = {
		.service = s->service,
		.sections = EXPLAIN_HOTTEST | EXPLAIN_CHANGED,
		.type = s->type,
		.function = "",
		.session = s->id,
	};

	if (profile_runs(s)) {
		buf_addf(out,
		         "Capture %s of %s still runs (%s, %.0f %%). Call "
		         "wait with this id.\n",
		         s->id, s->service, s->phase, 100 * s->progress);
		return 0;
	}
	if (strcmp(s->status, SESSION_COMPLETED)) {
		buf_addf(out, "Capture %s of %s failed: ", s->id, s->service);
		quote_name(out, s->error_message);
		buf_putc(out, '\n');
		return 0;
	}
	return explain_service(c, &ask, out);
}

static int
wait_for(struct call *c, const char *id, struct buf *out)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = session_get(&c->env->store, c->caller.tenant, id, &s);

	if (rc == -ENOENT)
		return fail(c, UnknownSession, id);
	if (!rc && profile_runs(&s))
		rc = call_expire_jobs(c);
	if (rc)
		return fail_store(c, rc);
	profile_wait(c, WAIT_S, &s);
	return put_capture(c, &s, out);
}

static int
tool_wait(struct call *c, const struct tool *t, const json_t *arguments,
          struct buf *out)
{
	(void)t;
	return wait_for(c, argument(c, arguments, "id").s, out);
}

/* Makes the body of StartProfile. */
static json_t *
start_body(struct call *c, const json_t *arguments)
{
	const struct value host = argument(c, arguments, "host");
	json_t *body = json_object();

	json_object_set_new(body, "service",
	                    json_text(argument(c, arguments, "service").s));
	json_object_set_new(body, "profileType",
	                    json_text(argument(c, arguments, "captureType").s));
	json_object_set_new(body, "durationSeconds",
	                    json_integer(argument(c, arguments, "seconds").i));
	if (host.given)
		json_object_set_new(body, "host", json_text(host.s));
	return body;
}

/* Starts the capture as a request to StartProfile would, its checks and its
 * line in the audit log included. */
static int
start(struct call *c, json_t *body)
{
	const struct route *route = c->route;
	json_t *own = c->body;
	int rc;

	c->route = &routes[OP_StartProfile];
	c->body = body;
	rc = params_read(c) ?: profile_start(c);
	c->route = route;
	c->body = own;
	return rc;
}

static int
tool_capture(struct call *c, const struct tool *t, const json_t *arguments,
             struct buf *out)
{
	CLEANUP_JSON json_t *body = start_body(c, arguments);
	CLEANUP_JSON json_t *started = NULL;
	const struct buf *reply = &c->reply->body;

	(void)t;
	if (start(c, body))
		return c->reply->error == errors[E_UnknownService].code
		               ? name_services(c, out)
		               : -1;
	started = json_loadb(reply->p, reply->len, 0, NULL);
	reply_clear(c->reply);
	return wait_for(c, json_string_value(json_object_get(started, "id")),
	                out);
}

/* --- the table ------------------------------------------------------------ */

const struct tool tools[] = {
#define TOOL(name, who, arguments, answer, doc) \
	{#name, who, arguments, doc, tool_##answer},
#include "tools.def"
#undef TOOL
};
const size_t ntools = ARRAY_LEN(tools);

const struct tool *
tool_find(const struct call *c, const char *name)
{
	for (size_t i = 0; i < ntools; i++)
		if (c->caller.who >= tools[i].who &&
		    !strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

int
tool_run(struct call *c, const struct tool *t, const json_t *arguments,
         struct buf *out)
{
	return check_arguments(c, t, arguments) ?: t->run(c, t, arguments, out);
}

static void
put_schema(const struct tool *t, struct buf *out)
{
	const char *at = t->arguments;
	char word[WORD];
	bool required;

	json_open(out, "inputSchema", '{');
	json_put_text(out, "type", "object");
	json_open(out, "properties", '{');
	while (next_argument(&at, word, &required)) {
		const struct param_row *row = member_find(OBJECT, word);

		param_put_schema(out, row->name, row);
	}
	json_close(out, '}');
	json_open(out, "required", '[');
	for (at = t->arguments; next_argument(&at, word, &required);)
		if (required)
			json_put_text(out, NULL, word);
	json_close(out, ']');
	json_put_bool(out, "additionalProperties", false);
	json_close(out, '}');
}

void
tools_put(const struct call *c, struct buf *out)
{
	json_open(out, "tools", '[');
	for (size_t i = 0; i < ntools; i++) {
		const struct tool *t = &tools[i];

		if (!tool_find(c, t->name))
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "name", t->name);
		json_put_text(out, "description", t->doc);
		put_schema(t, out);
		json_open(out, "annotations", '{');
		json_put_bool(out, "readOnlyHint", t->who == WHO_VIEWER);
		json_put_bool(out, "destructiveHint", false);
		json_close(out, '}');
		json_close(out, '}');
	}
	json_close(out, ']');
}
