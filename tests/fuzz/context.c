/*
 * What processes publish about themselves: names of mappings, and contexts. The
 * first byte selects one.
 */
#include "worker/contexts/context.h"
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint64_t at[CONTEXT_MAX_NAMED];

	if (!n)
		return 0;
	if (*data == '0')
		assert(context_find((const char *)data + 1, n - 1, at) <=
		       CONTEXT_MAX_NAMED);
	else
		parse(data + 1, n - 1);
	return 0;
}
