/*
 * Reads one CPU's perf ring: whole records, one after the other.
 *
 * Source: perf_event_open(2), "MMAP layout": data_head is read with acquire,
 * data_tail written with release order.
 */
#pragma once

#include "base/cleanup.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define RING_MIN_BYTES ((size_t)128 << 10) /* holds the largest record */
#define RING_RECORD    65536               /* header.size is 16 bits */

struct ring {
	int fd; /* -1: closed */
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t size;       /* bytes, a power of two */
	size_t behind;     /* bytes by which a record may extend past the end */
	uint64_t head;     /* as of the last ring_look */
	uint64_t tail;     /* next record */
	uint64_t bad;      /* number of times that the contents made no sense */
	uint8_t *straight; /* RING_RECORD bytes: copy of a record that wraps */
};

/*
 * Maps a ring of size bytes, a power of two from RING_MIN_BYTES.
 *
 *   Owns     on success fd is the ring's; ring_close it
 *   Errors   -ENOMEM (RLIMIT_MEMLOCK too), -errno; *out untouched
 */
MUST_CHECK int ring_open(int fd, size_t size, struct ring *out);
/* Begins to read a ring that the caller has mapped: its control page, and its
 * data, with room after them. Records that it already contains are skipped. */
void ring_borrow(void *page, void *data, size_t size, size_t behind,
                 struct ring *out);
void ring_close(struct ring *r);
/* Notes how much there is to read; later records wait for the next look. */
void ring_look(struct ring *r);
/* Finds the next record, whole and valid until ring_next; false when none is
 * left. */
bool ring_peek(struct ring *r, const void **p, size_t *n);
/* Prefetches what follows the peeked record of n bytes, which another CPU
 * wrote: the start of the next record, and the end of one as long. */
void ring_fetch_ahead(const struct ring *r, size_t n);
/* Returns the room of the peeked record to the kernel. */
void ring_next(struct ring *r, size_t n);
