/* A hostile perf map, and the names made from it. */
#include "capture/symbols/perfmap.h"

#include "lib/jit_split.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define PLACES 64 /* addresses looked up in each map */

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
ask(const struct perfmap *m, uint64_t addr)
{
	const char *name = perfmap_lookup(m, addr);

	if (!name)
		return;
	assert(*name);
	sink += jit_split(name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PERFMAP_MAX_BYTES);
	CLEANUP_PERFMAP struct perfmap *m = NULL;

	buf_add(&text, data, n);
	if (buf_err(&text) || perfmap_new(&text, &m))
		return 0;
	for (uint64_t i = 0; i < PLACES; i++)
		ask(m, i);
	ask(m, UINT64_MAX);
	return 0;
}
