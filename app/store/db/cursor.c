#include "cursor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
cursor_parse(const char *text, struct cursor *out)
{
	struct cursor c = {.ms = INT64_MAX};
	char *end;
	long long ms;

	if (!*text) {
		*out = c;
		return 0;
	}
	errno = 0;
	ms = strtoll(text, &end, 10);
	if (errno || end == text || ms < 0 || *text < '0' || *text > '9' ||
	    *end != '.' || !id_valid("", end + 1))
		return -EINVAL;
	c.ms = ms;
	snprintf(c.id, sizeof(c.id), "%s", end + 1);
	*out = c;
	return 0;
}

int
cursor_make(int64_t ms, const char *id, char **out)
{
	return asprintf(out, "%lld.%s", (long long)ms, id) < 0 ? -ENOMEM : 0;
}

int
page_check(const struct page *p)
{
	return p->limit < 1 || p->limit > STORE_PAGE_MAX ? -EINVAL : 0;
}
