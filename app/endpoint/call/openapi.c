/*
 * Makes /openapi.json from the tables. Source: OpenAPI 3.1.0.
 */
#include "endpoint/call.h"

#include "base/version.h"
#include "profile/diff.h"
#include "profile/import.h"
#include "store/idempotency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REF "#/components/schemas/"

static void
put_ref(struct buf *b, const char *key, const char *schema)
{
	json_open(b, key, '{');
	buf_addf(b, "\"$ref\":\"" REF "%s\"", schema);
	json_close(b, '}');
}

/* --- parameters ----------------------------------------------------------- */

static void
put_text_bounds(struct buf *b, const struct param_row *p)
{
	json_put_text(b, "type", "string");
	json_put_int(b, "minLength", p->min);
	json_put_int(b, "maxLength", p->max);
}

static void
put_words(struct buf *b, const char *const *words)
{
	json_put_text(b, "type", "string");
	json_open(b, "enum", '[');
	for (size_t i = 0; words[i]; i++)
		json_put_text(b, NULL, words[i]);
	json_close(b, ']');
}

static void
put_default(struct buf *b, const struct param_row *p)
{
	if (!*p->def)
		return;
	if (p->type == PT_INT)
		json_put_int(b, "default", strtoll(p->def, NULL, 10));
	else
		json_put_text(b, "default", p->def);
}

static void
put_required(struct buf *b, const char *first, const char *second)
{
	json_open(b, "required", '[');
	json_put_text(b, NULL, first);
	if (*second)
		json_put_text(b, NULL, second);
	json_close(b, ']');
}

static void
put_text_member(struct buf *b, const char *name)
{
	json_open(b, name, '{');
	json_put_text(b, "type", "string");
	json_close(b, '}');
}

/* Writes what a trigger may watch: {"rss": {"bytes": 1e9}}. */
static void
put_condition(struct buf *b, const char *kind, const char *text,
              const char *number, double lowest, double highest,
              const char *count, const char *doc)
{
	json_open(b, kind, '{');
	json_put_text(b, "type", "object");
	json_put_text(b, "description", doc);
	put_required(b, number, text);
	json_open(b, "properties", '{');
	if (*text)
		put_text_member(b, text);
	json_open(b, number, '{');
	json_put_text(b, "type", "number");
	json_put_real(b, "minimum", lowest);
	json_put_real(b, "maximum", highest);
	json_close(b, '}');
	if (*count) {
		json_open(b, count, '{');
		json_put_text(b, "type", "integer");
		json_put_int(b, "minimum", 0);
		json_close(b, '}');
	}
	json_close(b, '}');
	json_close(b, '}');
}

