/* Profiles of other tools, in a real pool. */
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/gzip.h"
#include "profile/pprof.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS        "/api/v1/profiling/sessions"
#define UPLOAD_AS(type) SESSIONS "?service=" TEST_SERVICE "&type=" type
#define DATA            "tests/data/fuzz/import/"

static size_t
load(const char *name, char out[static 65536])
{
	char path[256];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), DATA "%s", name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	n = fread(out, 1, 65536, f);
	fclose(f);
	return n;
}

TEST(an_upload_is_a_completed_profile_at_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, graph = {0};
	char path[256];

	r = api_send(&a, UPLOAD_AS("cpu") "&sampleRate=100&durationSeconds=7",
	             "text/plain", "main;work 3\nmain 1\n", 19);
	ck_assert_msg(r.status == 201, "%s", buf_str(&r.body));
	ck_assert_str_eq(reply_text(&r, "status"), "completed");
	ck_assert_str_eq(reply_text(&r, "phase"), "done");
	ck_assert_str_eq(reply_text(&r, "sampleCount"), "4");
	ck_assert_str_eq(reply_text(&r, "durationSeconds"), "7");
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body),
	                             "{\"funcName\":\"work\",\"package\":\"\","
	                             "\"selfPct\":75,"));
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body),
	                             "\"quality\":{\"source\":\"upload\","
	                             "\"format\":\"folded\","));
	snprintf(path, sizeof(path), "%s/flamegraph?format=folded",
	         client_header(&r, "Location"));
	graph = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_str_eq(buf_str(&graph.body), "main 1\nmain;work 3\n");
}
END

TEST(every_input_format_is_taken)
{
	static const char *const files[] = {"folded", "folded.gz", "perf",
	                                    "speedscope.sampled", "foreign.pb"};
	CLEANUP_API struct test_api a = test_api(1, "");
	char body[65536];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		size_t n = load(files[i], body);
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, UPLOAD_AS("cpu"),
		                 "application/octet-stream", body, n);

		ck_assert_msg(r.status == 201, "%s: %s", files[i],
		              buf_str(&r.body));
	}
	ck_assert_uint_eq(sessions_stored(&a), ARRAY_LEN(files));
}
END

/* Uploads a pprof file of one sample with this value. */
static struct client_reply
upload_value(struct test_api *a, const char *query, const char *sample,
             const char *unit, int64_t value)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(profile_type(p, sample, unit), 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, &value), 0);
	p->duration_ns = INT64_C(1000000000);
	ck_assert_int_eq(pprof_encode(p, &file), 0);
	return api_send(a, query, "", file.p, file.len);
}

TEST(an_upload_without_a_type_is_of_the_type_of_the_file)
{
	static const struct {
		const char *sample, *unit, *type;
	} rows[] = {{"cpu", "nanoseconds", "cpu"},
	            {"wall", "microseconds", "wall"},
	            {"inuse_space", "bytes", "memory"},
	            {"delay", "nanoseconds", "block"}};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			upload_value(&a, SESSIONS "?service=" TEST_SERVICE,
		                     rows[i].sample, rows[i].unit, 5);

		ck_assert_msg(r.status == 201, "%s", buf_str(&r.body));
		ck_assert_str_eq(reply_text(&r, "profileType"), rows[i].type);
	}
}
END

TEST(a_type_that_the_file_contradicts_is_refused_with_its_types)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		upload_value(&a, UPLOAD_AS("cpu"), "delay", "nanoseconds", 5);

	assert_error(&r, 400, "InvalidProfile");
	ck_assert_str_eq(reply_detail(&r, "reason"),
	                 "it has no values of a cpu profile; its types are "
	                 "block, mutex, io");
	ck_assert_uint_eq(sessions_stored(&a), 0);
}
END

#define RANGE(type)                                                   \
	"/api/v1/observability/profiling/merge?service=" TEST_SERVICE \
	"&profileType=" type "&from=now-1h&to=now%2B1h"

TEST(a_range_of_wall_time_is_a_sum)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one = upload_value(&a,
	                                                     UPLOAD_AS("wall"),
	                                                     "wall", "ms", 2),
					  two = upload_value(&a,
	                                                     UPLOAD_AS("wall"),
	                                                     "time", "ns", 3);
	CLEANUP_REPLY struct client_reply r = api_get(&a, RANGE("wall"));

	ck_assert_int_eq(one.status, 201);
	ck_assert_int_eq(two.status, 201);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body), "\"total\":2000003,"));
	ck_assert_str_eq(reply_text(&r, "unit"), "nanoseconds");
}
END

