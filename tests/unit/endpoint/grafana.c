/* Selectors of PromQL, and messages in protobuf and JSON. */
#include "endpoint/grafana/messages.h"
#include "endpoint/grafana/selector.h"
#include "lib/test.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <string.h>

/* --- selectors ------------------------------------------------------------ */

static const struct {
	const char *selector, *value;
	bool passes;
} matches[] = {
	{"", "x", true},
	{"{}", "x", true},
	{" { } ", "x", true},
	{"{a=\"x\"}", "x", true},
	{"{a=\"x\",}", "x", true},
	{"{a = \"x\" , a!=\"y\"}", "x", true},
	{"{a=\"x\"}", "xy", false},
	{"{a!=\"x\"}", "x", false},
	{"{a!=\"x\"}", "", true},
	{"{a=\"\"}", "", true},
	{"{'a'='x'}", "x", true},
	{"{\"a\"=`x`}", "x", true},
	{"{a=`\\d`}", "\\d", true},
	{"{a=\"\\\"\\\\\\n\\x41\\101\\u00e9\\U0001F600\"}",
         "\"\\\nAA\xC3\xA9\xF0\x9F\x98\x80", true},
	{"{a=\"x}\"}", "x}", true},
	{"{a=\"x,b\"}", "x,b", true},
	/* patterns match whole values */
	{"{a=~\"x\"}", "x", true},
	{"{a=~\"x\"}", "xx", false},
	{"{a=~\"x|yy\"}", "yy", true},
	{"{a=~\"x|yy\"}", "xyy", false},
	{"{a!~\"x|yy\"}", "yy", false},
	{"{a=~\".*\"}", "", true},
	{"{a=~\".+\"}", "", false},
	{"{a=~\".+?\"}", "", false},
	{"{a=~\"a.*?b\"}", "axxb", true},
	{"{a=~\"\"}", "", true},
	{"{a=~\"(?:a|b)c\"}", "bc", true},
	{"{a=~\"(?i)web\"}", "WEB", true},
	{"{a=~\"(?is)w.b\"}", "W\nb", true},
	{"{a=~\"(?s)web\"}", "WEB", false},
	{"{a!~\"(?i)web\"}", "Web", false},
	{"{a=~\"web-\\\\d+\"}", "web-12", true},
	{"{a=~\"web-\\\\d+\"}", "web-x", false},
	{"{a=~\"\\\\w\\\\W\\\\D\\\\s\\\\S\"}", "a-b c", true},
	{"{a=~\"a\\\\.b\"}", "a.b", true},
	{"{a=~\"a\\\\.b\"}", "axb", false},
	{"{a=~\"[\\\\w.-]+\"}", "a.b-c_1", true},
	{"{a=~\"[\\\\]\\\\-\\\\^]+\"}", "]-^", true},
	{"{a=~\"[\\\\^]\"}", "^", true},
	{"{a=~\"[^\\\\d]\"}", "1", false},
	{"{a=~\"[]]\"}", "]", true},
	{"{a=~\"[[:alpha:]]\"}", "q", true},
	{"{a=~\"x{2}\"}", "xx", true},
	{"{a=~\"a\\\\tb\"}", "a\tb", true},
};

TEST(a_selector_lets_values_pass_as_prometheus_does)
{
	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_SELECTOR struct selector s = {0};
		bool passes = true;

		ck_assert_msg(!selector_read(matches[i].selector, &s, &why),
		              "%s: %s", matches[i].selector, buf_str(&why));
		for (size_t k = 0; k < s.n; k++) {
			ck_assert_str_eq(s.items[k].name, "a");
			passes &= matcher_passes(&s.items[k], matches[i].value);
		}
		ck_assert_msg(passes == matches[i].passes, "%s",
		              matches[i].selector);
	}
}
END