static void
put_members(struct buf *b, const struct param_row *p)
{
	json_open(b, "properties", '{');
	for (size_t i = 0; i < nmembers; i++)
		if (!strcmp(members[i].object, p->name))
			param_put_schema(b, members[i].row.name,
			                 &members[i].row);
	if (!strcmp(p->name, "when")) {
#define TRIGGER(kind, text, number, lowest, highest, count, doc) \
	put_condition(b, #kind, text, number, lowest, highest, count, doc);
#include "triggers.def"
#undef TRIGGER
	}
	json_close(b, '}');
}

static void
put_object(struct buf *b, const struct param_row *p)
{
	json_put_text(b, "type", "object");
	json_put_int(b, "maxProperties", p->max);
	if (p->type == PT_LABELS)
		buf_puts(b, ",\"additionalProperties\":{\"type\":\"string\"}");
	else
		put_members(b, p);
}

/* Members of the objects in a list are rows with the list's name, as for an
 * object. */
static void
put_list_items(struct buf *b, const struct param_row *p)
{
	json_put_int(b, "maxItems", p->max);
	json_open(b, "items", '{');
	json_put_text(b, "type", "object");
	put_members(b, p);
	json_close(b, '}');
}

static void
put_text_examples(struct buf *b, const char *first, const char *second,
                  const char *third)
{
	json_open(b, "examples", '[');
	json_put_text(b, NULL, first);
	json_put_text(b, NULL, second);
	json_put_text(b, NULL, third);
	json_close(b, ']');
}

/*
 * Writes an object whose members are separate parameters, "label.KEY", which
 * is how style "form" encodes an object.
 */
static void
put_matches(struct buf *b, const struct param_row *p)
{
	json_put_text(b, "type", "object");
	json_put_int(b, "maxProperties", p->max);
	json_open(b, "propertyNames", '{');
	buf_addf(b, "\"pattern\":\"^%s\\\\..{1,63}$\"}", p->name);
	buf_puts(b, ",\"additionalProperties\":{\"type\":\"string\"}");
}

void
param_put_schema(struct buf *b, const char *key, const struct param_row *p)
{
	const char *const *words = param_words(p->type);

	json_open(b, key, '{');
	if (p->type == PT_TYPES) {
		json_put_text(b, "type", "array");
		json_open(b, "items", '{');
		put_words(b, words);
		json_close(b, '}');
	} else if (words) {
		put_words(b, words);
	} else if (p->type == PT_INT) {
		json_put_text(b, "type", "integer");
		json_put_int(b, "minimum", p->min);
		json_put_int(b, "maximum", p->max);
	} else if (p->type == PT_MATCHES) {
		put_matches(b, p);
	} else if (p->type == PT_BOOL) {
		json_put_text(b, "type", "boolean");
	} else if (p->type == PT_FUNCTIONS) {
		json_put_text(b, "type", "array");
		put_ref(b, "items", "TopFunction");
	} else if (p->type == PT_LIST) {
		json_put_text(b, "type", "array");
		put_list_items(b, p);
	} else if (p->type == PT_WORDS || p->type == PT_TAGS ||
	           p->type == PT_FRAMES) {
		json_put_text(b, "type", "array");
		buf_puts(b, ",\"items\":{\"type\":\"string\"}");
	} else if (p->type == PT_LABELS || p->type == PT_OBJECT) {
		put_object(b, p);
	} else if (p->type == PT_MESSAGE) {
		buf_puts(b, "\"type\":[\"string\",\"integer\"]");
	} else if (p->type == PT_TEXT || p->type == PT_NAME) {
		put_text_bounds(b, p);
	} else {
		json_put_text(b, "type", "string");
		if (p->type == PT_TIME)
			put_text_examples(b, "2026-01-15T08:00:00Z", "now-1h",
			                  "1768464000");
		if (p->type == PT_SPAN)
			put_text_examples(b, "15s", "5m", "1d");
	}
	put_default(b, p);
	if (p->in == IN_BODY)
		json_put_text(b, "description", p->doc);
	json_close(b, '}');
}

static void
put_header_param(struct buf *b, const char *name, const char *doc)
{
	json_open(b, NULL, '{');
	json_put_text(b, "name", name);
	json_put_text(b, "in", "header");
	json_put_text(b, "description", doc);
	buf_puts(b, ",\"schema\":{\"type\":\"string\"}");
	json_close(b, '}');
}

static void
put_params(struct buf *b, const struct route *r)
{
	char key[128];

	json_open(b, "parameters", '[');
	for (size_t i = 0; i < P_COUNT; i++) {
		const struct param_row *p = &params[i];

		if (p->op != r->op || p->in == IN_BODY)
			continue;
		json_open(b, NULL, '{');
		json_put_text(b, "name", p->name);
		json_put_text(b, "in", p->in == IN_PATH ? "path" : "query");
		json_put_bool(b, "required", p->required);
		json_put_text(b, "description", p->doc);
		param_put_schema(b, "schema", p);
		json_close(b, '}');
	}
	if (r->who != WHO_ANYONE)
		put_header_param(b, "X-Tenant-ID",
		                 "One of the token's tenants; absent: its "
		                 "default");
	if (route_takes_key(r)) {
		snprintf(key, sizeof(key),
		         "The same key answers the same reply for %d hours; "
		         "another request under it is 422",
		         IDEMPOTENCY_HOURS);
		put_header_param(b, "Idempotency-Key", key);
	}
	json_close(b, ']');
}

/* Returns the length of an input's first content type, by which it is
 * listed. */
static size_t
listed_len(const struct input *in)
{
	return strcspn(in->content_types, " ");
}

static bool
are_listed_together(const struct input *a, const struct input *b)
{
	size_t n = listed_len(a);

	return n == listed_len(b) &&
	       !memcmp(a->content_types, b->content_types, n);
}

/* Writes the inputs that are listed together with row i, unless an earlier row
 * has done so. */
static void
put_inputs(struct buf *b, size_t i)
{
	CLEANUP_BUF struct buf docs = BUF_INIT(BUF_MAX_SMALL);
	char name[128];

	for (size_t k = 0; k < ninputs; k++) {
		if (!are_listed_together(&inputs[i], &inputs[k]))
			continue;
		if (k < i)
			return;
		buf_addf(&docs, "%s%s", docs.len ? ". " : "", inputs[k].doc);
	}
	snprintf(name, sizeof(name), "%.*s", (int)listed_len(&inputs[i]),
	         inputs[i].content_types);
	json_open(b, name, '{');
	json_put_text(b, "x-input", buf_str(&docs));
	json_close(b, '}');
}

/* Writes a body in any format of inputs.def, by content types. */
static void
put_upload(struct buf *b)
{
	buf_puts(b, ",\"requestBody\":{\"required\":true,\"content\":{");
	for (size_t i = 0; i < ninputs; i++)
		put_inputs(b, i);
	json_open(b, "application/octet-stream", '{');
	json_put_text(b, "x-input",
	              "Any of these, plain or compressed with gzip or zstd");
	buf_puts(b, "}}}");
}

/* Writes a body of bytes in a form that only hosts of a fleet send. */
static void
put_result(struct buf *b, const struct route *r)
{
	buf_puts(b, ",\"requestBody\":{\"required\":true,\"content\":{");
	json_open(b, "application/octet-stream", '{');
	json_put_text(b, "x-input",
	              r->op == OP_SendAgentBlock
	                      ? "A block: windows of one tenant and level with "
	                        "their directory"
	                      : "A JSON object in one line, followed by the "
	                        "profile, profileBytes of gzipped pprof, by "
	                        "timelineBytes of its timeline and by "
	                        "listingBytes of its listing");
	buf_puts(b, "}}}");
}

static void
put_elf(struct buf *b)
{
	buf_puts(b, ",\"requestBody\":{\"required\":true,\"content\":{");
	json_open(b, "application/octet-stream", '{');
	json_put_text(b, "x-input",
	              "An ELF file with symbols or DWARF, such as "
	              "objcopy --only-keep-debug writes");
	buf_puts(b, "}}}");
}

#define CONNECT_TYPE "application/proto"
#define OTLP_TYPE    "application/x-protobuf"

/* Writes a message in JSON, or in protobuf of this content type. */
static void
put_messages(struct buf *b, const char *type)
{
	json_open(b, "content", '{');
	buf_puts(b, "\"application/json\":{\"schema\":{\"type\":\"object\"}}");
	json_open(b, type, '{');
	json_close(b, '}');
	json_close(b, '}');
}

static void
put_message_body(struct buf *b, const char *type)
{
	buf_puts(b, ",\"requestBody\":{\"required\":true");
	put_messages(b, type);
	json_close(b, '}');
}

static void
put_body(struct buf *b, const struct route *r)
{
	if (r->result)
		put_result(b, r);
	else if (!strcmp(r->reply, "OTLP"))
		put_message_body(b, OTLP_TYPE);
	else if (r->connect)
		put_message_body(b, CONNECT_TYPE);
	else if (r->elf)
		put_elf(b);
	else if (r->upload)
		put_upload(b);
	if (!r->max_body)
		return;
	buf_puts(b, ",\"requestBody\":{\"required\":true,\"content\":{"
	            "\"application/json\":{\"schema\":{\"type\":\"object\"");
	json_open(b, "properties", '{');
	for (size_t i = 0; i < P_COUNT; i++)
		if (params[i].op == r->op && params[i].in == IN_BODY)
			param_put_schema(b, params[i].name, &params[i]);
	json_close(b, '}');
	json_open(b, "required", '[');
	for (size_t i = 0; i < P_COUNT; i++)
		if (params[i].op == r->op && params[i].in == IN_BODY &&
		    params[i].required)
			json_put_text(b, NULL, params[i].name);
	buf_puts(b, "]}}}}");
}

/* --- replies -------------------------------------------------------------- */

static void
put_views(struct buf *b)
{
	json_open(b, "content", '{');
#define FORMAT(name, content_type, extension, use, doc) \
	json_open(b, content_type, '{');                \
	json_put_text(b, "x-format", #name);            \
	json_close(b, '}');
#include "formats.def"
#undef FORMAT
	json_close(b, '}');
}

static void
put_diffs(struct buf *b)
{
	json_open(b, "content", '{');
	for (size_t i = 0; i < ndiff_formats; i++) {
		const char *name = diff_formats[i].name;

		json_open(b, format_find(name)->content_type, '{');
		json_put_text(b, "x-format", name);
		json_put_text(b, "x-description", diff_formats[i].doc);
		json_close(b, '}');
	}
	json_close(b, '}');
}

/* Writes the formats. JSON is the summary, unless ?format= says otherwise. */
static void
put_merged(struct buf *b)
{
	json_open(b, "content", '{');
	json_open(b, "application/json", '{');
	put_ref(b, "schema", "MergedProfile");
	json_close(b, '}');
#define FORMAT(name, content_type, extension, use, doc)      \
	if (strcmp(content_type, "application/json") != 0) { \
		json_open(b, content_type, '{');             \
		json_put_text(b, "x-format", #name);         \
		json_close(b, '}');                          \
	}
#include "formats.def"
#undef FORMAT
	json_close(b, '}');
}

/* Returns the content type of a reply without a schema; NULL for others. */
static const char *
content_type(const char *reply)
{
	static const char *const types[][2] = {
		{"TEXT", "text/plain"},
		{"RPC", "application/json"},
		{"FLAMEBEARER", "application/json"},
		{"OPENAPI", "application/json"},
		{"GZIP", "application/gzip"},
		{"PPROF", "application/octet-stream"},
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(types[i][0], reply))
			return types[i][1];
	return NULL;
}

static void
put_success(struct buf *b, const struct route *r)
{
	buf_addf(b, ",\"%d\":{", r->status);
	json_put_text(b, "description", r->summary);
	if (!strcmp(r->reply, "VIEWS")) {
		put_views(b);
	} else if (!strcmp(r->reply, "MERGED")) {
		put_merged(b);
	} else if (!strcmp(r->reply, "DIFFS")) {
		put_diffs(b);
	} else if (!strcmp(r->reply, "MESSAGE")) {
		put_messages(b, CONNECT_TYPE);
	} else if (!strcmp(r->reply, "OTLP")) {
		put_messages(b, OTLP_TYPE);
	} else if (content_type(r->reply)) {
		json_open(b, "content", '{');
		json_open(b, content_type(r->reply), '{');
		json_close(b, '}');
		json_close(b, '}');
	} else if (strcmp(r->reply, "NOTHING")) {
		buf_puts(b, ",\"content\":{\"application/json\":{");
		put_ref(b, "schema", r->reply);
		buf_puts(b, "}}");
	}
	json_close(b, '}');
}

static const struct {
	enum other_reply bit;
	const char *status, *doc;
} others[] = {
	{STOPPED, "202",
         "It was running: it ends as failed, with what was sampled"},
	{UNDER_WAY, "204",
         "latest=true, and a profile is being taken: see Retry-After"},
	{NOT_MODIFIED, "304", "The reply is the one that If-None-Match names"},
	{NOTED, "202", "A notification: nothing is answered"},
	{NOTHING_THERE, "204", "optional=true, and there is nothing"},
};

static void
put_others(struct buf *b, const struct route *r)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (!(r->others & others[i].bit))
			continue;
		json_open(b, others[i].status, '{');
		json_put_text(b, "description", others[i].doc);
		json_close(b, '}');
	}
}

/* Groups of operations: the longest prefix of a path counts. */
static const struct {
	const char *prefix, *name, *doc;
} tags[] = {
	{"/api/v1/observability/profiling", "Profiles",
         "Take profiles, once or continuously, and get them, or ranges of "
         "time, in any format."},
	{"/api/v1/profiling", "Sessions",
         "The same captures as sessions: analysis, stacks that are new, "
         "baselines, uploads."},
	{"/v0/pipelines", "Pipelines",
         "For clients that were made for samply."},
	{"/api/v1/services", "Services",
         "What may be profiled, and what starts a capture by itself."},
	{"/api/v1/", "Management", "Workers, keys, and who did what."},
	{"/agent", "Agents",
         "Workers of other hosts ask here for jobs, and send results."},
	{"/querier", "Grafana",
         "Calls of Grafana's data source for Pyroscope, by the Connect "
         "protocol."},
	{"/mcp", "Assistants",
         "For assistants that speak the Model Context Protocol."},
	{"/", "Server", "What runs this asks here; pushes of other clients."},
};

static const char *
tag_of(const char *path)
{
	size_t best = ARRAY_LEN(tags) - 1;

	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		size_t n = strlen(tags[i].prefix);

		if (n > strlen(tags[best].prefix) &&
		    !strncmp(path, tags[i].prefix, n))
			best = i;
	}
	return tags[best].name;
}

