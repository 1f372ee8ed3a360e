/* Reads and checks the parameters of a call, as params.def says. */
#include "endpoint/call.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define TAG_MAX     63
#define FRAME_MAX   500
#define MESSAGE_MAX 200 /* bytes of a message's id */
#define GOT_MAX     200 /* most bytes shown of an offending value */

/* The source of a raw value: a text, JSON, or nothing. */
struct raw {
	const char *text;
	const json_t *json;
};

static bool
text_ok(const char *s, int64_t min, int64_t max)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' && s[i] != '\n' && s[i] != '\t')
			return false;
	return n >= (size_t)min && n <= (size_t)max;
}

static bool
is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

/* ^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$ */
static bool
name_ok(const char *s, int64_t min, int64_t max)
{
	size_t n = strlen(s);

	if (n < (size_t)min || n > (size_t)max || !n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_alnum(s[i]) && !strchr("._-", s[i]))
			return false;
	return is_alnum(s[0]) && is_alnum(s[n - 1]);
}

bool
name_valid(const char *s)
{
	return name_ok(s, 1, STORE_NAME_MAX - 1);
}

static bool
read_int(const char *s, int64_t *out)
{
	char *end;

	if (!is_alnum(*s) && *s != '-')
		return false;
	errno = 0;
	*out = strtoll(s, &end, 10);
	return !errno && !*end && end != s;
}

static bool
is_word(enum param_type type, const char *s)
{
	const char *const *words = param_words(type);

	for (size_t i = 0; words[i]; i++)
		if (!strcmp(words[i], s))
			return true;
	return false;
}

static bool
members_ok(const struct param_row *p, const json_t *j)
{
	const char *key;
	json_t *v;
	size_t n = json_object_size(j);

	if (!json_is_object(j) || n < (size_t)p->min || n > (size_t)p->max)
		return false;
	if (p->type != PT_LABELS)
		return true;
	json_object_foreach((json_t *)j, key, v)
		if (!text_ok(key, 1, 63) || !json_is_string(v) ||
		    !text_ok(json_string_value(v), 0, 200))
			return false;
	return true;
}

static bool
is_name(const json_t *v)
{
	return json_is_string(v) &&
	       name_ok(json_string_value(v), 1, STORE_TENANT_MAX - 1);
}

static bool
is_text_without(const json_t *v, int64_t most, const char *characters)
{
	return json_is_string(v) && text_ok(json_string_value(v), 1, most) &&
	       !strpbrk(json_string_value(v), characters);
}

static bool
is_tag(const json_t *v)
{
	return is_text_without(v, TAG_MAX, "\n");
}

static bool
is_frame(const json_t *v)
{
	return is_text_without(v, FRAME_MAX, "\n\t");
}

static bool
is_object(const json_t *v)
{
	return json_is_object(v);
}

static bool
is_function(const json_t *j)
{
	const json_t *count = json_object_get(j, "sampleCount");
	static const char *const texts[] = {"funcName", "package"};
	static const char *const numbers[] = {"selfPct", "cumulativePct"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const json_t *v = json_object_get(j, texts[i]);

		if (v && !json_is_null(v) && !json_is_string(v))
			return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const json_t *v = json_object_get(j, numbers[i]);

		if (v && !json_is_null(v) && !json_is_number(v))
			return false;
	}
	return json_is_object(j) &&
	       (!count || json_is_null(count) || json_is_string(count) ||
	        json_is_integer(count));
}

static bool
list_ok(const struct param_row *p, const json_t *j,
        bool (*is_item)(const json_t *))
{
	size_t i, n = json_array_size(j);
	json_t *v;

	if (!json_is_array(j) || n < (size_t)p->min || n > (size_t)p->max)
		return false;
	json_array_foreach(j, i, v)
		if (!is_item(v))
			return false;
	return true;
}

static bool
functions_ok(const struct param_row *p, const json_t *j)
{
	if (json_is_string(j)) /* as in the seed's own example */
		return !strcmp(json_string_value(j), "(nested array)");
	return list_ok(p, j, is_function);
}

