#include "when.h"

#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* "1h": digits and a letter. */
static int
read_span(const char *text, enum when way, struct buf *out)
{
	size_t n = strlen(text);
	int64_t ms;

	if (n < 2 || !isalpha((unsigned char)text[n - 1]) ||
	    clock_read_span(text, &ms))
		return -EINVAL;
	buf_addf(out, "now%c%s", way == WHEN_PAST ? '-' : '+', text);
	return 0;
}

/* True if all of text matches a format of strptime(). */
static bool
matches(const char *text, const char *format, struct tm *tm)
{
	const char *end = strptime(text, format, tm);

	return end && !*end;
}

static int
put_local(struct tm tm, struct buf *out)
{
	char text[RFC3339_LEN];
	time_t s;

	tm.tm_isdst = -1; /* let mktime() determine daylight saving time */
	s = mktime(&tm);
	clock_format((int64_t)s * MS_PER_S, text);
	buf_puts(out, text);
	return 0;
}

static bool
is_before(struct tm a, int64_t now_ms)
{
	a.tm_isdst = -1;
	return (int64_t)mktime(&a) * MS_PER_S < now_ms;
}

static int
read_time_of_day(const char *text, enum when way, int64_t now_ms,
                 struct buf *out)
{
	time_t now_s = (time_t)(now_ms / MS_PER_S);
	struct tm tm;

	localtime_r(&now_s, &tm);
	tm.tm_sec = 0;
	if (!matches(text, "%H:%M", &tm) && !matches(text, "%H:%M:%S", &tm))
		return -EINVAL;
	if (way == WHEN_PAST && !is_before(tm, now_ms))
		tm.tm_mday--;
	else if (way == WHEN_FUTURE && is_before(tm, now_ms))
		tm.tm_mday++;
	return put_local(tm, out);
}

static int
read_date(const char *text, struct buf *out)
{
	static const char *const formats[] = {
		"%Y-%m-%d",       "%Y-%m-%d %H:%M",    "%Y-%m-%d %H:%M:%S",
		"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
	};

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct tm tm = {0};

		if (strlen(text) >= strlen("2026-01-31") &&
		    matches(text, formats[i], &tm))
			return put_local(tm, out);
	}
	return -EINVAL;
}

static int
read_day(const char *text, int64_t now_ms, struct buf *out)
{
	time_t now_s = (time_t)(now_ms / MS_PER_S);
	bool yesterday = !strcmp(text, "yesterday");
	struct tm tm;

	if (!yesterday && strcmp(text, "today") != 0)
		return -EINVAL;
	localtime_r(&now_s, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday -= yesterday;
	return put_local(tm, out);
}

int
when_read(const char *text, enum when way, int64_t now_ms, struct buf *out)
{
	int64_t ms;

	if (!read_span(text, way, out) || !read_day(text, now_ms, out) ||
	    !read_time_of_day(text, way, now_ms, out) || !read_date(text, out))
		return 0;
	if (clock_read(text, now_ms, &ms))
		return -EINVAL;
	buf_puts(out, text);
	return 0;
}
