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

	SUITE("clock", times_are_read_as_rfc_3339_says,
              times_are_written_with_milliseconds,
              times_out_of_range_are_clamped)
