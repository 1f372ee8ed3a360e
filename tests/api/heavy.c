/* Limits of a single request, in a real pool. */
#include "base/file.h"
#include "endpoint/call/counters.h"
#include "lib/api.h"
#include "lib/test.h"
#include "lib/wide.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define NAMES 2000
#define DEPTH 16

struct large {
	char id[ID_MAX], graph[128];
};

/* Uploads a profile of tenant t's service that is expensive to read. */
static struct large
upload_large(struct test_api *a, unsigned seed)
{
	CLEANUP_PROFILE struct profile *p =
		wide_profile(seed, 60000, DEPTH, NAMES);
	struct large l;

	ck_assert_ptr_nonnull(p);
	test_upload(a, p, "cpu", l.id);
	snprintf(l.graph, sizeof(l.graph),
	         API_PROFILES "/%s/flamegraph?format=svg", l.id);
	return l;
}

static struct ask
graph_of(const struct large *l)
{
	return (struct ask){.key = KEY_VIEWER, .path = l->graph};
}

/* Pretends to be another process of the pool, which handles a request of a
 * tenant. */
static struct counters *
hold_place(struct test_api *a, const char *tenant)
{
	struct counters *c;
	uint32_t changes;

	ck_assert_int_eq(counters_open(a->store.dir, a->n, 2, &c), 0);
	ck_assert(counters_heavy_begin(c, tenant, &changes));
	return c;
}

/* Returns once a process of the pool has taken the only ticket for waiting. */
static void
await_ticket(struct counters *c)
{
	while (counters_wait_begin(c)) {
		counters_wait_end(c);
		usleep(1000);
	}
}

TEST(a_tenant_never_has_the_last_place)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, TEST_TENANT);
	CLEANUP_REPLY struct client_reply r = ask(&a, graph_of(&l));

	assert_error(&r, 429, "TooManyHeavyRequests");
	ck_assert_ptr_nonnull(client_header(&r, "Retry-After"));
	counters_close(held);
}
END

TEST(a_place_of_one_tenant_leaves_one_for_the_others)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, "other");
	CLEANUP_REPLY struct client_reply r = ask(&a, graph_of(&l));

	ck_assert_int_eq(r.status, 200);
	counters_close(held);
}
END

TEST(two_tenants_have_all_places)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct large l = upload_large(&a, 1);
	struct counters *held[] = {hold_place(&a, "other"),
	                           hold_place(&a, "third")};
	CLEANUP_REPLY struct client_reply r = ask(&a, graph_of(&l));

	assert_error(&r, 429, "TooManyHeavyRequests");
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		counters_close(held[i]);
}
END

static void
assert_small_is_answered(struct test_api *a)
{
	CLEANUP_REPLY struct client_reply r = {0}, healthy = {0};
	char id[ID_MAX], path[128];

	test_profile(a, id);
	snprintf(path, sizeof(path), API_PROFILES "/%s/flamegraph", id);
	r = ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_int_eq(r.status, 200);
	healthy = ask(a, (struct ask){.path = "/healthz"});
	ck_assert_int_eq(healthy.status, 200);
}

TEST(small_profiles_need_no_place)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	struct counters *held[] = {hold_place(&a, "other"),
	                           hold_place(&a, "third")};

	assert_small_is_answered(&a);
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		counters_close(held[i]);
}
END

/* The file is sent as it is stored, without being read. */
TEST(a_large_file_is_sent_without_a_place)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, TEST_TENANT);
	CLEANUP_REPLY struct client_reply r = {0};
	char path[128];

	snprintf(path, sizeof(path), API_PROFILES "/%s/flamegraph?format=pprof",
	         l.id);
	r = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_int_eq(r.status, 200);
	counters_close(held);
}
END

TEST(a_large_upload_needs_a_place_before_it_is_read)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	struct counters *held = hold_place(&a, TEST_TENANT);
	CLEANUP_FREE char *body = calloc(1, 512 << 10);
	CLEANUP_REPLY struct client_reply r = {0};

	r = ask(&a, (struct ask){.key = KEY_OPERATOR,
	                         .method = "POST",
	                         .path = "/api/v1/profiling/"
	                                 "sessions?service=" TEST_SERVICE
	                                 "&type=cpu",
	                         .type = "application/octet-stream",
	                         .body = body,
	                         .body_len = 512 << 10});
	assert_error(&r, 429, "TooManyHeavyRequests");
	counters_close(held);
}
END

TEST(a_place_that_becomes_free_is_taken)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, TEST_TENANT);
	CLEANUP_REPLY struct client_reply r = {0};
	int fd = ask_begin(&a, graph_of(&l));

	await_ticket(held);
	counters_heavy_end(held);
	r = ask_end(fd);
	ck_assert_int_eq(r.status, 200);
	counters_close(held);
}
END

