/* Pushes of OpenTelemetry's exporters, through a real pool. */
#include "base/file.h"
#include "endpoint/call/pushes.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/test.h"
#include "profile/gzip.h"
#include "profile/stored/wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PATH  "/v1development/profiles"
#define PROTO "application/x-protobuf"
#define JSON  "application/json"
#define DATA  "tests/data/fuzz/import/otlp.1.11"

/* Describes what a service has stored: "type labels start+length samples
 * value", a line for each series. */
static void
stored(struct test_api *a, const char *service, struct buf *out)
{
	const struct series_filter f = {TEST_TENANT, service, "",
	                                WINDOW_PUSHED};
	CLEANUP_SERIES_LIST struct series_list l = {0};

	buf_clear(out);
	ck_assert_int_eq(series_list(&a->store.s, &f, &l), 0);
	for (size_t i = 0; i < l.n; i++) {
		CLEANUP_WINDOWS struct window_list w = {0};

		buf_addf(out, "%s %s", l.items[i].type, l.items[i].labels);
		ck_assert_int_eq(window_between(&a->store.s, l.items[i].id,
		                                WINDOW_CAPTURED, 0, INT64_MAX,
		                                &w),
		                 0);
		for (size_t k = 0; k < w.n; k++)
			buf_addf(out, " %lld+%lld:%lld/%lld",
			         (long long)w.items[k].start_ms,
			         (long long)w.items[k].duration_ms,
			         (long long)w.items[k].sample_count,
			         (long long)w.items[k].value);
		buf_putc(out, '\n');
	}
}

#define WAITED                                                             \
	"block {\"__values__\":\"events/nanoseconds\",\"pod\":\"shop-0\"," \
	"\"version\":\"1.4\"} 1768464000000+10000:0/3000\n"
#define RAN                                                              \
	"cpu {\"__values__\":\"samples/count,cpu/nanoseconds\",\"pod\":" \
	"\"shop-0\",\"version\":\"1.4\"} 1768464000000+10000:4/200000000"

/* Fails unless the service has the two windows of the file. */
static void
assert_windows(struct test_api *a)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	stored(a, "shop", &got);
	ck_assert_msg(strstr(buf_str(&got), WAITED) &&
	                      strstr(buf_str(&got), RAN "\n") &&
	                      got.len == strlen(WAITED RAN) + 1,
	              "%s", buf_str(&got));
}

TEST(profiles_of_a_resource_are_windows_of_its_service)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(file_read(AT_FDCWD, DATA, &file), 0);
	r = api_send(&a, PATH, PROTO, file.p, file.len);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_uint_eq(r.body.len, 0); /* an empty message */
	assert_windows(&a);
}
END

TEST(json_and_compressed_protobuf_are_the_same_profiles)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf json = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf gz = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = {0}, again = {0};

	ck_assert_int_eq(file_read(AT_FDCWD, DATA ".json", &json), 0);
	r = api_send(&a, PATH, JSON, json.p, json.len);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_str_eq(buf_str(&r.body), "{}\n");
	assert_windows(&a);

	ck_assert_int_eq(file_read(AT_FDCWD, DATA, &file), 0);
	ck_assert_int_eq(gzip_deflate(file.p, file.len, &gz), 0);
	again = api_send(&a, PATH, PROTO, gz.p, gz.len);
	ck_assert_int_eq(again.status, 200);
	stored(&a, "shop", &got);
	ck_assert_msg(strstr(buf_str(&got),
	                     RAN " 1768464000000+10000:4/200000000\n") != NULL,
	              "%s", buf_str(&got));
}
END

#define NAME(name)                                \
	"\"resource\":{\"attributes\":[{\"key\":" \
	"\"service.name\",\"value\":{\"stringValue\":\"" name "\"}}]},"
#define RESOURCE(name, type)                                                 \
	"{" NAME(name) "\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{" \
		       "\"typeStrindex\":" type                              \
		       ",\"unitStrindex\":2},\"samples\":[{"                 \
		       "\"stackIndex\":1,\"values\":[5]}]}]}]}"