static void
put_tags(struct buf *b)
{
	json_open(b, "tags", '[');
	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		json_open(b, NULL, '{');
		json_put_text(b, "name", tags[i].name);
		json_put_text(b, "description", tags[i].doc);
		json_close(b, '}');
	}
	json_close(b, ']');
}

static void
put_operation(struct buf *b, const struct route *r)
{
	static const char *const lower[] = {"get", "head", "post", "put",
	                                    "delete"};

	json_open(b, lower[r->method], '{');
	json_put_text(b, "operationId", r->name);
	json_put_text(b, "summary", r->summary);
	json_open(b, "tags", '[');
	json_put_text(b, NULL, tag_of(r->path));
	json_close(b, ']');
	if (*who_name(r->who))
		json_put_text(b, "x-role", who_name(r->who));
	json_open(b, "security", '[');
	if (r->who != WHO_ANYONE)
		buf_puts(b, "{\"bearer\":[]},{\"cookie\":[]}");
	if (r->who == WHO_LINK)
		buf_puts(b, ",{\"link\":[]}");
	json_close(b, ']');
	put_params(b, r);
	put_body(b, r);
	buf_puts(b, ",\"responses\":{\"default\":{\"$ref\":"
	            "\"#/components/responses/Error\"}");
	put_success(b, r);
	put_others(b, r);
	buf_puts(b, "}}");
}

