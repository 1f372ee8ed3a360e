/* Profiles of OpenTelemetry as a service sends them, with many resources. */
#include "profile/otlp.h"
#include "lib/gzip_room.h"
#include "profile/pprof.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int
take(void *arg, const struct otlp_part *of, struct profile **made)
{
	CLEANUP_BUF struct buf file = BUF_INIT((size_t)64 << 20);

	(void)arg;
	assert(of->service && of->labels[0] == '{' && of->profiles);
	assert((*made)->nsamples && (*made)->ntypes);
	assert(!pprof_encode(*made, &file));
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.deltas = n % 2,
		.limits = {.raw_bytes = 1 << 20,
	                   .memory = 4 << 20,
	                   .ratio = 100,
	                   .strings = 10000,
	                   .samples = 10000},
	};
	int r;

	gzip_room_keep();
	r = otlp_read(data, n, &ask, take, NULL, &why);
	assert(!r || why.len || r == -ENOMEM);
	return 0;
}
