#include "base/json_out.h"
#include "base/json.h"
#include "lib/test.h"

#include <math.h>
#include <string.h>

TEST(commas_put_themselves)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	json_open(&b, NULL, '{');
	json_open(&b, "empty", '[');
	json_close(&b, ']');
	json_put_text(&b, "s", "a,\"[{:");
	json_open(&b, "l", '[');
	json_put_int(&b, NULL, -1);
	json_put_null(&b, NULL);
	json_open(&b, NULL, '{');
	json_close(&b, '}');
	json_put_bool(&b, NULL, true);
	json_close(&b, ']');
	json_put_raw(&b, "r", "", "{}");
	json_put_time(&b, "t", 0);
	json_close(&b, '}');
	ck_assert_str_eq(buf_str(&b),
	                 "{\"empty\":[],\"s\":\"a,\\\"[{:\",\"l\":[-1,null,{},"
	                 "true],\"r\":{},\"t\":\"1970-01-01T00:00:00.000Z\"}");
}
END

static const struct {
	double v;
	const char *text;
} reals[] = {
	{0, "0"},
	{-0.0, "0"},
	{1, "1"},
	{12.5, "12.5"},
	{-1.25, "-1.25"},
	{100, "100"},
	{1.0 / 3, "0.333333"},
	{1e-9, "0"},
	{-1e-9, "0"},
	{NAN, "0"},
	{INFINITY, "0"},
	{1e15, "1000000000000000"},
	{0x1p70, "1180591620717411303424.0"}, /* too large for 64 bits */
};

TEST(reals_are_short_and_finite)
{
	for (size_t i = 0; i < ARRAY_LEN(reals); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

		json_put_real(&b, NULL, reals[i].v);
		ck_assert_str_eq(buf_str(&b), reals[i].text);
	}
}
END

TEST(characters_that_drive_a_terminal_are_escaped_and_mean_the_same)
{
	static const char text[] = "\x7f\xc2\x9b"
				   "1\xd8\x9c\xe2\x80\xae\xe2\x81\xa6\xc3\xa9",
			  want[] = "\"\\u007f\\u009b1\\u061c\\u202e\\u2066"
				   "\xc3\xa9\"";
	CLEANUP_BUF struct buf ours = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf theirs = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;

	json_escape(&ours, text, strlen(text));
	ck_assert_str_eq(buf_str(&ours), want);
	j = json_loads(want, JSON_DECODE_ANY, NULL);
	ck_assert_str_eq(json_string_value(j), text);
	ck_assert_int_eq(json_write(j, &theirs), 0);
	ck_assert_str_eq(buf_str(&theirs), want);
}
END

SUITE("json_out");