TEST(a_range_leaves_out_and_names_an_upload_without_time)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply
		timed = upload_value(&a, UPLOAD_AS("cpu"), "cpu", "ms", 7),
		rated = api_send(&a,
	                         UPLOAD_AS("cpu") "&sampleRate=100"
	                                          "&durationSeconds=1",
	                         "", "a 3\n", 4),
		plain = api_send(&a, UPLOAD_AS("cpu") "&durationSeconds=1", "",
	                         "a 3\n", 4);
	CLEANUP_REPLY struct client_reply r = api_get(&a, RANGE("cpu"));
	char want[200];

	ck_assert_int_eq(timed.status, 201);
	ck_assert_ptr_null(strstr(buf_str(&rated.body), "warnings"));
	ck_assert_ptr_nonnull(strstr(buf_str(&plain.body),
	                             "the file has samples, but no "
	                             "cpu/nanoseconds values"));
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body), "\"total\":37000000,"));
	snprintf(want, sizeof(want),
	         "\"left out, since they cannot be added up: %s: no "
	         "cpu/nanoseconds values\"",
	         reply_text(&plain, "id"));
	ck_assert_msg(strstr(buf_str(&r.body), want), "%s", buf_str(&r.body));
}
END

TEST(the_times_of_an_upload_are_the_profiles)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = {0};
	const int64_t v[] = {1};

	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	p->time_ns = INT64_C(1768464000123456789);
	p->duration_ns = INT64_C(5000000000);
	ck_assert_int_eq(pprof_encode(p, &file), 0);
	r = api_send(&a, UPLOAD_AS("cpu"), "", file.p, file.len);
	ck_assert_str_eq(reply_text(&r, "startedAt"),
	                 "2026-01-15T08:00:00.123Z");
	ck_assert_str_eq(reply_text(&r, "completedAt"),
	                 "2026-01-15T08:00:05.123Z");
}
END

TEST(what_is_no_profile_is_refused_and_nothing_is_stored)
{
	static const struct {
		const char *file, *type;
		int status;
		const char *code;
	} rows[] = {
		{"folded.negative", "", 400, "InvalidProfile"},
		{"folded.huge", "", 400, "InvalidProfile"},
		{"perf.bad", "", 400, "InvalidProfile"},
		{"speedscope.dangling", "", 400, "InvalidProfile"},
		{"speedscope.nesting", "", 400, "InvalidProfile"},
		{"varint.pb", "", 400, "InvalidProfile"},
		{"bomb.gz", "", 413, "PayloadTooLarge"},
		{"folded", "image/png", 415, "UnsupportedMediaType"},
		{"folded", "application/json", 415, "UnsupportedMediaType"},
	};
	CLEANUP_API struct test_api a =
		test_api(1, "[upload]\nmax_raw_bytes = 1M\n");
	char body[65536];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = load(rows[i].file, body);
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, UPLOAD_AS("cpu"), rows[i].type, body, n);

		ck_assert_msg(r.status == rows[i].status, "%s: %s",
		              rows[i].file, buf_str(&r.body));
		assert_error(&r, rows[i].status, rows[i].code);
	}
	ck_assert_uint_eq(sessions_stored(&a), 0);
}
END

TEST(an_upload_may_name_its_format)
{
	static const char text[] = "goroutine profile: total 3\n";
	static const struct {
		const char *path;
		int status;
	} rows[] = {
		{UPLOAD_AS("cpu"), 400}, /* a page of Go without stacks */
		{UPLOAD_AS("cpu") "&format=folded", 201},
		{UPLOAD_AS("cpu") "&format=frob", 400},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, rows[i].path, "", text, strlen(text));

		ck_assert_msg(r.status == rows[i].status, "row %zu: %s", i,
		              buf_str(&r.body));
	}
	ck_assert_uint_eq(sessions_stored(&a), 1);
}
END

TEST(an_upload_past_max_bytes_is_413)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[upload]\nmax_bytes = 1024\n");
	char body[1026];

	memset(body, 'a', sizeof(body));
	memcpy(body + 1022, " 1\n", 3);
	for (int past = 0; past < 2; past++) {
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, UPLOAD_AS("cpu"), "", body + 1 - past,
		                 1024 + (size_t)past);

		if (past)
			ck_assert_msg(
				r.status == 413 &&
					strstr(buf_str(&r.body),
			                       "the request body has more than "
			                       "1024 bytes, max_bytes in "
			                       "[upload] of stoker.conf"),
				"%s", buf_str(&r.body));
		else
			ck_assert_int_eq(r.status, 201);
	}
}
END

TEST(an_upload_for_no_service_is_404)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = api_send(
		&a, SESSIONS "?service=nobody&type=cpu", "", "a 1\n", 4);

	assert_error(&r, 404, "UnknownService");
}
END

TEST(without_a_query_a_capture_is_started)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, bad = {0};

	r = api_send(&a, SESSIONS, "application/json",
	             "{\"service\":\"" TEST_SERVICE
	             "\",\"profileType\":\"cpu\"}",
	             strlen("{\"service\":\"" TEST_SERVICE
	                    "\",\"profileType\":\"cpu\"}"));
	ck_assert_int_eq(r.status, 202);
	bad = api_send(&a, SESSIONS "?type=cpu", "", "a 1\n", 4);
	assert_error(&bad, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&bad, "parameter"), "service");
}
END