static const struct {
	const char *selector, *says;
} refused[] = {
	{"a=\"x\"", "a selector is"},
	{"{a=\"x\"", "a selector is"},
	{"{a=\"x\"} x", "a selector is"},
	{"{a=\"x\" b=\"y\"}", "a selector is"},
	{"{=\"x\"}", "a matcher is"},
	{"{a}", "a matcher is"},
	{"{a==\"x\"}", "the value of a must"},
	{"{a=x}", "the value of a must"},
	{"{a=\"x}", "the value of a must"},
	{"{a=\"\\q\"}", "the value of a must"},
	{"{a=\"\\x00\"}", "the value of a must"},
	{"{a=\"\\xff\"}", "the value of a must"},
	{"{a=\"\\ud800\"}", "the value of a must"},
	{"{\"a\"}", "a matcher is"},
	{"{a=~\"(\"}", "the pattern of a is not supported"},
	{"{a=~\"[a\"}", "the pattern of a is not supported"},
	{"{a=~\"a(?i)x\"}", "the pattern of a is not supported"},
	{"{a=~\"(?U)x\"}", "the pattern of a is not supported"},
	{"{a=~\"(?i\"}", "the pattern of a is not supported"},
	{"{a=~\"\\\\pL\"}", "the pattern of a is not supported"},
	{"{a=~\"(x)\\\\1\"}", "the pattern of a is not supported"},
	{"{a=~\"(x{9}){9}\"}", "the pattern of a is not supported"},
	{"{a=~\"x{101}\"}", "the pattern of a is not supported"},
};

TEST(a_selector_that_is_not_understood_says_why)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_SELECTOR struct selector s = {0};

		ck_assert_int_eq(selector_read(refused[i].selector, &s, &why),
		                 -EINVAL);
		ck_assert_msg(strstr(buf_str(&why), refused[i].says) != NULL,
		              "%s: %s", refused[i].selector, buf_str(&why));
	}
}
END

TEST(a_selector_is_bounded)
{
	CLEANUP_BUF struct buf text = BUF_INIT(2 * SELECTOR_MAX);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_SELECTOR struct selector most = {0}, more = {0}, longer = {0};

	buf_putc(&text, '{');
	for (int i = 0; i < SELECTOR_MAX_MATCHERS; i++)
		buf_puts(&text, "a=\"x\",");
	buf_puts(&text, "}");
	ck_assert_int_eq(selector_read(buf_str(&text), &most, &why), 0);
	text.len--;
	buf_puts(&text, "a=\"x\"}");
	ck_assert_int_eq(selector_read(buf_str(&text), &more, &why), -E2BIG);
	while (text.len <= SELECTOR_MAX)
		buf_putc(&text, ' ');
	ck_assert_int_eq(selector_read(buf_str(&text), &longer, &why), -E2BIG);
}
END

/* --- messages ------------------------------------------------------------- */

