/* A hostile jitdump, and the names made from it. */
#include "capture/symbols/jitdump.h"

#include "lib/jit_split.h"

#include <stdint.h>
#include <string.h>

struct file {
	const uint8_t *p;
	size_t n;
};

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool
read_file(void *arg, uint64_t at, void *out, size_t n)
{
	const struct file *f = arg;

	if (at > f->n || f->n - at < n)
		return false;
	memcpy(out, f->p + at, n);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_JITDUMP struct jitdump *d = NULL;
	struct file f = {data, n};
	struct jit_place at;
	uint64_t addr;

	if (jitdump_new(read_file, &f, &d))
		return 0;
	/* Looks up every word of the file as an address. */
	for (size_t i = 0; i + sizeof(addr) <= n; i += 4) {
		memcpy(&addr, data + i, sizeof(addr));
		if (!jitdump_lookup(d, addr, &at))
			continue;
		sink += jit_split(at.name);
		sink += at.file ? strlen(at.file) : 0;
	}
	return 0;
}