/* A process that is killed wakes nobody. */
TEST(the_place_of_a_killed_process_is_taken)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, TEST_TENANT), *seen;
	CLEANUP_REPLY struct client_reply r = {0};
	int fd;

	ck_assert_int_eq(counters_open(a.store.dir, a.n, 2, &seen), 0);
	fd = ask_begin(&a, graph_of(&l));
	await_ticket(seen);
	counters_close(held);
	r = ask_end(fd);
	ck_assert_int_eq(r.status, 200);
	counters_close(seen);
}
END

/* Returns whether the log of the pool contains the text. */
static bool
logged(const struct test_api *a, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	char path[96];

	snprintf(path, sizeof(path), "%s/api.log", a->store.dir);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &b), 0);
	return strstr(buf_str(&b), text);
}

TEST(a_client_that_leaves_waits_for_no_place)
{
	CLEANUP_API struct test_api a = test_api(2, "request_time = 1h\n");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, TEST_TENANT);
	int fd = ask_begin(&a, graph_of(&l));

	await_ticket(held);
	close(fd);
	while (!logged(&a, "\"cause\":\"the client has gone\""))
		usleep(1000);
	ck_assert(counters_wait_begin(held));
	counters_close(held);
}
END

TEST(a_request_whose_client_has_left_is_not_begun)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const struct large l = upload_large(&a, 1);

	/* stopped, it accepts both requests only after the first client has
	 * left */
	kill(a.pids[0], SIGSTOP);
	close(ask_begin(&a, graph_of(&l)));
	kill(a.pids[0], SIGCONT);
	r = ask(&a, (struct ask){.path = "/healthz"});
	ck_assert_int_eq(r.status, 200);
	ck_assert(logged(&a, "\"cause\":\"the client has gone\""));
}
END

TEST(a_request_whose_time_is_over_is_told_so)
{
	CLEANUP_API struct test_api a = test_api(2, "request_time = 1s\n");
	const struct large l = upload_large(&a, 1);
	struct counters *held = hold_place(&a, TEST_TENANT);
	CLEANUP_REPLY struct client_reply r = ask(&a, graph_of(&l));

	assert_error(&r, 503, "RequestTooSlow");
	ck_assert_str_eq(reply_detail(&r, "maxSeconds"), "1");
	ck_assert_ptr_nonnull(client_header(&r, "Retry-After"));
	counters_close(held);
}
END

TEST(a_request_that_needs_too_much_memory_is_told_so)
{
	CLEANUP_API struct test_api a = test_api(1, "request_memory = 16M\n");
	const struct large l = upload_large(&a, 1);

	/* repeated, since nothing may be left behind */
	for (int i = 0; i < 3; i++) {
		CLEANUP_REPLY struct client_reply r = ask(&a, graph_of(&l));

		assert_error(&r, 422, "RequestTooExpensive");
		ck_assert_str_eq(reply_detail(&r, "maxBytes"), "16777216");
	}
	assert_small_is_answered(&a);
}
END

/* A diff creates nothing, so its key is ignored, and its reply may be large. */
TEST(a_diff_with_a_key_keeps_nobody_from_writing)
{
	CLEANUP_API struct test_api a = test_api(3, "");
	const struct large l = upload_large(&a, 1), m = upload_large(&a, 2);
	struct counters *held = hold_place(&a, TEST_TENANT);
	CLEANUP_REPLY struct client_reply made = {0}, r = {0}, again = {0};
	char body[256];
	struct ask q = {.key = KEY_VIEWER,
	                .method = "POST",
	                .path = "/api/v1/profiling/diff",
	                .body = body,
	                .idempotency = "one"};
	int fd;

	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\",\"type\":\"cpu\"}",
	         l.id, m.id);
	fd = ask_begin(&a, q);
	await_ticket(held);
	made = ask(&a, (struct ask){.key = KEY_ADMIN,
	                            .method = "POST",
	                            .path = "/api/v1/services",
	                            .body = "{\"name\":\"n\",\"match\":"
	                                    "{\"exe\":\"/bin/n\"}}"});
	ck_assert_int_eq(made.status, 201);
	counters_heavy_end(held);
	r = ask_end(fd);
	ck_assert_int_eq(r.status, 200);
	again = ask(&a, q);
	ck_assert_ptr_null(client_header(&again, "Idempotency-Replayed"));
	test_sql(&a.store, "SELECT COUNT(*) FROM idempotency", body,
	         sizeof(body));
	ck_assert_str_eq(body, "0");
	ck_assert_str_eq(buf_str(&again.body), buf_str(&r.body));
	counters_close(held);
}
END

SUITE("heavy", .seconds = 120);
