/* Claims about every row of schemas.def, and that the OpenAPI description has
 * all of them. */
#include "api/fcgi.h"
#include "lib/api_rows.h"
#include "lib/api_short.h"
#include "lib/stacks.h"
#include "profile/timeline.h"
#include "store/baseline.h"
#include "store/blob.h"
#include "store/session_private.h"
#include "store/trigger.h"

#include <string.h>

static bool
is_time(const json_t *v)
{
	const char *s = json_string_value(v);

	return s && strlen(s) == 24 && s[10] == 'T' && s[23] == 'Z';
}

static bool
type_fits(enum field_type type, const json_t *v)
{
	if (type == FT_TIME)
		return is_time(v);
	if (type == FT_TIME_OR_NULL)
		return json_is_null(v) || is_time(v);
	if (type == FT_STRING_OR_NULL)
		return json_is_null(v) || json_is_string(v);
	if (type == FT_INTEGER)
		return json_is_integer(v);
	if (type == FT_NUMBER)
		return json_is_number(v);
	if (type == FT_NUMBER_OR_NULL)
		return json_is_null(v) || json_is_number(v);
	if (type == FT_BOOLEAN)
		return json_is_boolean(v);
	if (type == FT_LIST || type == FT_STRINGS || type == FT_INTEGERS)
		return json_is_array(v);
	if (type == FT_OBJECT || type == FT_MEMBERS)
		return json_is_object(v);
	return json_is_string(v);
}

static void
assert_schema(const char *schema, const json_t *j)
{
	size_t n = 0;

	ck_assert_msg(json_is_object(j), "%s is no object", schema);
	for (size_t i = 0; i < nfields; i++) {
		const struct field_row *f = &fields[i];
		const json_t *v = json_object_get(j, f->name);
		json_t *item;
		size_t at;

		if (strcmp(f->schema, schema))
			continue;
		n++;
		ck_assert_msg(v && type_fits(f->type, v), "%s.%s", schema,
		              f->name);
		if (f->type == FT_LIST)
			json_array_foreach(v, at, item)
				assert_schema(f->of, item);
		if (f->type == FT_OBJECT)
			assert_schema(f->of, v);
	}
	n += json_object_get(j, "warnings") != NULL; /* allowed in any reply */
	ck_assert_msg(json_object_size(j) == n, "%s has other fields", schema);
}

/* Cancels a capture, so that another one of its service and type may start. */
static void
cancel(struct test_api *a, const char *id)
{
	CLEANUP_REPLY struct client_reply r = {0};
	char path[ID_MAX + 64];

	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	r = api_say(a, KEY_ADMIN, "DELETE", path, NULL);
	ck_assert_int_eq(r.status, 202);
}

/* Uploads goroutines, some of which may leak, and makes a baseline. */
static void
make_analysed(struct test_api *a, const char *id, char goroutines[ID_MAX],
              char baseline[ID_MAX])
{
	CLEANUP_PROFILE struct profile *p =
		stacks_of("1 state=running|main.main\n"
	                  "2 state=waiting,waitReasonRaw=select (no cases)"
	                  "|main.stuck\n");
	const struct baseline_ask of = {TEST_TENANT, id,      "v1", "",
	                                "[]",        "\na\n", ""};

	test_upload(a, p, "goroutine", goroutines);
	ck_assert_int_eq(baseline_add(&a->store.s, &of, baseline), 0);
	good_goroutines = goroutines;
	good_baseline = baseline;
}

/* Stores a timeline for a capture. */
static void
make_timeline(struct test_api *a, const char *session)
{
	CLEANUP_TIMELINE struct timeline *t = timeline_new();
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	const struct timeline_thread thread = {.pid = 7, .tid = 7};
	struct blob blob;

	t->duration_us = 1000000;
	ck_assert_int_eq(timeline_thread(t, &thread), 0);
	ck_assert_int_eq(timeline_sample(t, &(struct timeline_sample){0}), 0);
	ck_assert_int_eq(timeline_encode(t, &bytes), 0);
	ck_assert_int_eq(blob_put(&a->store.s, BLOB_TIMELINE, bytes.p,
	                          bytes.len, &w, &blob),
	                 0);
	ck_assert_int_eq(session_store_blob(&a->store.s, session, &blob), 0);
}

static void
make_trigger(struct test_api *a)
{
	static char id[ID_MAX];
	const struct trigger t = {
		.tenant = (char *)TEST_TENANT,
		.service = (char *)TEST_SERVICE,
		.name = (char *)"first",
		.kind = (char *)"cpuShare",
		.function = (char *)"main",
		.threshold = 50,
		.type = (char *)"cpu",
		.seconds = 1,
		.rate = 100,
		.webhook = (char *)"",
		.created_by = (char *)"",
	};

	ck_assert_int_eq(trigger_add(&a->store.s, &t, id), 0);
	good_trigger = id;
}