/* Reads a value that is a text. */
static bool
read_text(const struct param_row *p, const char *s, struct value *out)
{
	out->s = s;
	switch (p->type) {
	case PT_TEXT:
		return text_ok(s, p->min, p->max);
	case PT_NAME:
		return name_ok(s, p->min, p->max);
#define ID_KIND(type, unknown, doc, ...) case PT_##type:
#include "id_kinds.def"
#undef ID_KIND
		return param_id_valid(p->type, s);
	case PT_TIME:
		return !clock_read(s, clock_wall_ms(), &out->i);
	case PT_SPAN:
		return !clock_read_span(s, &out->i) && out->i >= p->min &&
		       out->i <= p->max;
	default:
		return is_word(p->type, s);
	}
}

static bool
read_value(const struct param_row *p, struct raw raw, struct value *out)
{
	const json_t *j = raw.json;

	out->given = true;
	switch (p->type) {
	case PT_WORDS:
	case PT_TYPES:
		out->json = j;
		return list_ok(p, j, is_name);
	case PT_TAGS:
		out->json = j;
		return list_ok(p, j, is_tag);
	case PT_FRAMES:
		out->json = j;
		return list_ok(p, j, is_frame);
	case PT_LIST:
		out->json = j;
		return list_ok(p, j, is_object);
	case PT_FUNCTIONS:
		out->json = j;
		return functions_ok(p, j);
	case PT_LABELS:
	case PT_OBJECT:
		out->json = j;
		return members_ok(p, j);
	case PT_MESSAGE:
		out->json = j;
		return json_is_integer(j) ||
		       (json_is_string(j) &&
		        text_ok(json_string_value(j), 1, MESSAGE_MAX));
	case PT_BOOL:
		out->i = j ? json_is_true(j) : !strcmp(raw.text, "true");
		return j ? json_is_boolean(j)
		         : out->i || !strcmp(raw.text, "false");
	case PT_INT:
		if (j)
			out->i = json_integer_value(j);
		else if (!read_int(raw.text, &out->i))
			return false;
		return (!j || json_is_integer(j)) && out->i >= p->min &&
		       out->i <= p->max;
	default:
		if (j && !json_is_string(j))
			return false;
		return read_text(p, j ? json_string_value(j) : raw.text, out);
	}
}

static void
default_value(const struct param_row *p, struct value *out)
{
	out->s = p->def;
	if (p->type == PT_INT && *p->def)
		read_int(p->def, &out->i);
	else if (*p->def)
		(void)!read_text(p, p->def, out);
}

static void
show_json(const json_t *v, struct buf *out)
{
	CLEANUP_BUF struct buf json = BUF_INIT(REQUEST_MAX_BODY * 6);

	if (!json_write(v, &json))
		buf_add(out, json.p, json.len < GOT_MAX ? json.len : GOT_MAX);
}

static void
show_got(const struct raw *raw, struct buf *out)
{
	if (raw->json)
		show_json(raw->json, out);
	else
		buf_add(out, raw->text, strnlen(raw->text, GOT_MAX));
}

int
fail_value(struct call *c, const char *name, const char *expected,
           const json_t *got)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1024);

	show_json(got, &text);
	return fail_param(c, name, expected, buf_str(&text));
}

/* Fails because nothing has that name or id. */
static int
fail_unknown(struct call *c, const struct param_row *p, const char *text)
{
	if (!strcmp(p->name, "pipeline_name")) {
		detail_text(c, p->name, text);
		return fail(c, UnknownPipelineName, text);
	}
	detail_text(c, p->type == PT_NAME ? "service" : p->name, text);
	switch (p->type) {
	case PT_NAME:
		return fail(c, UnknownService, text);
#define ID_KIND(type, unknown, doc, ...) \
	case PT_##type:                  \
		return fail(c, unknown, text);
#include "id_kinds.def"
#undef ID_KIND
	default:
		return fail(c, UnknownProfile, text);
	}
}

int
fail_id(struct call *c, int rc, enum param p)
{
	return rc == -ENOENT ? fail_unknown(c, &params[p], param_text(c, p))
	                     : fail_store(c, rc);
}

static int
refuse(struct call *c, const struct param_row *p, const struct raw *raw)
{
	CLEANUP_BUF struct buf expected = BUF_INIT(1024);
	CLEANUP_BUF struct buf got = BUF_INIT(1024);

	if (p->in == IN_PATH)
		return fail_unknown(c, p, raw->text);
	param_expects(p, &expected);
	show_got(raw, &got);
	return fail_param(c, p->name, buf_str(&expected), buf_str(&got));
}

