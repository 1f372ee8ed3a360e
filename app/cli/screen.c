#include "screen.h"

#include "base/clock.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define HALF_YEAR_MS (INT64_C(182) * 86400 * MS_PER_S)

static size_t
width_of(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}

/* Returns the width that the user set for output that is not a terminal. */
static size_t
width_asked(void)
{
	const char *columns = getenv("STOKER_COLUMNS");
	long n = columns ? strtol(columns, NULL, 10) : 0;

	return n > 0 ? (size_t)n : 0;
}

/* Source: https://no-color.org. */
static bool
wants_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

void
screen_of(int fd, bool wide, struct screen *out)
{
	bool terminal = isatty(fd);

	*out = (struct screen){
		.width = wide       ? 0
	                 : terminal ? width_of(fd)
	                            : width_asked(),
		.colours = terminal && wants_colours(),
		.times = terminal && !wide,
		.now_ms = clock_wall_ms(),
	};
}

void
screen_puts(const struct screen *s, enum style style, const char *text,
            struct buf *out)
{
	/* ECMA-48, 8.3.117: select graphic rendition */
	static const char *const codes[] = {
		[STYLE_HEAD] = "1",
		[STYLE_GOOD] = "32",
		[STYLE_WARNING] = "33",
		[STYLE_BAD] = "31",
	};

	if (s->colours)
		buf_addf(out, "\033[%sm%s\033[0m", codes[style], text);
	else
		buf_puts(out, text);
}

static bool
same_day(const struct tm *a, const struct tm *b)
{
	return a->tm_year == b->tm_year && a->tm_yday == b->tm_yday;
}

void
screen_time(const struct screen *s, const char *rfc3339, struct buf *out)
{
	time_t then_s, now_s = (time_t)(s->now_ms / MS_PER_S);
	struct tm then, now;
	char text[32];
	int64_t ms;

	if (!s->times || clock_parse(rfc3339, &ms)) {
		safe_puts(out, rfc3339);
		return;
	}
	then_s = (time_t)(ms / MS_PER_S);
	localtime_r(&then_s, &then);
	localtime_r(&now_s, &now);
	strftime(text, sizeof(text),
	         same_day(&then, &now)                  ? "%H:%M:%S"
	         : llabs(s->now_ms - ms) < HALF_YEAR_MS ? "%b %e %H:%M"
	                                                : "%Y-%m-%d",
	         &then);
	buf_puts(out, text);
}
