/*
 * The ring in which the filter in the kernel writes samples of one CPU. It is
 * laid out as perf's: records of perf's form, after a page with the positions
 * of writer and reader.
 *
 * A sample has as much of the stack as is in use, up to a bound, whereas perf
 * copies a fixed number of bytes. Behind the fields that perf writes, there may
 * be a struct interp_stack, cut behind its frames and context.
 *
 *   Source   perf_event_open(2), "MMAP layout"
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#define FILTER_PAGE       4096
#define FILTER_MAX_RECORD 65536 /* struct perf_event_header, size: 16 bits */
#define FILTER_MAX_CHAIN  127   /* kernel.perf_event_max_stack */

/* How a sample begins. */
struct filter_sample {
	struct perf_event_header header;
	uint64_t ip; /* not set */
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t nchain;
	uint64_t chain[FILTER_MAX_CHAIN]; /* cut after nchain entries */
};

/* Most bytes of a stack, and of the rest of a record: struct filter_sample,
 * registers, two sizes, and the frames of an interpreter. */
#define FILTER_MAX_STACK 57344
#define FILTER_REST      7168

struct filter_ring {
	uint64_t stack_bytes; /* most to copy of a stack; set by the reader */
	uint8_t unused[offsetof(struct perf_event_mmap_page, data_head) - 8];
	uint64_t head; /* bytes ever written */
	uint64_t tail; /* bytes ever read; set by the reader */
	uint8_t rest[FILTER_PAGE -
	             offsetof(struct perf_event_mmap_page, data_head) - 16];
	/* A power of two and FILTER_ROOM: a record that begins before the end
	 * continues past it, and the next one begins at the start. */
	uint8_t data[];
};
_Static_assert(offsetof(struct filter_ring, tail) ==
                       offsetof(struct perf_event_mmap_page, data_tail),
               "positions are where perf has them");
_Static_assert(offsetof(struct filter_ring, data) == FILTER_PAGE, "a page");

#define FILTER_ROOM (FILTER_MAX_RECORD + FILTER_PAGE)

/* Returns the size of a ring that holds this much data. */
static inline uint32_t
filter_ring_bytes(uint32_t data)
{
	return FILTER_PAGE + data + FILTER_ROOM;
}
