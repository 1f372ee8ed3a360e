/*
 * A target's memory, for who may only ask for it.
 *
 * Many small pieces are asked for at once, neighbours as one: a question has
 * its price, and so has every piece. Nothing that comes back is to be
 * trusted, nor is it of one moment: the target runs on.
 */
#pragma once

#include "capture/host.h"

#define MEMORY_MAX_MAPS 64

struct memory {
	const struct host *host;
	int32_t pid;
};

/* One piece; p and got are the answer. */
struct memory_piece {
	uint64_t addr;
	uint32_t len,
		got; /* bytes; got: as many from the start could be read */
	const uint8_t *p;
};

/* What answers are kept in. */
struct memory_batch {
	struct {
		void *p;
		size_t size;
	} maps[MEMORY_MAX_MAPS];
	size_t nmaps;
};

/*
 * Reads pieces, in any order; a len of 0 is passed over.
 *
 *   Shape    batch starts as {0}; it may already hold other answers
 *   Owns     pieces' p point into batch: memory_batch_done() it, also on
 *            failure
 *   Errors   -ESRCH the process is gone, -EPERM not ours to read, -E2BIG
 *            more than MEMORY_MAX_MAPS answers, -EBADMSG, -ENOMEM, -errno
 */
MUST_CHECK int memory_read(const struct memory *m, struct memory_piece *pieces,
                           size_t n, struct memory_batch *batch);
void memory_batch_done(struct memory_batch *b);

/*
 * Copies exactly len bytes.
 *   Errors   also -EFAULT when there are fewer; *out untouched
 */
MUST_CHECK int
memory_copy(const struct memory *m, uint64_t addr, void *out, size_t len);
