/*
 * Facts that processes and their threads publish: names of mappings, contexts
 * of processes, and of threads. The first byte selects one.
 */
#include "worker/contexts/context.h"
#include "capture/contexts/thread_context.h"
#include "store/container.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
parse(const uint8_t *p, size_t n)
{
	struct context c = {0};

	(void)!context_parse(p, n, &c);
	for (size_t i = 0; i < CONTEXT_ATTRIBUTES; i++)
		assert(!c.texts[i] ||
		       container_text_ok(c.texts[i], strlen(c.texts[i])));
	context_done(&c);
}

/* A process's names follow a context of up to 255 bytes. */
static void
parse_thread(const uint8_t *p, size_t n)
{
	size_t len = n ? p[0] : 0;
	struct thread_context c;
	struct thread_keys keys;

	if (n < len + 1 || thread_keys_parse(p + 1 + len, n - 1 - len, &keys) ||
	    thread_context_parse(p + 1, len, &keys, &c))
		return;
	assert(*c.span || c.n);
	for (uint32_t i = 0; i < c.n; i++)
		assert(c.attributes[i].len && *c.attributes[i].name &&
		       (!i || strcmp(c.attributes[i - 1].name,
		                     c.attributes[i].name) < 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint64_t at[PUBLISHED_MAX_NAMED];

	if (!n)
		return 0;
	if (*data == '0')
		assert(published_find((const char *)data + 1, n - 1, at) <=
		       PUBLISHED_MAX_NAMED);
	else if (*data == '2')
		parse_thread(data + 1, n - 1);
	else
		parse(data + 1, n - 1);
	return 0;
}