/* Writes each path once, with the operations of all its methods. */
static void
put_paths(struct buf *b)
{
	json_open(b, "paths", '{');
	for (size_t i = 0; i < OP_COUNT; i++) {
		bool seen = false;

		for (size_t j = 0; j < i; j++)
			seen |= !strcmp(routes[j].path, routes[i].path);
		if (seen)
			continue;
		json_open(b, routes[i].path, '{');
		for (size_t j = i; j < OP_COUNT; j++)
			if (!strcmp(routes[j].path, routes[i].path))
				put_operation(b, &routes[j]);
		json_close(b, '}');
	}
	json_close(b, '}');
}

/* --- schemas -------------------------------------------------------------- */

/* The JSON Schema of each type of schemas.def. */
static const char *const field_types[] = {
	[FT_STRING] = "\"type\":\"string\"",
	[FT_STRING_OR_NULL] = "\"type\":[\"string\",\"null\"]",
	[FT_STRINGS] = "\"type\":\"array\",\"items\":{\"type\":\"string\"}",
	[FT_INTEGER] = "\"type\":\"integer\"",
	[FT_INTEGERS] = "\"type\":\"array\",\"items\":{\"type\":\"integer\"}",
	[FT_NUMBER] = "\"type\":\"number\"",
	[FT_NUMBER_OR_NULL] = "\"type\":[\"number\",\"null\"]",
	[FT_BOOLEAN] = "\"type\":\"boolean\"",
	[FT_TIME] = "\"type\":\"string\",\"format\":\"date-time\"",
	[FT_TIME_OR_NULL] =
		"\"type\":[\"string\",\"null\"],\"format\":\"date-time\"",
	[FT_URL] = "\"type\":\"string\",\"format\":\"uri\"",
	[FT_LIST] = "\"type\":\"array\",\"items\":{\"$ref\":\"" REF,
	[FT_OBJECT] = "\"$ref\":\"" REF,
	[FT_MEMBERS] = "\"type\":\"object\"",
};

