/* Messages and selectors of Grafana. */
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

/* What was read in one form is read again in JSON. */
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum message m;
	char *text;

	if (!n)
		return 0;
	m = data[0] % MESSAGES;
	read_as(m, true, data + 1, n - 1);
	read_as(m, false, data + 1, n - 1);
	text = strndup((const char *)data + 1, n - 1);
	assert(text);
	select_by(text);
	free(text);
	return 0;
}
