#include "base/json_scan.h"

#include "lib/test.h"

#include <string.h>

/* Writes each token as in JSON, names with a colon; "!" for an invalid
 * token. */
static void
tokens(const char *text, size_t n, struct buf *out)
{
	CLEANUP_BUF struct buf word = BUF_INIT(JSON_SCAN_TEXT);
	struct json_scan s;
	enum json_token t;

	json_scan_init(&s, text, n, &word);
	do {
		t = json_scan_next(&s);
		if (t == JSON_NAME || t == JSON_STRING)
			buf_addf(out, "'%s'%s ", buf_str(&word),
			         t == JSON_NAME ? ":" : "");
		else if (t == JSON_NUMBER)
			buf_addf(out, "%g ", s.number);
		else
			buf_addf(out, "%s ",
			         t == JSON_BAD          ? "!"
			         : t == JSON_END        ? "."
			         : t == JSON_OBJECT     ? "{"
			         : t == JSON_OBJECT_END ? "}"
			         : t == JSON_ARRAY      ? "["
			         : t == JSON_ARRAY_END  ? "]"
			                                : "word");
	} while (t != JSON_BAD && t != JSON_END);
}

static void
assert_tokens(const char *text, const char *expected)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	tokens(text, strlen(text), &got);
	ck_assert_msg(!strcmp(buf_str(&got), expected), "%s: %s, not %s", text,
	              buf_str(&got), expected);
}

TEST(each_token_comes_once_and_in_order)
{
	static const char *const rows[][2] = {
		{"{}", "{ } . "},
		{" [ ] ", "[ ] . "},
		{"[1,-2.5,1e3,0.5E-1,2e+2]", "[ 1 -2.5 1000 0.05 200 ] . "},
		{"[true,false,null]", "[ word word word ] . "},
		{"\"a\"", "'a' . "},
		{"{\"a\":{\"b\":[1,{}]},\n\"c\":\t\"d\"\r}",
	         "{ 'a': { 'b': [ 1 { } ] } 'c': 'd' } . "},
		{"[[],[[]]]", "[ [ ] [ [ ] ] ] . "},
		{"[{\"a\":1},{\"b\":2}]", "[ { 'a': 1 } { 'b': 2 } ] . "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_tokens(rows[i][0], rows[i][1]);
}
END

TEST(escapes_are_decoded)
{
	static const char *const rows[][2] = {
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t' . "},
		{"\"\\u0041\\u00e4\\u20AC\"", "'A\xC3\xA4\xE2\x82\xAC' . "},
		{"\"\\u007f\\u0080\\u07ff\\u0800\"",
	         "'\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80' . "},
		{"\"\\ud83d\\ude00\"", "'\xF0\x9F\x98\x80' . "},
		{"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"",
	         "'\xF0\x90\x80\x80\xF4\x8F\xBF\xBF' . "},
		/* one half of a surrogate pair */
		{"\"\\ud83d\"", "'\xEF\xBF\xBD' . "},
		{"\"\\ude00x\"", "'\xEF\xBF\xBDx' . "},
		{"\"\\ud83d\\u0041\"", "'\xEF\xBF\xBD' . "},
		{"\"\\ud83d\\n\"", "'\xEF\xBF\xBD\n' . "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_tokens(rows[i][0], rows[i][1]);
}
END

TEST(what_is_no_json_is_bad_from_there_on)
{
	static const char *const rows[][2] = {
		{"", "! "},
		{"[", "[ ! "},
		{"{\"a\"", "{ ! "},
		{"{\"a\":", "{ 'a': ! "},
		{"{\"a\":1", "{ 'a': 1 ! "},
		{"{\"a\":1,", "{ 'a': 1 ! "},
		{"{\"a\":1,}", "{ 'a': 1 ! "},
		{"{1:2}", "{ ! "},
		{"{a:2}", "{ ! "},
		{"[1,]", "[ 1 ! "},
		{"[1 2]", "[ 1 ! "},
		{"[1}", "[ 1 ! "},
		{"{]", "{ ! "},
		{"1 2", "1 ! "},
		{"[tru]", "[ ! "},
		{"[nul", "[ ! "},
		{"-", "! "},
		{"1.", "! "},
		{"1e", "! "},
		{"1e+", "! "},
		{"\"a", "! "},
		{"\"a\nb\"", "! "},
		{"\"\\x\"", "! "},
		{"\"\\", "! "},
		{"\"\\u12\"", "! "},
		{"\"\\u12g4\"", "! "},
		{"\"\\ud83d\\u12g4\"", "! "},
		{"\"\\ud83d\\ude0", "! "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_tokens(rows[i][0], rows[i][1]);
}
END

TEST(no_byte_past_the_end_is_read)
{
	static const char text[] = "{\"a\":[1,true,\"\\ud83d\\ude00\"]}";

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_FREE char *copy = malloc(n + 1);

		memcpy(copy, text, n);
		copy[n] = '7';
		tokens(copy, n, &got);
		ck_assert_msg(strchr(buf_str(&got), '!') != NULL, "%zu: %s", n,
		              buf_str(&got));
	}
}
END

TEST(depth_and_numbers_have_limits)
{
	char deep[JSON_SCAN_DEPTH + 3], number[70];
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	memset(deep, '[', sizeof(deep));
	tokens(deep, JSON_SCAN_DEPTH, &got);
	ck_assert_uint_eq(strcspn(buf_str(&got), "!"), 2 * JSON_SCAN_DEPTH);
	buf_clear(&got);
	tokens(deep, JSON_SCAN_DEPTH + 1, &got);
	ck_assert_uint_eq(strcspn(buf_str(&got), "!"), 2 * JSON_SCAN_DEPTH);
	memset(number, '0', sizeof(number));
	buf_clear(&got);
	tokens(number, 64, &got);
	ck_assert_str_eq(buf_str(&got), "0 . ");
	buf_clear(&got);
	tokens(number, 65, &got);
	ck_assert_str_eq(buf_str(&got), "! ");
}
END

TEST(a_value_is_skipped_whole)
{
	static const char text[] = "[{\"a\":[1,{\"b\":2}]},\"x\",7]";
	CLEANUP_BUF struct buf word = BUF_INIT(JSON_SCAN_TEXT);
	struct json_scan s;

	json_scan_init(&s, text, strlen(text), &word);
	ck_assert_int_eq(json_scan_next(&s), JSON_ARRAY);
	ck_assert(json_scan_skip(&s, json_scan_next(&s)));
	ck_assert(json_scan_skip(&s, json_scan_next(&s)));
	ck_assert_int_eq(json_scan_next(&s), JSON_NUMBER);
	ck_assert_double_eq(s.number, 7);
	ck_assert_int_eq(json_scan_next(&s), JSON_ARRAY_END);
	ck_assert_int_eq(json_scan_next(&s), JSON_END);
	json_scan_init(&s, text, strlen(text) - 3, &word);
	ck_assert(!json_scan_skip(&s, json_scan_next(&s)));
}
END

SUITE("json_scan");