static const struct {
	const char *json, *read; /* read: members in order; NULL: refused */
} requests[] = {
	{"{}", "{}"},
	{"{\"start\":1,\"end\":\"2\"}", "{\"end\":2,\"start\":1}"},
	{"{\"start\":1e3}", "{\"start\":1000}"},
	{"{\"start\":-9223372036854775808}",
         "{\"start\":-9223372036854775808}"},
	{"{\"start\":null,\"unknown\":{\"a\":[1]}}", "{}"},
	{"{\"profile_typeID\":\"a\",\"profileTypeID\":\"b\"}",
         "{\"profile_typeID\":\"b\"}"},
	{"{\"groupBy\":[\"a\",\"b\"]}", "{\"group_by\":[\"a\",\"b\"]}"},
	{"{\"group_by\":[]}", "{\"group_by\":[]}"},
	{"{\"step\":\"1.5\"}", "{\"step\":1.5}"},
	{"{\"step\":15}", "{\"step\":15.0}"},
	{"{\"aggregation\":\"TIME_SERIES_AGGREGATION_TYPE_AVERAGE\"}",
         "{\"aggregation\":1}"},
	{"{\"aggregation\":7}", "{\"aggregation\":7}"},
	{"{\"stackTraceSelector\":{\"call_site\":[{\"name\":\"a;b\"},{}]}}",
         "{\"stack_trace_selector\":{\"call_site\":[{\"name\":\"a;b\"},{}]}}"},
	{"{\"start\":1.5}", NULL},
	{"{\"start\":1e19}", NULL},
	{"{\"start\":\"\"}", NULL},
	{"{\"start\":\" 1\"}", NULL},
	{"{\"start\":\"9223372036854775808\"}", NULL},
	{"{\"start\":true}", NULL},
	{"{\"step\":\"NaN\"}", NULL},
	{"{\"step\":\"Infinity\"}", NULL},
	{"{\"groupBy\":\"a\"}", NULL},
	{"{\"groupBy\":[1]}", NULL},
	{"{\"groupBy\":[null]}", NULL},
	{"{\"labelSelector\":1}", NULL},
	{"{\"aggregation\":\"SUM\"}", NULL},
	{"{\"stackTraceSelector\":[]}", NULL},
	{"{\"stackTraceSelector\":{\"call_site\":[\"a\"]}}", NULL},
	{"[]", NULL},
	{"\"a\"", NULL},
	{"{", NULL},
	{"{\"label_selector\":\"\\u0000\"}", NULL},
	{"", NULL},
};

static void
assert_read(bool json, const void *p, size_t n, const char *want)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *read = NULL;
	char *text;
	int rc = message_read(M_SelectSeriesRequest, json, p, n, &read, &why);

	if (!want) {
		ck_assert_int_eq(rc, -EBADMSG);
		ck_assert_uint_gt(why.len, 0);
		return;
	}
	ck_assert_msg(!rc, "%s", buf_str(&why));
	text = json_dumps(read, JSON_SORT_KEYS | JSON_COMPACT);
	ck_assert_str_eq(text, want);
	free(text);
}

TEST(a_request_in_json_is_read_in_both_spellings)
{
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		assert_read(true, requests[i].json, strlen(requests[i].json),
		            requests[i].read);
}
END

TEST(a_request_in_protobuf_is_read_as_one_in_json)
{
	/* type, selector, start, two groups, step 15, average, a call site, an
	 * unknown field, start again */
	static const char wire[] = "\x0A\x01t\x12\x02{}\x18\x05\x2A\x01"
				   "a\x2A\x01"
				   "b\x31\0\0\0\0\0\0\x2E\x40\x38\x01"
				   "\x42\x05\x0A\x03\x0A\x01x\xA2\x06\x01?"
				   "\x18\xE8\x07";

	assert_read(
		false, wire, sizeof(wire) - 1,
		"{\"aggregation\":1,\"group_by\":[\"a\",\"b\"],"
		"\"label_selector\":\"{}\",\"profile_typeID\":\"t\","
		"\"stack_trace_selector\":{\"call_site\":[{\"name\":\"x\"}]}"
		",\"start\":1000,\"step\":15.0}");
	for (size_t n = 1; n < sizeof(wire) - 1; n++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_JSON json_t *read = NULL;

		/* cut anywhere: read, or refused */
		(void)!message_read(M_SelectSeriesRequest, false, wire, n,
		                    &read, &why);
	}
	assert_read(false, "\xFF", 1, NULL);
	assert_read(false, "\x0A\x7F", 2, NULL);
	assert_read(false, "\x42\x02\x0A\x7F", 4, NULL);
}
END

TEST(numbers_are_read_packed_or_not)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(message_json(M_Level,
	                              "\x0A\x02\x01\x02\x08\x03\x0A\x00", 8,
	                              &out),
	                 0);
	ck_assert_str_eq(buf_str(&out), "{\"values\":[\"1\",\"2\",\"3\"]}");
	buf_clear(&out);
	ck_assert_int_eq(message_json(M_Level, "\x0A\x01\xFF", 3, &out),
	                 -EBADMSG);
}
END

SUITE("grafana");
