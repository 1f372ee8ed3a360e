#include "base/buf.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

TEST(writes_append_and_stay_terminated)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&b, "a");
	buf_addf(&b, "%d", 12);
	buf_putc(&b, 'z');
	buf_int(&b, INT64_MIN);
	ck_assert_int_eq(buf_err(&b), 0);
	ck_assert_str_eq(buf_str(&b), "a12z-9223372036854775808");
}
END

TEST(numbers_have_their_digits)
{
	static const struct {
		int64_t v;
		const char *text;
	} rows[] = {
		{0, "0"},
		{9, "9"},
		{10, "10"},
		{99, "99"},
		{100, "100"},
		{1005, "1005"},
		{-1, "-1"},
		{-10, "-10"},
		{INT64_MAX, "9223372036854775807"},
		{INT64_MIN, "-9223372036854775808"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char to[BUF_DIGITS + 1] = "";

		*buf_digits(to, rows[i].v) = '\0';
		ck_assert_str_eq(to, rows[i].text);
	}
}
END

TEST(a_buffer_holds_exactly_its_ceiling)
{
	CLEANUP_BUF struct buf b = BUF_INIT(4);

	buf_puts(&b, "1234");
	ck_assert_int_eq(buf_err(&b), 0);
	ck_assert_str_eq(buf_str(&b), "1234");
}
END

TEST(a_buffer_past_its_ceiling_is_poisoned)
{
	CLEANUP_BUF struct buf b = BUF_INIT(4);
	char *out = NULL;

	buf_puts(&b, "12345");
	buf_puts(&b, "1");
	ck_assert_int_eq(buf_err(&b), -E2BIG);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_int_eq(buf_take(&b, &out, NULL), -E2BIG);
	ck_assert_ptr_null(out);
}
END

TEST(long_formats_are_not_cut)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&b, "%01000d", 7);
	ck_assert_uint_eq(b.len, 1000);
	ck_assert_int_eq(b.p[999], '7');
}
END

TEST(take_of_an_empty_buffer_is_an_empty_text)
{
	CLEANUP_BUF struct buf b = BUF_INIT(16);
	CLEANUP_FREE char *text = NULL;

	ck_assert_int_eq(buf_take(&b, &text, NULL), 0);
	ck_assert_str_eq(text, "");
}
END

TEST(bytes_are_two_digits_each)
{
	static const uint8_t bytes[] = {0x00, 0x0f, 0xa0, 0xff};
	CLEANUP_BUF struct buf b = BUF_INIT(16);

	buf_hex(&b, bytes, sizeof(bytes));
	ck_assert_str_eq(buf_str(&b), "000fa0ff");
}
END

SUITE("buf");