const char *
path_param(const struct call *c, const char *name)
{
	const char *at = c->route->path;
	size_t n = strlen(name);

	for (size_t i = 0; i < c->req->nsegments; i++) {
		at = strchr(at, '/') + 1;
		if (*at == '{' && !strncmp(at + 1, name, n) && at[1 + n] == '}')
			return c->req->segments[i];
	}
	return NULL;
}

/* Returns KEY of name.KEY; NULL when the parameter does not belong to this
 * row. */
static const char *
match_key(const struct param_row *p, const char *name)
{
	size_t n = strlen(p->name);

	return p->type == PT_MATCHES && !strncmp(name, p->name, n) &&
	                       name[n] == '.'
	               ? name + n + 1
	               : NULL;
}

bool
param_match(const struct call *c, enum param p, size_t i,
            struct query_pair *out)
{
	for (size_t at = 0; at < c->req->nquery; at++) {
		const struct query_pair *q = &c->req->query[at];
		const char *key = match_key(&params[p], q->name);

		if (!key || i--)
			continue;
		*out = (struct query_pair){key, q->value};
		return true;
	}
	return false;
}

static int
read_matches(struct call *c, enum param row)
{
	const struct param_row *p = &params[row];
	struct query_pair m;
	size_t n = 0;

	for (; param_match(c, row, n, &m); n++) {
		struct raw raw = {.text = m.value};

		if (n >= (size_t)p->max || !text_ok(m.name, 1, 63) ||
		    !text_ok(m.value, 0, 200))
			return refuse(c, p, &raw);
	}
	c->values[row].given = n > 0;
	return 0;
}

static struct raw
find_raw(const struct call *c, const struct param_row *p)
{
	switch (p->in) {
	case IN_PATH:
		return (struct raw){.text = path_param(c, p->name)};
	case IN_QUERY:
		return (struct raw){.text = request_query(c->req, p->name)};
	default:
		return (struct raw){.json = json_object_get(c->body, p->name)};
	}
}

static int
read_one(struct call *c, enum param row)
{
	const struct param_row *p = &params[row];
	struct raw raw;

	if (p->type == PT_MATCHES)
		return read_matches(c, row);
	raw = find_raw(c, p);
	if (!raw.text && (!raw.json || json_is_null(raw.json))) {
		default_value(p, &c->values[row]);
		if (!p->required)
			return 0;
		raw.text = "nothing";
		return refuse(c, p, &raw);
	}
	return read_value(p, raw, &c->values[row]) ? 0 : refuse(c, p, &raw);
}

int
member_read(struct call *c, const char *object, const json_t *from,
            const char *name, struct value *out)
{
	const struct param_row *p = member_find(object, name);
	struct raw raw = {.json = json_object_get(from, name)};
	CLEANUP_BUF struct buf expected = BUF_INIT(1024);

	if (!raw.json || json_is_null(raw.json)) {
		default_value(p, out);
		return 0;
	}
	if (read_value(p, raw, out))
		return 0;
	param_expects(p, &expected);
	return fail_value(c, name, buf_str(&expected), raw.json);
}

static bool
is_known(enum op op, enum param_in in, const char *name)
{
	for (size_t i = 0; i < P_COUNT; i++)
		if (params[i].op == op && params[i].in == in &&
		    (match_key(&params[i], name) ||
		     (params[i].type != PT_MATCHES &&
		      !strcmp(params[i].name, name))))
			return true;
	return false;
}

/* Refuses two values of one parameter, since either may be meant; warns of
 * unknown parameters. */
static int
check_query(struct call *c)
{
	const struct query_pair *q = c->req->query;

	for (size_t i = 0; i < c->req->nquery; i++) {
		if (!is_known(c->route->op, IN_QUERY, q[i].name))
			warn_client(c, "unknown parameter '%.100s' is ignored",
			            q[i].name);
		else if (request_query(c->req, q[i].name) != q[i].value)
			return fail_param(c, q[i].name, "one value",
			                  "several values");
	}
	return 0;
}

static void
check_body(struct call *c)
{
	const char *key;
	json_t *v;

	json_object_foreach(c->body, key, v)
		if (!is_known(c->route->op, IN_BODY, key))
			warn_client(c, "unknown field '%.100s' is ignored",
			            key);
}

int
params_read(struct call *c)
{
	for (enum param i = 0; i < P_COUNT; i++)
		if (params[i].op == c->route->op && read_one(c, i))
			return -1;
	if (check_query(c))
		return -1;
	check_body(c);
	return 0;
}
