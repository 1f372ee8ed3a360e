#include "range/slice.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define US_PER_MS  UINT64_C(1000)
#define MAX_DIGITS 9 /* 11 days in milliseconds */

static bool
read_number(const char **at, uint64_t *out)
{
	size_t n = strspn(*at, "0123456789");

	if (!n || n > MAX_DIGITS)
		return false;
	*out = strtoull(*at, NULL, 10);
	*at += n;
	return true;
}

static bool
read_char(const char **at, char want)
{
	if (**at != want)
		return false;
	++*at;
	return true;
}

bool
slice_parse(const char *id, struct slice *out)
{
	const char *at = strchr(id, '.');
	size_t n = at ? (size_t)(at - id) : 0;
	struct slice x = {0};
	uint64_t from, to, tid = 0;

	if (!at || n >= sizeof(x.session) || !read_char(&at, '.') ||
	    !read_number(&at, &from) || !read_char(&at, '-') ||
	    !read_number(&at, &to) || from >= to)
		return false;
	if (read_char(&at, '.') && (!read_number(&at, &tid) || !tid))
		return false;
	if (*at)
		return false;
	memcpy(x.session, id, n);
	x.part.from_us = from * US_PER_MS;
	x.part.to_us = to * US_PER_MS;
	x.part.tid = (uint32_t)tid;
	*out = x;
	return true;
}

static int
replace(char **text, const char *by)
{
	char *copy = strdup(by);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int
slice_session(const struct slice *x, const char *id, struct session *s)
{
	int64_t from = (int64_t)(x->part.from_us / US_PER_MS);
	int64_t to = (int64_t)(x->part.to_us / US_PER_MS);
	int rc;

	if (from >= s->duration_ms)
		return -ENOENT;
	rc = replace(&s->id, id) ?: replace(&s->top_functions, "[]");
	if (rc)
		return rc;
	s->started_ms += from;
	s->duration_ms = (to < s->duration_ms ? to : s->duration_ms) - from;
	s->completed_ms = s->started_ms + s->duration_ms;
	return 0;
}