#define EXPORT(resources)                                                     \
	"{\"resourceProfiles\":[" resources "],\"dictionary\":{"              \
	"\"stringTable\":[\"\",\"cpu\",\"nanoseconds\",\"weather\",\"f\"],"   \
	"\"functionTable\":[{},{\"nameStrindex\":4}],\"locationTable\":[{},{" \
	"\"lines\":[{\"functionIndex\":1}]}],\"stackTable\":[{},{"            \
	"\"locationIndices\":[1]}]}}"

static struct client_reply
send_json(struct test_api *a, const char *text)
{
	return api_send(a, PATH, JSON, text, strlen(text));
}

TEST(profiles_that_cannot_be_stored_are_counted_and_others_are_stored)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = send_json(
		&a, EXPORT(RESOURCE("a", "1") "," RESOURCE("b", "3")));

	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_str_eq(buf_str(&r.body),
	                 "{\"partialSuccess\":{\"rejectedProfiles\":\"1\","
	                 "\"errorMessage\":\"b: none of its values is of a "
	                 "known type\"}}\n");
	stored(&a, "a", &got);
	ck_assert_ptr_nonnull(strstr(buf_str(&got), ":0/5\n"));
}
END

TEST(the_number_of_rejected_profiles_is_told_in_protobuf_too)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const char *text = EXPORT(RESOURCE("a", "1") "," RESOURCE("b", "3"));
	CLEANUP_REPLY struct client_reply r =
		api_send(&a, PATH, PROTO, text, strlen(text));
	struct wire w = {(uint8_t *)r.body.p, (uint8_t *)r.body.p + r.body.len};
	struct wire_field f = {0};

	ck_assert_int_eq(r.status, 200);
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert_uint_eq(f.key, WIRE_KEY(1, WIRE_BYTES));
	w = f.bytes;
	ck_assert_int_eq(wire_next(&w, &f), 1);
	ck_assert_uint_eq(f.key, WIRE_KEY(1, WIRE_VARINT));
	ck_assert_uint_eq(f.value, 1);
}
END

TEST(a_request_of_which_nothing_is_stored_fails)
{
	static const struct {
		const char *text;
		int status;
		const char *code;
	} rows[] = {
		{EXPORT(RESOURCE("b", "3")), 422, "IngestFailed"},
		{EXPORT(RESOURCE("/", "1")), 422, "IngestFailed"},
		{"{\"resourceProfiles\":3}", 400, "InvalidProfile"},
		{"main;f 3\n", 400, "InvalidProfile"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			send_json(&a, rows[i].text);

		assert_error(&r, rows[i].status, rows[i].code);
	}
}
END

TEST(a_request_without_samples_is_a_success)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		send_json(&a, "{\"resourceProfiles\":[]}");

	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(buf_str(&r.body), "{}\n");
}
END

TEST(exports_create_services_only_where_configured)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[upload]\ncreate_services = 0\n");
	CLEANUP_REPLY struct client_reply r =
		send_json(&a, EXPORT(RESOURCE("nobody", "1")));

	assert_error(&r, 422, "IngestFailed");
	ck_assert_ptr_nonnull(
		strstr(reply_detail(&r, "reason"), "create_services"));
}
END

TEST(the_sets_of_labels_of_exports_are_bounded)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[upload]\nmax_series = 1\n");
	CLEANUP_REPLY struct client_reply r = {0}, no = {0};
	const char *text =
		EXPORT("{\"resource\":{\"attributes\":[{\"key\":"
	               "\"service.name\",\"value\":{\"stringValue\":\"a\"}},{"
	               "\"key\":\"service.version\",\"value\":{"
	               "\"stringValue\":\"2\"}}]},\"scopeProfiles\":[{"
	               "\"profiles\":[{\"sampleType\":{\"typeStrindex\":1,"
	               "\"unitStrindex\":2},\"samples\":[{\"values\":[1]}]}]}"
	               "]}");

	r = send_json(&a, EXPORT(RESOURCE("a", "1")));
	ck_assert_int_eq(r.status, 200);
	no = send_json(&a, text);
	assert_error(&no, 422, "IngestFailed");
	ck_assert_ptr_nonnull(
		strstr(reply_detail(&no, "reason"), "max_series"));
}
END

SUITE("otlp", .seconds = 60);
