#include "base/clock.h"
#include "lib/test.h"

#include <errno.h>

static const struct {
	const char *text;
	int64_t ms;
	int err;
} times[] = {
	{"1970-01-01T00:00:00Z", 0, 0},
	{"2026-01-15T08:00:00.123Z", INT64_C(1768464000123), 0},
	{"2026-01-15T09:00:00.123456+01:00", INT64_C(1768464000123), 0},
	{"2026-01-15t07:30:00.1-00:30", INT64_C(1768464000100), 0},
	{"2024-02-29T00:00:00Z", INT64_C(1709164800000), 0},
	{"1969-12-31T23:59:59.999Z", -1, 0},
	{"2023-02-29T00:00:00Z", 0, -EINVAL},
	{"2026-01-15T24:00:00Z", 0, -EINVAL},
	{"2026-01-15T08:00:00", 0, -EINVAL},
	{"2026-01-15T08:00:00.Z", 0, -EINVAL},
	{"2026-01-15T08:00:00+1:00", 0, -EINVAL},
	{"2026-01-15T08:00:00+01:60", 0, -EINVAL},
	{"2026-01-15T08:00:00Zjunk", 0, -EINVAL},
	{"2026-01-15", 0, -EINVAL},
	{"", 0, -EINVAL},
};

TEST(times_are_read_as_rfc_3339_says)
{
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		int64_t ms = 42;

		ck_assert_msg(clock_parse(times[i].text, &ms) == times[i].err,
		              "%s", times[i].text);
		ck_assert_msg(ms == (times[i].err ? 42 : times[i].ms),
		              "%s: %ld", times[i].text, (long)ms);
	}
}
END

#define NOW INT64_C(1768464000123)
#define H   INT64_C(3600000)

static const struct {
	const char *text;
	int64_t ms;
	int err;
} readings[] = {
	{"2026-01-15T08:00:00.123Z", NOW, 0},
	{"2026-01-15", 0, -EINVAL},
	{"now", NOW, 0},
	{"now-90s", NOW - 90000, 0},
	{"now-90", NOW - 90000, 0},
	{"now-5m", NOW - 300000, 0},
	{"now-1h", NOW - H, 0},
	{"now-7d", NOW - 168 * H, 0},
	{"now-2w", NOW - 336 * H, 0},
	{"now+30d", NOW + 720 * H, 0},
	{"now-", 0, -EINVAL},
	{"now1h", 0, -EINVAL},
	{"now-h", 0, -EINVAL},
	{"now-1y", 0, -EINVAL},
	{"now-1hh", 0, -EINVAL},
	{"now--1h", 0, -EINVAL},
	{"Now", 0, -EINVAL},
	/* seconds up to 11 digits, ms to 14, us to 17, ns to 19 */
	{"0", 0, 0},
	{"1768464000", 1768464000000, 0},
	{"99999999999", 99999999999000, 0},
	{"100000000000", 100000000000, 0},
	{"1768464000123", NOW, 0},
	{"99999999999999", 99999999999999, 0},
	{"100000000000000", 100000000000, 0},
	{"1768464000123456", NOW, 0},
	{"99999999999999999", 99999999999999, 0},
	{"100000000000000000", 100000000000, 0},
	{"1768464000123456789", NOW, 0},
	{"9223372036854775807", 9223372036854, 0},
	{"9223372036854775808", 0, -EINVAL},
	{"17684640001234567890", 0, -EINVAL},
	{"1768464000.5", 0, -EINVAL},
	{"-1", 0, -EINVAL},
	{" 1", 0, -EINVAL},
	{"", 0, -EINVAL},
	/* years 1..9999 */
	{"now+3000000d", 0, -EINVAL},
	{"now-739630d", INT64_C(-62135568000000) + 123, 0},
	{"now-739631d", 0, -EINVAL},
	{"now-9223372036854775807s", 0, -EINVAL},
};

TEST(times_are_read_as_people_write_them)
{
	for (size_t i = 0; i < ARRAY_LEN(readings); i++) {
		int64_t ms = 42;
		int rc = clock_read(readings[i].text, NOW, &ms);

		ck_assert_msg(rc == readings[i].err, "%s: %d", readings[i].text,
		              rc);
		ck_assert_msg(ms == (rc ? 42 : readings[i].ms), "%s: %lld",
		              readings[i].text, (long long)ms);
	}
}
END

TEST(spans_are_numbers_with_a_unit)
{
	static const struct {
		const char *text;
		int64_t ms;
	} spans[] = {
		{"15", 15000},    {"15s", 15000},
		{"0", 0},         {"5m", 300000},
		{"6h", 6 * H},    {"7d", 168 * H},
		{"2w", 336 * H},  {"1y", -1},
		{"", -1},         {"m", -1},
		{"-5m", -1},      {"5m5s", -1},
		{"5 m", -1},      {"3652058d", 3652058 * 24 * H},
		{"3652060d", -1},
	};

	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		int64_t ms = -1;
		int rc = clock_read_span(spans[i].text, &ms);

		ck_assert_msg(ms == spans[i].ms && !rc == (ms >= 0), "%s: %lld",
		              spans[i].text, (long long)ms);
	}
}
END

TEST(times_are_written_with_milliseconds)
{
	char out[RFC3339_LEN];

	clock_format(INT64_C(1768464000123), out);
	ck_assert_str_eq(out, "2026-01-15T08:00:00.123Z");
	clock_format(-1, out);
	ck_assert_str_eq(out, "1969-12-31T23:59:59.999Z");
}
END

TEST(times_out_of_range_are_clamped)
{
	char out[RFC3339_LEN];

	clock_format(INT64_MAX, out);
	ck_assert_str_eq(out, "9999-12-31T23:59:59.999Z");
	clock_format(INT64_MIN, out);
	ck_assert_str_eq(out, "0001-01-01T00:00:00.000Z");
}
END

TEST(an_answer_leaves_room_for_the_time_that_it_took)
{
	static const struct {
		int64_t asked, other, answered, ahead;
	} rows[] = {
		{1000, 1000, 9000, 0},  {1000, 9000, 9000, 0},
		{1000, 999, 9000, 1},   {1000, 9001, 9000, -1},
		{90000, 0, 90001, 90000}, {0, 90000, 2, -89998},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_int_eq(clock_ahead(rows[i].asked, rows[i].other,
		                             rows[i].answered),
		                 rows[i].ahead);
}
END

TEST(clocks_agree_up_to_five_seconds_either_way)
{
	ck_assert(clock_agrees(5000) && clock_agrees(-5000));
	ck_assert(!clock_agrees(5001) && !clock_agrees(-5001));
	ck_assert(!clock_agrees(INT64_MAX) && !clock_agrees(INT64_MIN));
}
END

TEST(an_offset_is_said_in_the_unit_that_people_use)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{0, "0.0 s ahead"},         {7200, "7.2 s ahead"},
		{-119900, "119.9 s behind"}, {120000, "2 min ahead"},
		{-600000, "10 min behind"}, {7200000, "2 h ahead"},
		{-172800000, "2 days behind"},
		{INT64_MIN, "106751991167 days behind"},
	};
	char text[CLOCK_OFFSET_LEN];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		clock_format_offset(rows[i].ms, text);
		ck_assert_str_eq(text, rows[i].text);
	}
}
END

SUITE("clock");