static void
make_join(struct test_api *a)
{
	static char key[TOKEN_KEY_MAX];
	const struct token_ask t = {
		.name = "join",
		.role = TOKEN_JOIN,
		.tenants = TEST_TENANT,
		.default_tenant = TEST_TENANT,
	};
	char id[ID_MAX];

	ck_assert_int_eq(token_create(&a->store.s, &t, id, key), 0);
	good_join = key;
}

TEST(every_reply_has_the_fields_of_its_schema_and_no_others)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX], goroutines[ID_MAX], baseline[ID_MAX];

	test_profile(&a, id);
	make_analysed(&a, id, goroutines, baseline);
	make_timeline(&a, id);
	make_trigger(&a);
	make_join(&a);
	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, id);
		CLEANUP_REPLY struct client_reply reply = {0};
		bool text = !strcmp(r->reply, "TEXT") ||
		            !strcmp(r->reply, "RPC") ||
		            !strcmp(r->reply, "FLAMEBEARER") ||
		            !strcmp(r->reply, "NOTHING") ||
		            !strcmp(r->reply, "VIEWS") ||
		            !strcmp(r->reply, "DIFFS") ||
		            !strcmp(r->reply, "MESSAGE") ||
		            !strcmp(r->reply, "OTLP") ||
		            !strcmp(r->reply, "OPENAPI");

		if (r->who == WHO_WORKER) { /* whose host has the session */
			test_sql(&a.store,
			         "UPDATE token SET host = '" TEST_HOST
			         "' WHERE role = 'worker'",
			         NULL, 0);
			test_sql(&a.store,
			         "UPDATE worker SET tenants = 't t2' "
			         "WHERE host = '" TEST_HOST "'",
			         NULL, 0);
		}
		if (r->method == METHOD_DELETE)
			continue; /* called below, since they remove what
				     other tests need */
		if (r->op == OP_SwitchTenant)
			continue; /* needs a cookie: browser_sessions.c */
		if (!strcmp(r->reply, "GZIP") || !strcmp(r->reply, "PPROF"))
			continue; /* need a run: pipelines.c */
		reply = ask(&a, g.ask);
		ck_assert_msg(reply.status == r->status, "%s: %s", r->name,
		              buf_str(&reply.body));
		if (!text)
			assert_schema(strcmp(r->reply, "MERGED")
			                      ? r->reply
			                      : "MergedProfile",
			              reply.json);
		if (reply.status == 202 && !strcmp(r->reply, "ProfileResult"))
			cancel(&a, reply_text(&reply, "id"));
	}
}
END

TEST(a_part_of_a_profile_begins_before_its_end)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply last = {0}, past = {0};
	char id[ID_MAX];

	test_profile(&a, id); /* takes 5001 ms */
	make_timeline(&a, id);
	last = api_getf(&a, API_PROFILES "/%s.5000-5001", id, "");
	ck_assert_int_eq(last.status, 200);
	past = api_getf(&a, API_PROFILES "/%s.5001-5002", id, "");
	assert_error(&past, 404, "UnknownProfile");
}
END

TEST(every_delete_answers_204_without_a_body)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		ask(&a, (struct ask){
				.key = KEY_ADMIN,
				.method = "POST",
				.path = "/api/v1/tokens",
				.body = "{\"name\":\"n\",\"role\":\"viewer\"}",
			});
	char id[ID_MAX], tokens[128];
	const char *const paths[] = {tokens, API_PROFILES "/%s",
	                             "/api/v1/services/" TEST_SERVICE};

	snprintf(tokens, sizeof(tokens), "/api/v1/tokens/%s",
	         reply_text(&made, "id"));
	test_profile(&a, id);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP_REPLY struct client_reply once = {0}, again = {0};
		char path[160];

		snprintf(path, sizeof(path), "%s%s",
		         i == 1 ? API_PROFILES "/" : paths[i],
		         i == 1 ? id : "");
		once = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
		ck_assert_int_eq(once.status, 204);
		ck_assert_uint_eq(once.body.len, 0);
		again = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
		ck_assert_int_eq(again.status, 404);
	}
}
END

/* --- description ---------------------------------------------------------- */

static const json_t *
named(const json_t *list, const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (!strcmp(json_string_value(json_object_get(v, "name")),
		            name))
			return v;
	return NULL;
}

/* Fields of a media type object: OpenAPI 3.1.0, 4.8.14. */
static void
assert_media_types(json_t *content)
{
	for (void *m = json_object_iter(content); m;
	     m = json_object_iter_next(content, m)) {
		const char *key;
		json_t *v;

		json_object_foreach(json_object_iter_value(m), key, v) {
			ck_assert_msg(!strcmp(key, "schema") ||
			                      !strncmp(key, "x-", 2),
			              "%s of %s", key, json_object_iter_key(m));
		}
	}
}

