/* Uploaded goroutine dumps are parsed, written as pprof, and read again. */
#include "profile/godump.h"
#include "lib/gzip_room.h"
#include "profile/pprof.h"

#include <assert.h>

#define MAX_VIEW ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_VIEW);
	CLEANUP_PROFILE struct profile *p = NULL, *again = NULL;
	struct godump_seen seen;
	int r = godump_parse(data, n, &p, &seen, &why);

	gzip_room_keep();
	if (r) {
		assert(!p && why.len);
		return 0;
	}
	/* Numbers of goroutines may repeat; equal goroutines are one sample. */
	assert(seen.goroutines && p->nsamples <= seen.goroutines);
	r = pprof_encode(p, &file);
	assert(r == 0);
	r = pprof_decode(file.p, file.len, MAX_VIEW, &again, &why);
	assert(r == 0);
	assert(again->nsamples == p->nsamples);
	assert(again->nstack == p->nstack);
	assert(again->nlabels == p->nlabels);
	return 0;
}
