/* Blocks that a hostile host may send: what is accepted has a valid form and
 * fits into the bytes. */
#include "store/block.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
check(const struct block *b, size_t n)
{
	size_t windows = 0;
	int64_t at = 0;

	assert(strlen(b->tenant) < STORE_TENANT_MAX);
	for (size_t i = 0; i < b->nseries; i++) {
		const struct block_series *s = &b->series[i];

		assert(s->first == windows && s->n > 0);
		assert(strlen(s->service) < STORE_NAME_MAX);
		assert(strlen(s->labels) < BLOCK_LABELS_MAX);
		windows += s->n;
	}
	assert(windows == b->nwindows && b->start_ms < b->end_ms);
	for (size_t i = 0; i < windows; i++) {
		assert(b->windows[i].start == at && b->windows[i].length >= 0);
		assert(b->windows[i].start_ms >= b->start_ms);
		assert(b->windows[i].end_ms <= b->end_ms);
		at += b->windows[i].length;
	}
	assert(at == b->entries && (size_t)at <= n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block b = {0};
	int rc = block_decode(p, n, &b, &why);

	if (!rc)
		check(&b, n);
	else
		assert(rc == -EBADMSG || rc == -E2BIG);
	return 0;
}