TEST(openapi_describes_every_route_and_every_parameter)
{
	static const char *const lower[] = {"get", "head", "post", "put",
	                                    "delete"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply doc =
		ask(&a, (struct ask){.path = "/openapi.json"});
	const json_t *paths = json_object_get(doc.json, "paths");

	ck_assert_str_eq(reply_text(&doc, "openapi"), "3.1.0");
	EACH_ROUTE(r) {
		const json_t *op = json_object_get(
			json_object_get(paths, r->path), lower[r->method]);

		ck_assert_str_eq(
			json_string_value(json_object_get(op, "operationId")),
			r->name);
		EACH_PARAM(p)
			if (p->op == r->op && p->in != IN_BODY)
				ck_assert_ptr_nonnull(
					named(json_object_get(op, "parameters"),
				              p->name));
	}
}
END

TEST(openapi_names_the_headers_of_a_route)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply doc =
		ask(&a, (struct ask){.path = "/openapi.json"});
	const json_t *paths = json_object_get(doc.json, "paths");
	const json_t *post = json_object_get(
		json_object_get(json_object_get(paths, "/api/v1/services"),
	                        "post"),
		"parameters");
	const json_t *tenant = named(post, "X-Tenant-ID");
	const json_t *key = named(post, "Idempotency-Key");

	ck_assert_str_eq(json_string_value(json_object_get(tenant, "in")),
	                 "header");
	ck_assert_str_eq(json_string_value(json_object_get(key, "in")),
	                 "header");
}
END

TEST(openapi_resolves_every_reference)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply doc =
		ask(&a, (struct ask){.path = "/openapi.json"});
	const json_t *all = json_object_get(
		json_object_get(doc.json, "components"), "schemas");
	static const char ref[] = "#/components/schemas/";
	int n = 0;

	for (const char *s = strstr(buf_str(&doc.body), ref); s;
	     s = strstr(s, ref), n++) {
		char name[64];

		s += sizeof(ref) - 1;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(s, "\""), s);
		ck_assert_msg(json_object_get(all, name), "%s", name);
	}
	ck_assert_int_gt(n, 20);
}
END

TEST(openapi_media_types_have_no_foreign_field)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply doc =
		ask(&a, (struct ask){.path = "/openapi.json"});
	static const char *const views[] = {"/{profileId}/flamegraph", "/diff",
	                                    "/merge"};
	char path[128];
	json_t *content = NULL;

	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		snprintf(path, sizeof(path), API_PROFILES "%s", views[i]);
		ck_assert_int_eq(json_unpack(doc.json, "{s{s{s{s{s{so}}}}}}",
		                             "paths", path, "get", "responses",
		                             "200", "content", &content),
		                 0);
		assert_media_types(content);
	}
}
END

TEST(openapi_puts_every_operation_into_a_group_of_its_own)
{
	static const struct {
		const char *path, *method, *tag;
	} rows[] = {
		{API_PROFILES "/start", "post", "Profiles"},
		{"/api/v1/profiling/sessions", "get", "Sessions"},
		{"/v0/pipelines", "get", "Pipelines"},
		{"/api/v1/services/{name}/triggers", "get", "Services"},
		{"/api/v1/tokens", "get", "Management"},
		{"/agent/poll", "post", "Agents"},
		{"/querier.v1.QuerierService/LabelNames", "post", "Grafana"},
		{"/mcp", "post", "Assistants"},
		{"/ingest", "post", "Server"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply doc =
		ask(&a, (struct ask){.path = "/openapi.json"});

	ck_assert_uint_eq(json_array_size(json_object_get(doc.json, "tags")),
	                  ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *tag = "", *name = "";

		ck_assert_int_eq(json_unpack(doc.json, "{s{s{s{s[s!]}}}}",
		                             "paths", rows[i].path,
		                             rows[i].method, "tags", &tag),
		                 0);
		ck_assert_str_eq(tag, rows[i].tag);
		json_unpack(
			json_array_get(json_object_get(doc.json, "tags"), i),
			"{s:s}", "name", &name);
		ck_assert_str_eq(name, rows[i].tag);
	}
}
END

TEST(openapi_tells_what_cancelling_answers)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply doc =
		ask(&a, (struct ask){.path = "/openapi.json"});
	json_t *replies = NULL;

	ck_assert_int_eq(json_unpack(doc.json, "{s{s{s{so}}}}", "paths",
	                             API_PROFILES "/{profileId}", "delete",
	                             "responses", &replies),
	                 0);
	ck_assert_ptr_nonnull(json_object_get(replies, "202"));
	ck_assert_ptr_nonnull(json_object_get(replies, "204"));
}
END

/* --- status ------------------------------------------------------------- */

TEST(every_status_has_its_name)
{
	EACH_ROUTE(r)
		ck_assert_str_ne(fcgi_reason(r->status), "Unknown");
	for (size_t i = 0; i < E_COUNT; i++)
		ck_assert_msg(strcmp(fcgi_reason(errors[i].status), "Unknown"),
		              "%d", errors[i].status);
}
END

TEST(the_name_follows_the_number)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		ask(&a, (struct ask){.path = "/none"});

	ck_assert_str_eq(client_header(&r, "Status"), "404 Not Found");
}
END

SUITE("replies", .seconds = 60);
