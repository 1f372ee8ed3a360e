#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t
read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t
clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME) / NS_PER_MS;
}

int64_t
clock_cpu_ns(void)
{
	/* Under RLIMIT_CPU the clock of the process advances only with ticks,
	 * so the thread's clock is read. */
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

#define EPOCH_MS_MIN INT64_C(-62135596800000) /* 0001-01-01 */
#define EPOCH_MS_MAX INT64_C(253402300799999) /* 9999-12-31 */

void
clock_format(int64_t epoch_ms, char out[static RFC3339_LEN])
{
	struct tm tm;
	int64_t ms;
	time_t s;
	size_t n;

	if (epoch_ms < EPOCH_MS_MIN)
		epoch_ms = EPOCH_MS_MIN;
	if (epoch_ms > EPOCH_MS_MAX)
		epoch_ms = EPOCH_MS_MAX;
	ms = (epoch_ms % MS_PER_S + MS_PER_S) % MS_PER_S;
	s = (time_t)((epoch_ms - ms) / MS_PER_S);
	gmtime_r(&s, &tm);
	tm.tm_year += 1900;
	/* strftime() does not pad the year */
	n = (size_t)snprintf(out, RFC3339_LEN, "%04u-%02u-%02uT",
	                     (unsigned)tm.tm_year % 10000u,
	                     (unsigned)(tm.tm_mon + 1) % 100u,
	                     (unsigned)tm.tm_mday % 100u);
	snprintf(out + n, RFC3339_LEN - n, "%02u:%02u:%02u.%03uZ",
	         (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u,
	         (unsigned)tm.tm_sec % 100u, (unsigned)ms % 1000u);
}

int64_t
clock_ahead(int64_t asked_ms, int64_t other_ms, int64_t answered_ms)
{
	return other_ms < asked_ms      ? asked_ms - other_ms
	       : other_ms > answered_ms ? answered_ms - other_ms
	                                : 0;
}

void
clock_format_offset(int64_t ahead_ms, char out[static CLOCK_OFFSET_LEN])
{
	static const struct {
		double least_s, s; /* smallest value shown in this unit */
		const char *name;
	} units[] = {{172800, 86400, "days"}, {7200, 3600, "h"},
	             {120, 60, "min"}};
	const char *way = ahead_ms < 0 ? "behind" : "ahead";
	double s = (double)ahead_ms / (ahead_ms < 0 ? -1e3 : 1e3);

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (s >= units[i].least_s) {
			snprintf(out, CLOCK_OFFSET_LEN, "%.0f %s %s",
			         s / units[i].s, units[i].name, way);
			return;
		}
	snprintf(out, CLOCK_OFFSET_LEN, "%.1f s %s", s, way);
}

/* Reads ".123456" as milliseconds; moves *p past the digits. */
static int
parse_fraction(const char **p, int *out_ms)
{
	int ms = 0, scale = 100;

	if (**p != '.')
		return 0;
	(*p)++;
	if (**p < '0' || **p > '9')
		return -EINVAL;
	for (; **p >= '0' && **p <= '9'; (*p)++, scale /= 10)
		ms += (**p - '0') * scale;
	*out_ms = ms;
	return 0;
}

/* Reads "Z" or "+hh:mm", which must end the text, as minutes east of UTC. */
static int
parse_zone(const char *p, int *out_minutes)
{
	int h, m, n = 0;

	if (!strcmp(p, "Z") || !strcmp(p, "z")) {
		*out_minutes = 0;
		return 0;
	}
	if ((*p != '+' && *p != '-') || strlen(p) != 6)
		return -EINVAL;
	if (sscanf(p + 1, "%2d:%2d%n", &h, &m, &n) != 2 || n != 5 || h > 23 ||
	    m > 59 || h < 0 || m < 0)
		return -EINVAL;
	*out_minutes = (*p == '-' ? -1 : 1) * (h * 60 + m);
	return 0;
}

int
clock_parse(const char *text, int64_t *out_epoch_ms)
{
	struct tm tm = {0}, back;
	int n = 0, ms = 0, minutes;
	const char *p;
	time_t s;

	if (sscanf(text, "%4d-%2d-%2d%*1[Tt ]%2d:%2d:%2d%n", &tm.tm_year,
	           &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
	           &n) != 6 ||
	    n != 19)
		return -EINVAL;
	p = text + n;
	if (parse_fraction(&p, &ms) || parse_zone(p, &minutes))
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	back = tm;
	s = timegm(&back);
	/* timegm() turns 31 April into 1 May; refuse such dates instead */
	if (back.tm_mday != tm.tm_mday || back.tm_mon != tm.tm_mon ||
	    back.tm_hour != tm.tm_hour || back.tm_min != tm.tm_min)
		return -EINVAL;
	*out_epoch_ms = ((int64_t)s - minutes * 60) * MS_PER_S + ms;
	return 0;
}

#define SPAN_MAX_MS    (EPOCH_MS_MAX - EPOCH_MS_MIN)
#define NUMBER_DIGITS  19 /* of INT64_MAX */
#define SECONDS_DIGITS 11
#define MS_DIGITS      14
#define US_DIGITS      17

/* Reads digits and moves *p past them. Returns -EINVAL if there are none. */
static int
parse_number(const char **p, int64_t *out)
{
	size_t n = strspn(*p, "0123456789");
	int64_t v = 0;

	if (!n || n > NUMBER_DIGITS)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (*p)[i] - '0', &v))
			return -EINVAL;
	*p += n;
	*out = v;
	return 0;
}

static int64_t
unit_ms(const char *unit)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {
		{"", MS_PER_S},          {"s", MS_PER_S},
		{"m", 60 * MS_PER_S},    {"h", 3600 * MS_PER_S},
		{"d", 86400 * MS_PER_S}, {"w", 7 * 86400 * MS_PER_S},
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (!strcmp(unit, units[i].unit))
			return units[i].ms;
	return 0;
}

int
clock_read_span(const char *text, int64_t *out_ms)
{
	int64_t v;

	if (parse_number(&text, &v) ||
	    __builtin_mul_overflow(v, unit_ms(text), &v) || v > SPAN_MAX_MS ||
	    !unit_ms(text))
		return -EINVAL;
	*out_ms = v;
	return 0;
}

/* Reads the text that follows "now". */
static int
read_offset(const char *text, int64_t now_ms, int64_t *out)
{
	int64_t span = 0;

	if (*text && ((*text != '-' && *text != '+') ||
	              clock_read_span(text + 1, &span)))
		return -EINVAL;
	*out = *text == '-' ? now_ms - span : now_ms + span;
	return 0;
}

static int
read_epoch(const char *text, int64_t *out)
{
	size_t digits = strlen(text);
	int64_t v;

	if (parse_number(&text, &v) || *text)
		return -EINVAL;
	*out = digits <= SECONDS_DIGITS ? v * MS_PER_S
	       : digits <= MS_DIGITS    ? v
	       : digits <= US_DIGITS    ? v / (NS_PER_MS / NS_PER_US)
	                                : v / NS_PER_MS;
	return 0;
}

int
clock_read(const char *text, int64_t now_ms, int64_t *out_epoch_ms)
{
	int64_t ms;
	int rc = !strncmp(text, "now", 3) ? read_offset(text + 3, now_ms, &ms)
	         : strchr(text, '-')      ? clock_parse(text, &ms)
	                                  : read_epoch(text, &ms);

	if (rc || ms < EPOCH_MS_MIN || ms > EPOCH_MS_MAX)
		return -EINVAL;
	*out_epoch_ms = ms;
	return 0;
}
