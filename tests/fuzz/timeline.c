/* Hostile timelines; the input is the content of the gzip member. */
#include "profile/timeline.h"
#include "lib/gzip_room.h"

#include <assert.h>

#define MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A written timeline must be readable. */
static void
write_again(const struct timeline *t)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TIMELINE struct timeline *again = NULL;
	int r = timeline_encode(t, &file);

	assert(r == 0);
	r = timeline_decode(file.p, file.len, BUF_MAX_REPLY, &again);
	assert(r == 0);
	assert(again->nsamples == t->nsamples);
	assert(again->nthreads == t->nthreads);
	assert(again->nevents == t->nevents);
	assert(again->ncounters == t->ncounters);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TIMELINE struct timeline *t = NULL;

	gzip_room_keep();
	gzip_store(data, n, &file);
	if (timeline_decode(file.p, file.len, MAX_BYTES, &t))
		return 0;
	for (uint32_t i = 0; i < t->nsamples; i++)
		assert(t->samples[i].thread < t->nthreads);
	write_again(t);
	return 0;
}
