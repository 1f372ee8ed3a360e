/*
 * Messages and selectors of Grafana. The first line of an input is the name of
 * a message, or any text, whose first byte selects one.
 */
#include "endpoint/grafana/messages.h"
#include "endpoint/grafana/selector.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
select_by(const char *text)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_SELECTOR struct selector s = {0};

	if (selector_read(text, &s, &why)) {
		assert(why.len);
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		(void)matcher_passes(&s.items[i], "web-1");
}

/* A message read in either form must be readable again as JSON. */
static void
read_as(enum message m, bool json, const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *first = NULL, *again = NULL;
	char *text;

	if (message_read(m, json, data, n, &first, &why)) {
		assert(why.len);
		return;
	}
	text = json_dumps(first, JSON_COMPACT);
	assert(text);
	assert(!message_read(m, true, text, strlen(text), &again, &why));
	assert(json_equal(first, again));
	free(text);
}

static enum message
message_of(const uint8_t *line, size_t n)
{
	static const char *const names[] = {
#define MESSAGE(name) #name,
#include "endpoint/grafana/messages.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], line, n))
			return (enum message)i;
	return line[0] % MESSAGES;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *body = n ? memchr(data, '\n', n) : NULL;
	enum message m;
	char *text;

	if (!body)
		return 0;
	m = message_of(data, (size_t)(body++ - data));
	n -= (size_t)(body - data);
	read_as(m, true, body, n);
	read_as(m, false, body, n);
	text = strndup((const char *)body, n);
	assert(text);
	select_by(text);
	free(text);
	return 0;
}
