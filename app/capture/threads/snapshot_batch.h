/* Threads of one process, read together, and what they wait for. */
#pragma once

#include "capture/host.h"
#include "snapshot_thread.h"

struct snapshot_batch {
	size_t n;
	uint32_t room; /* bytes of each stack */
	void *map;     /* rows and stacks, as the opener made them */
	size_t size;
	struct thread_seen *seen; /* by row */
	int32_t *fds;             /* that threads wait for, sorted */
	struct thread_link *links;
	size_t nfds;
};

/*
 * Reads them. A thread that ended meanwhile is a row that says so; of
 * descriptors that can't be looked at nothing is known.
 *
 *   Shape    tids[n], n up to HOST_MAX_LIST, n * room up to THREADS_MAX_BYTES
 *   Owns     snapshot_batch_done() it, also on failure
 *   Errors   -ESRCH, -EBADMSG, -ENOMEM, -errno
 */
MUST_CHECK int
snapshot_batch_read(const struct host *host, int32_t pid, const int32_t *tids,
                    size_t n, uint32_t room, struct snapshot_batch *out);
void snapshot_batch_done(struct snapshot_batch *b);

const struct thread_row *snapshot_row(const struct snapshot_batch *b, size_t i);
const void *snapshot_stack(const struct snapshot_batch *b, size_t i);
/* Where a descriptor leads; "" unknown. */
const char *snapshot_link(const struct snapshot_batch *b, int32_t fd);
