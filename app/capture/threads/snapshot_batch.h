/*
 * Reads threads of one process together, and finds what they wait for.
 */
#pragma once

#include "capture/host.h"
#include "snapshot_thread.h"

struct snapshot_batch {
	size_t n;
	uint32_t room; /* bytes of each stack */
	void *map;     /* rows and stacks as the opener wrote them */
	size_t size;
	struct thread_seen *seen; /* by row */
	int32_t *fds;             /* descriptors that threads wait for,
	                             sorted */
	struct thread_link *links;
	size_t nfds;
};

/*
 * Reads threads. The row of a thread that ended meanwhile says so; descriptors
 * that can't be examined stay unknown.
 *
 *   Shape    tids[n], n up to HOST_MAX_LIST, n * room up to THREADS_MAX_BYTES
 *   Owns     snapshot_batch_done() it, even on failure
 *   Errors   -ESRCH, -EBADMSG, -ENOMEM, -errno
 */
MUST_CHECK int
snapshot_batch_read(const struct host *host, int32_t pid, const int32_t *tids,
                    size_t n, uint32_t room, struct snapshot_batch *out);
void snapshot_batch_done(struct snapshot_batch *b);

const struct thread_row *snapshot_row(const struct snapshot_batch *b, size_t i);
const void *snapshot_stack(const struct snapshot_batch *b, size_t i);
/* Returns the target of a descriptor's link; "" unknown. */
const char *snapshot_link(const struct snapshot_batch *b, int32_t fd);
