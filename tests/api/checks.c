/* GET /api/v1/checks and /readyz: a part that cannot work reports this, with
 * the line that fixes it. */
#include "base/finding.h"
#include "base/json_out.h"
#include "lib/api_short.h"
#include "store/worker.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_FIX "mend the events"
#define EXE        "\"exe\":\"/bin/true\""

/* Sends a worker's heartbeat with this finding. */
static void
beat(struct test_api *a, const char *host, enum check c, enum verdict v)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct finding f = {0};

	finding_set(&f, v, v == FINE ? NULL : EVENTS_FIX, "it was tried");
	json_open(&text, NULL, '{');
	json_open(&text, "checks", '[');
	json_open(&text, NULL, '{');
	finding_json(&f, c, &text);
	json_close(&text, '}');
	json_close(&text, ']');
	json_close(&text, '}');
	test_worker(a, host, buf_str(&text));
}

static int
readiness(struct test_api *a)
{
	CLEANUP_REPLY struct client_reply r =
		ask(a, (struct ask){.path = "/readyz"});

	if (r.status != 200)
		assert_error(&r, 503, "NotReady");
	return r.status;
}

TEST(what_the_api_and_each_worker_found_is_listed_with_its_repair)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *own, *of_worker;

	beat(&a, TEST_HOST, CHECK_EVENTS, BROKEN);
	r = api_get(&a, "/api/v1/checks");
	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(length_of(&r, "items"), 4);
	own = item_of(&r, "items", 0);
	of_worker = item_of(&r, "items", 3);
	ck_assert_str_eq(text_of(own, "part"), "api");
	ck_assert_str_eq(text_of(own, "verdict"), "ok");
	ck_assert_str_eq(text_of(of_worker, "host"), TEST_HOST);
	ck_assert_str_eq(text_of(of_worker, "check"), "events");
	ck_assert_str_eq(text_of(of_worker, "verdict"), "broken");
	ck_assert_str_eq(text_of(of_worker, "fix"), EVENTS_FIX);
}
END

TEST(a_worker_that_published_nothing_is_passed_over)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = api_get(&a, "/api/v1/checks");

	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(length_of(&r, "items"), 3); /* the API's own */
	ck_assert_int_eq(readiness(&a), 200);
}
END

TEST(a_clock_that_has_jumped_is_a_warning)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *clock;

	test_sql(&a.store,
	         "INSERT INTO retention_clock (id, seen_ms, held_ms) "
	         "VALUES (1, 1, 0)",
	         NULL, 0);
	r = api_get(&a, "/api/v1/checks");
	clock = item_of(&r, "items", 1);
	ck_assert_str_eq(text_of(clock, "check"), "clock");
	ck_assert_str_eq(text_of(clock, "verdict"), "warning");
}
END

TEST(no_worker_that_can_capture_is_not_ready)
{
	static const struct {
		enum check check;
		enum verdict verdict;
		int status;
	} rows[] = {
		{CHECK_EVENTS, FINE, 200},    {CHECK_EVENTS, WARNING, 200},
		{CHECK_EVENTS, BROKEN, 503},  {CHECK_FILES, BROKEN, 503},
		{CHECK_STORE, BROKEN, 503},   {CHECK_MEMORY, BROKEN, 200},
		{CHECK_FILTER, WARNING, 200},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		beat(&a, TEST_HOST, rows[i].check, rows[i].verdict);
		ck_assert_msg(readiness(&a) == rows[i].status, "row %zu", i);
	}
}
END

TEST(one_worker_that_can_capture_is_enough)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	beat(&a, TEST_HOST, CHECK_EVENTS, BROKEN);
	ck_assert_int_eq(readiness(&a), 503);
	beat(&a, "host2", CHECK_EVENTS, FINE);
	ck_assert_int_eq(readiness(&a), 200);
}
END

TEST(the_check_in_the_way_is_named_without_a_token)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	beat(&a, TEST_HOST, CHECK_FILES, BROKEN);
	r = ask(&a, (struct ask){.path = "/readyz"});
	ck_assert_str_eq(reply_detail(&r, "worker"), "files");
	ck_assert_ptr_null(strstr(buf_str(&r.body), EVENTS_FIX));
}
END

/* A file stands where the process would make its folder: permissions would not
 * stop root. */
TEST(a_store_that_the_api_cannot_write_is_not_ready)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_FD int fd = -1;
	char name[32];

	snprintf(name, sizeof(name), ".try-%d", (int)a.pids[0]);
	fd = openat(a.store.s.profiles_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC,
	            0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(readiness(&a), 503);
	r = api_get(&a, "/api/v1/checks");
	ck_assert_str_eq(text_of(item_of(&r, "items", 0), "verdict"), "broken");
	ck_assert_ptr_null(strstr(buf_str(&r.body), a.store.dir));
}
END

