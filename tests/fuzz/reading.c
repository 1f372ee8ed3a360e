/*
 * A stored reading of buckets. The input has the type, how the current buckets
 * differ from those made here, then the reading.
 */
#include "capture/buckets/bucket_reading.h"

#include "capture/buckets/bucket_rows.h"

#include <string.h>

#define BASE UINT64_C(0x1000)

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Makes up to eight buckets of the same stack. */
static void
make_now(uint8_t n, struct go_buckets *out)
{
	uint32_t row;

	*out = (struct go_buckets){.addrs = {.max = GO_MAX_BUCKETS},
	                           .rows = BUF_INIT(BUF_MAX_SMALL)};
	for (uint32_t i = 0; i < n % 9u; i++) {
		struct go_bucket b = {
			.size = 8, .allocs = i * n, .count = i, .cycles = n};

		if (pairs_intern(&out->addrs, 0, BASE + i, &row))
			return;
		buf_add(&out->rows, &b, sizeof(b));
	}
}

static void
compare(const struct reading_part *part, enum profile_type_id type, uint8_t n)
{
	CLEANUP(go_buckets_done) struct go_buckets now, before = {0};
	CLEANUP_BUF struct buf next = BUF_INIT(READING_MAX_BYTES * 2);
	bool same = false;

	make_now(n, &now);
	if (reading_compare(part, type, &now, &before, &same))
		return;
	reading_begin(&next, type, 0);
	if (!reading_add(&next, 1, 2, &now) && !reading_keep(&next, part))
		sink += next.len + same;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf reading = BUF_INIT(READING_MAX_BYTES + 1);
	const struct reading_head *h;
	enum profile_type_id type;

	if (n < 2)
		return 0;
	type = (enum profile_type_id)(TYPE_alloc + data[0] % 3);
	buf_add(&reading, data + 2, n - 2);
	if (buf_err(&reading) || !reading.p ||
	    reading_check(reading.p, reading.len, type, &h))
		return 0;
	for (uint32_t i = 0; i < h->nprocesses && i < 8; i++) {
		struct reading_part part = reading_part(h, i);

		part = reading_find(h, part.process->pid,
		                    part.process->began_ns);
		compare(&part, type, data[1]);
	}
	return 0;
}
