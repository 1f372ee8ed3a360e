#include "lib/minute_block.h"

#include "lib/random.h"
#include "store/files/digest.h"
#include "store/windows/block_private.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_MS INT64_C(60000)

/* Appends a window and its entry in the directory. */
static void
add_window(uint64_t start_ms, uint64_t *random, struct buf *out,
           struct buf *entries)
{
	uint64_t bytes[MINUTE_BLOCK_BYTES / sizeof(uint64_t)];
	char checksum[WINDOW_CHECKSUM];
	const uint64_t numbers[BLOCK_NUMBERS] = {
		start_ms,  start_ms + (uint64_t)MINUTE_MS,
		MINUTE_MS, 6,
		1000,      1000000,
		out->len,  sizeof(bytes)};
	struct block_entry_bytes entry = {.quota_ms = 0};

	for (size_t k = 0; k < ARRAY_LEN(bytes); k++)
		bytes[k] = random_next(random);
	if (digest(bytes, sizeof(bytes), checksum))
		abort();
	for (size_t k = 0; k < BLOCK_NUMBERS; k++)
		entry.numbers[k] = htole64(numbers[k]);
	if (hex_decode(checksum, entry.digest, sizeof(entry.digest)))
		abort();
	buf_add(out, bytes, sizeof(bytes));
	buf_add(entries, &entry, sizeof(entry));
}

void
minute_block(const char *tenant, int services, int minutes, int64_t start_ms,
             uint64_t *random, struct buf *out)
{
	CLEANUP_BUF struct buf entries = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf texts = BUF_INIT(BUF_MAX_SMALL);
	struct block_end e = {
		htole32(minutes == 1 ? BLOCK_FRESH : BLOCK_MINUTES),
		htole32((uint32_t)services),
		htole32((uint32_t)(services * minutes)),
		0,
		htole64((uint64_t)start_ms),
		htole64((uint64_t)(start_ms + minutes * MINUTE_MS)),
		0,
		BLOCK_MAGIC,
	};

	buf_clear(out);
	buf_add(&texts, tenant, strlen(tenant) + 1);
	for (int i = 0; i < services; i++) {
		for (int m = 0; m < minutes; m++)
			add_window((uint64_t)(start_ms + m * MINUTE_MS), random,
			           out, &entries);
		buf_addf(&texts, "bench%d%ccpu%c{}%c%d%c", i, 0, 0, 0, minutes,
		         0);
	}
	e.texts = htole32((uint32_t)texts.len);
	e.entries = htole64(out->len);
	buf_add(out, entries.p, entries.len);
	buf_add(out, texts.p, texts.len);
	buf_add(out, &e, sizeof(e));
	if (buf_err(out))
		abort();
}