static void
put_field(struct buf *b, const struct field_row *f)
{
	json_open(b, f->name, '{');
	buf_puts(b, field_types[f->type]);
	if (f->type == FT_LIST || f->type == FT_OBJECT)
		buf_addf(b, "%s\"}", f->of);
	if (f->type == FT_OBJECT)
		return;
	json_put_text(b, "description", f->doc);
	json_close(b, '}');
}

static void
put_schema(struct buf *b, const struct schema_row *s)
{
	json_open(b, s->name, '{');
	json_put_text(b, "type", "object");
	json_put_text(b, "description", s->doc);
	json_open(b, "properties", '{');
	for (size_t i = 0; i < nfields; i++)
		if (!strcmp(fields[i].schema, s->name))
			put_field(b, &fields[i]);
	json_close(b, '}');
	json_open(b, "required", '[');
	for (size_t i = 0; i < nfields; i++)
		if (!strcmp(fields[i].schema, s->name))
			json_put_text(b, NULL, fields[i].name);
	json_close(b, ']');
	json_close(b, '}');
}

static void
put_errors(struct buf *b)
{
	json_open(b, "x-errors", '{');
	for (size_t i = 0; i < E_COUNT; i++)
		json_put_int(b, errors[i].code, errors[i].status);
	json_close(b, '}');
}

