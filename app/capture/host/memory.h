/*
 * Reads a target's memory, for processes that must ask the host for it.
 *
 * Many small pieces are read with one question, and neighbours as one piece,
 * since each question and each piece has a cost. Do not trust the bytes, and do
 * not expect them to be consistent: the target keeps running.
 */
#pragma once

#include "capture/host.h"

#include <string.h>

#define MEMORY_MAX_FILES 64 /* files for answers */
#define MEMORY_MAX_SPARE 4

/* A file that answers are written to, and its mapping. */
struct memory_file {
	int fd;
	void *map;
	size_t size;
};

/* Pages that were read, for many small reads of memory at one moment. */
#define MEMORY_PAGE      4096
#define MEMORY_PAGES     1024
#define MEMORY_MAX_PAGES 65536 /* limit of reads */
struct memory_pages {
	uint32_t read;
	struct memory_page {
		uint64_t at; /* 0: unused */
		int error;   /* of reading it */
		uint8_t bytes[MEMORY_PAGE];
	} rows[MEMORY_PAGES];
};

/* Files that can be used again. */
struct memory_spare {
	struct memory_file files[MEMORY_MAX_SPARE];
	size_t n;
	/* The caller's, {0} at first. NULL: no page is kept, so each read shows
	 * another moment. */
	struct memory_pages *pages;
};

struct memory {
	const struct host *host;
	int32_t pid;
	struct memory_spare *spare; /* NULL: each answer gets a new file */
};

/* One piece; p and got are the answer. */
struct memory_piece {
	uint64_t addr;
	uint32_t len, got; /* got: bytes that could be read, from the start */
	const uint8_t *p;
};

/* Read a number at an offset of bytes, which must hold all of it. */
static inline uint64_t
memory_u64(const uint8_t *p, size_t at)
{
	uint64_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static inline uint32_t
memory_u32(const uint8_t *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

/* The word at an offset of a piece; 0 if it was not read. */
uint64_t memory_word(const struct memory_piece *p, size_t at);

/* The memory that holds answers. */
struct memory_batch {
	struct memory_spare *spare;
	struct memory_file files[MEMORY_MAX_FILES];
	size_t n;
};

void memory_spare_done(struct memory_spare *s);

/*
 * Reads pieces, in any order; a piece with len 0 is skipped.
 *
 *   Shape    batch starts as {0}; it may already hold other answers
 *   Owns     pieces' p point into batch: memory_batch_done() it, also on
 *            failure, and before memory_spare_done()
 *   Errors   -ESRCH the process is gone, -EPERM it may not be read, -E2BIG
 *            more than MEMORY_MAX_FILES answers, -EBADMSG, -ENOMEM, -errno
 */
MUST_CHECK int memory_read(const struct memory *m, struct memory_piece *pieces,
                           size_t n, struct memory_batch *batch);
void memory_batch_done(struct memory_batch *b);

/*
 * Copies exactly len bytes, from a kept page if there is one.
 *   Errors   those of memory_read(), -EFAULT when fewer can be read, -E2BIG
 *            past MEMORY_MAX_PAGES; *out untouched
 */
MUST_CHECK int
memory_copy(const struct memory *m, uint64_t addr, void *out, size_t len);