TEST(what_a_worker_writes_there_breaks_no_reply)
{
	static const char *const texts[] = {
		"[]",
		"{\"checks\": 3}",
		"{\"checks\": [3, null, {}, {\"part\": 1, \"found\": []}]}",
		"{\"checks\": [",
		"x",
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		test_worker(&a, TEST_HOST, texts[i]);
		ck_assert_int_eq(readiness(&a), 200);
		r = api_get(&a, "/api/v1/checks");
		ck_assert_msg(r.status == 200, "%s: %d", texts[i], r.status);
	}
}
END

/* Describes a type of a service as "memory perhaps not: REASON", or "". */
static void
tell_lack(const struct client_reply *r, const char *type, struct buf *out)
{
	const json_t *lack;
	size_t i;

	json_array_foreach(json_object_get(r->json, "unsupported"), i, lack) {
		if (strcmp(text_of(lack, "profileType"), type) != 0)
			continue;
		buf_addf(out, "%s: %s (%s)",
		         json_is_true(json_object_get(lack, "certain"))
		                 ? "not now"
		                 : "perhaps not",
		         text_of(lack, "reason"), text_of(lack, "fix"));
	}
}

static struct client_reply
add_service(struct test_api *a, const char *body)
{
	return api_say(a, KEY_ADMIN, "POST", "/api/v1/services", body);
}

TEST(a_service_tells_which_types_its_worker_cannot_take)
{
	static const struct {
		enum check check;
		enum verdict verdict;
		const char *kind, *match, *url, *type, *lack;
	} rows[] = {
#define POOR "it was tried (" EVENTS_FIX ")"
		{CHECK_EVENTS, BROKEN, "auto", EXE, "", "cpu",
	         "not now: " POOR},
		{CHECK_EVENTS, BROKEN, "auto", EXE, "", "io", ""},
		{CHECK_EVENTS, FINE, "auto", EXE, "", "cpu", ""},
		{CHECK_WAITS, WARNING, "auto", EXE, "", "io", "not now: " POOR},
		{CHECK_WAITS, WARNING, "auto", EXE, "", "mutex",
	         "perhaps not: " POOR},
		{CHECK_WAITS, WARNING, "native", EXE, "", "mutex",
	         "not now: " POOR},
		{CHECK_WAITS, WARNING, "go", EXE, "", "mutex", ""},
		{CHECK_INUSE, WARNING, "native", EXE, "", "memory",
	         "perhaps not: " POOR},
		{CHECK_INUSE, WARNING, "native", EXE, "", "alloc", ""},
		{CHECK_MEMORY, BROKEN, "go", EXE, "", "memory",
	         "not now: " POOR},
		{CHECK_MEMORY, BROKEN, "go", "", "http://localhost:1/",
	         "memory", ""},
		{CHECK_MEMORY, FINE, "go", "", "http://localhost:1/", "io",
	         "not now: io profiles of the service need a match of its "
	         "processes ()"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf lack = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};

		beat(&a, TEST_HOST, rows[i].check, rows[i].verdict);
		buf_addf(&body,
		         "{\"name\":\"s%zu\",\"kind\":\"%s\",\"match\":{%s},"
		         "\"pprofUrl\":\"%s\"}",
		         i, rows[i].kind, rows[i].match, rows[i].url);
		r = add_service(&a, buf_str(&body));
		ck_assert_int_eq(r.status, 201);
		tell_lack(&r, rows[i].type, &lack);
		ck_assert_msg(!strcmp(buf_str(&lack), rows[i].lack),
		              "row %zu: %s", i, buf_str(&lack));
	}
}
END

TEST(a_worker_of_another_host_is_no_matter)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply here = {0}, there = {0};

	beat(&a, "host2", CHECK_EVENTS, BROKEN);
	beat(&a, TEST_HOST, CHECK_EVENTS, FINE);
	here = add_service(&a, "{\"name\":\"s\",\"host\":\"" TEST_HOST
	                       "\",\"match\":{" EXE "}}");
	ck_assert_uint_eq(length_of(&here, "unsupported"), 0);
	there = add_service(&a, "{\"name\":\"s2\",\"host\":\"host2\","
	                        "\"match\":{" EXE "}}");
	ck_assert_uint_gt(length_of(&there, "unsupported"), 0);
}
END

SUITE("checks");