static void
put_components(struct buf *b)
{
	json_open(b, "components", '{');
	buf_puts(b, "\"securitySchemes\":{"
	            "\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\","
	            "\"description\":\"An API key or a JWT\"},"
	            "\"cookie\":{\"type\":\"apiKey\",\"in\":\"cookie\","
	            "\"name\":\"__Host-stoker\","
	            "\"description\":\"What SignIn sets; stoker over plain "
	            "HTTP\"},"
	            "\"link\":{\"type\":\"apiKey\",\"in\":\"query\","
	            "\"name\":\"signature\","
	            "\"description\":\"A signed link of a ProfileResult\"}}");
	buf_puts(b, ",\"responses\":{\"Error\":{\"description\":\"Any error; "
	            "x-errors lists the codes\",\"content\":{"
	            "\"application/json\":{");
	put_ref(b, "schema", "Error");
	buf_puts(b, "}}}}");
	json_open(b, "schemas", '{');
	for (size_t i = 0; i < nschemas; i++)
		put_schema(b, &schemas[i]);
	json_close(b, '}');
	json_close(b, '}');
}

int
openapi_get(struct call *c)
{
	struct buf *b = answer_json(c);

	json_put_text(b, "openapi", "3.1.0");
	json_open(b, "info", '{');
	json_put_text(b, "title", "Stoker");
	json_put_text(b, "version", stoker_version);
	json_put_text(b, "description",
	              "Unknown fields and parameters are ignored, and named in "
	              "warnings[] of the reply.");
	json_close(b, '}');
	json_open(b, "servers", '[');
	json_open(b, NULL, '{');
	json_put_text(b, "url", c->env->conf->api_public_url);
	json_close(b, '}');
	json_close(b, ']');
	put_tags(b);
	put_paths(b);
	put_components(b);
	put_errors(b);
	return answer_end(c);
}