TEST(an_upload_sent_twice_with_one_key_is_stored_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char first[ID_MAX] = "";

	for (int i = 0; i < 3; i++) {
		CLEANUP_REPLY struct client_reply r =
			ask(&a, (struct ask){
					.key = KEY_OPERATOR,
					.method = "POST",
					.path = UPLOAD_AS("cpu"),
					.body = i < 2 ? "a 1\n" : "a 2\n",
					.type = "text/plain",
					.idempotency = "one",
				});

		if (i == 2)
			assert_error(&r, 422, "IdempotencyKeyReused");
		else if (i == 1)
			ck_assert_str_eq(reply_text(&r, "id"), first);
		else
			snprintf(first, sizeof(first), "%s",
			         reply_text(&r, "id"));
	}
	ck_assert_uint_eq(sessions_stored(&a), 1);
}
END

/* Two processes handle them at once, with any database. */
TEST(uploads_with_one_key_that_come_together_are_stored_once)
{
	enum { ROUNDS = 8 };
	CLEANUP_API struct test_api a = test_api(2, "");

	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_REPLY struct client_reply one = {0}, two = {0};
		char key[16];
		struct ask q = {
			.key = KEY_OPERATOR,
			.method = "POST",
			.path = UPLOAD_AS("cpu"),
			.body = "a 1\n",
			.type = "text/plain",
			.idempotency = key,
		};
		int fds[2];

		snprintf(key, sizeof(key), "key%d", i);
		fds[0] = ask_begin(&a, q);
		fds[1] = ask_begin(&a, q);
		one = ask_end(fds[0]);
		two = ask_end(fds[1]);
		ck_assert_str_eq(reply_text(&one, "id"),
		                 reply_text(&two, "id"));
	}
	ck_assert_uint_eq(sessions_stored(&a), ROUNDS);
}
END

/* Another transaction holds the store's lock all the time. */
TEST(an_upload_with_a_key_is_read_before_the_store_is_locked)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, before = {0};

	/* uses the key now, since its use is recorded once a minute */
	before = ask(&a, (struct ask){.key = KEY_OPERATOR,
	                              .path = "/api/v1/services"});
	ck_assert_int_eq(before.status, 200);
	ck_assert_int_eq(store_begin(&a.store.s), 0);
	r = ask(&a, (struct ask){
			    .key = KEY_OPERATOR,
			    .method = "POST",
			    .path = UPLOAD_AS("cpu"),
			    .body = "a no-count\n",
			    .type = "text/plain",
			    .idempotency = "one",
		    });
	store_rollback(&a.store.s);
	assert_error(&r, 415, "UnsupportedMediaType");
}
END

/* Returns the most memory that a process has had, in KiB. */
static long
peak_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

/* Writes texts whose rows take much more memory than their bytes, and bombs. */
static void
put_hostile(int which, struct buf *out)
{
	for (unsigned i = 0; out->len < ((size_t)24 << 20); i++) {
		switch (which) {
		case 0: /* different strings */
			buf_addf(out, "%x 1\n", i);
			break;
		case 1: /* different stacks */
			for (unsigned v = i | 1u << 24; v; v >>= 4)
				buf_addf(out, "%c;", 'a' + (int)(v & 15));
			buf_puts(out, "z 1\n");
			break;
		case 2: /* empty rows of a pprof file */
			buf_add(out, "\x12\0", 2);
			break;
		default: /* nested lists */
			buf_puts(out, "{\"shared\":{\"frames\":[[],[],[],");
		}
	}
}

TEST(hostile_uploads_take_bounded_memory)
{
	CLEANUP_API struct test_api a = test_api(
		1, "[upload]\nmax_memory = 64M\nmax_raw_bytes = 32M\n");
	long before = peak_kib(a.pids[0]);

	for (int which = 0; which < 4; which++) {
		CLEANUP_BUF struct buf text = BUF_INIT((size_t)32 << 20);
		CLEANUP_BUF struct buf file = BUF_INIT((size_t)32 << 20);
		CLEANUP_REPLY struct client_reply r = {0};

		put_hostile(which, &text);
		ck_assert_int_eq(gzip_deflate(text.p, text.len, &file), 0);
		r = api_send(&a, UPLOAD_AS("cpu"), "", file.p, file.len);
		ck_assert_msg(r.status == 413 || r.status == 400, "%d: %d",
		              which, r.status);
	}
	ck_assert_uint_eq(sessions_stored(&a), 0);
	/* the body, its inflated form, the rows, and twice as much for
	 * growth */
	ck_assert_int_lt(peak_kib(a.pids[0]) - before, (8 + 2 * 32 + 2 * 64)
	                                                       << 10);
}
END

SUITE("uploads", .seconds = 60);
