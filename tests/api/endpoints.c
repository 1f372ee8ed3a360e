/* Services with a pprofUrl: which URLs are accepted, and which types they make
 * possible. */
#include "base/ways.h"
#include "lib/api_short.h"
#include "store/service.h"

#define SERVICES "/api/v1/services"
#define START    "/api/v1/observability/profiling/start"
#define PAGES    "http://localhost:6060"

/* Adds a service that is only an endpoint, without a process. */
static void
add_endpoint(struct test_api *a)
{
	struct service s = test_no_match(TEST_TENANT, "pages");

	s.kind = "go";
	s.pprof_url = PAGES;
	ck_assert_int_eq(service_add(&a->store.s, &s), 0);
}

static struct client_reply
start(struct test_api *a, const char *type, const char *more)
{
	char body[256];

	snprintf(body, sizeof(body),
	         "{\"service\":\"pages\",\"profileType\":\"%s\"%s}", type,
	         more);
	return api_post(a, START, body);
}

/* Go has no page for io, and wall cannot be captured. */
static long
status_of_start(const char *type)
{
	for (size_t i = 0; i < WAYS; i++)
		if (way_rows[i].engine == ENGINE_PAGES &&
		    !strcmp(way_rows[i].type, type))
			return 202;
	return ways_exist(type) ? 501 : 400;
}

TEST(an_endpoint_gives_every_type_of_a_service_that_nobody_sees)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	static const char *const types[] = {
#define PROFILE_TYPE(name, ...) #name,
#include "types.def"
#undef PROFILE_TYPE
	};

	add_endpoint(&a);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		CLEANUP_REPLY struct client_reply r = start(&a, types[i], "");

		ck_assert_msg(r.status == status_of_start(types[i]), "%s: %s",
		              types[i], buf_str(&r.body));
	}
}
END

TEST(an_endpoint_is_one_process)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = {0}, second = {0};

	add_endpoint(&a);
	second = start(&a, "memory", ",\"ordinal\":1");
	assert_error(&second, 404, "UnknownOrdinal");
	first = start(&a, "memory", ",\"ordinal\":0");
	ck_assert_int_eq(first.status, 202);
}
END

static const struct {
	const char *fields;
	int status;
	const char *code;
} services[] = {
	{"\"pprofUrl\":\"" PAGES "\"", 200, ""},
	{"\"pprofUrl\":\"" PAGES "/debug/pprof/\"", 200, ""},
	{"\"pprofUrl\":\"https://127.0.0.1\",\"source\":\"endpoint\"", 200, ""},
	{"\"pprofUrl\":\"http://there:1\",\"host\":\"there\"", 200, ""},
	{"\"pprofUrl\":\"\",\"source\":\"auto\"", 200, ""},
	{"\"pprofUrl\":\"\",\"source\":\"endpoint\"", 400, "InvalidParameter"},
	{"\"pprofUrl\":\"localhost:6060\"", 400, "InvalidParameter"},
	{"\"pprofUrl\":\"ftp://localhost/\"", 400, "InvalidParameter"},
	{"\"pprofUrl\":\"http://u:p@localhost/\"", 400, "InvalidParameter"},
	{"\"pprofUrl\":\"" PAGES "/x?y=1\"", 400, "InvalidParameter"},
	{"\"pprofUrl\":\"" PAGES "/x y\"", 400, "InvalidParameter"},
	{"\"pprofUrl\":\"http://169.254.169.254/\"", 403, "EndpointForbidden"},
	{"\"pprofUrl\":\"http://elsewhere/\"", 403, "EndpointForbidden"},
	{"\"pprofUrl\":\"http://there:1\",\"host\":\"here\"", 403,
         "EndpointForbidden"},
};

TEST(a_pprof_url_is_one_that_configuration_lets_through)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(services); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[256];

		snprintf(body, sizeof(body), "{%s}", services[i].fields);
		r = api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
		            body);
		ck_assert_msg(r.status == services[i].status, "%s: %s", body,
		              buf_str(&r.body));
		if (r.status != 200)
			assert_error(&r, r.status, services[i].code);
	}
}
END

#define GIT "https://git.example.org/shop/blob/"

static const struct {
	const char *link;
	int status;
} links[] = {
	{"", 200},
	{GIT "{version}/{file}#L{line}", 200},
	{GIT "{version}/{file:/build/shop/}#L{line}", 200},
	{"http://[::1]:3000/{file}?plain=1", 200},
	{GIT "main#L{line}", 400}, /* for all files */
	{GIT "{file}#{column}", 400},
	{GIT "{file}#{line", 400},
	{GIT "{file}}", 400},
	{GIT "{{file}}", 400},
	{GIT "{file:}", 400},
	{GIT "{file} ", 400},
	{GIT "{file}\\u00e9", 400},
	{GIT "{file}\\n", 400},
	{GIT "{file}<", 400},
	{"javascript:alert(1)//{file}", 400},
	{"ftp://git.example.org/{file}", 400},
	{"//git.example.org/{file}", 400},
	{"https:///{file}", 400},
	{"https://{file}/", 400},
	{"https://git.example.org", 400},
	{"https://git.example.org{file}/", 400},
	{"https://git.example.org@evil.example/{file}", 400},
};

static const struct {
	const char *link;
	int status;
} traces[] = {
	{"", 200},
	{"https://tempo.example.org/{trace}", 200},
	{"http://jaeger:16686/trace/{trace}?uiFind={span}", 200},
	{"https://tempo.example.org/{span}", 400}, /* for all traces */
	{"https://tempo.example.org/{trace}/{file}", 400},
	{"https://tempo.example.org/{traces}", 400},
	{"https://{trace}.example.org/", 400},
	{"javascript:alert(1)//{trace}", 400},
};

TEST(a_trace_link_is_an_address_whose_host_no_trace_can_change)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[256];

		snprintf(body, sizeof(body), "{\"traceLink\":\"%s\"}",
		         traces[i].link);
		r = api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
		            body);
		ck_assert_msg(r.status == traces[i].status, "%s: %s", body,
		              buf_str(&r.body));
		if (r.status == 200)
			ck_assert_ptr_nonnull(
				strstr(buf_str(&r.body), traces[i].link));
	}
}
END

TEST(a_source_link_is_an_address_whose_host_no_file_can_change)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[256];

		snprintf(body, sizeof(body), "{\"sourceLink\":\"%s\"}",
		         links[i].link);
		r = api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
		            body);
		ck_assert_msg(r.status == links[i].status, "%s: %s", body,
		              buf_str(&r.body));
		if (r.status == 200)
			ck_assert_ptr_nonnull(
				strstr(buf_str(&r.body), links[i].link));
	}
}
END

SUITE("endpoints", .seconds = 60);
