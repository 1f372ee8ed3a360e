/*
 * Profiles of memory of programs that load libstoker-heap.so, by the counts
 * that it keeps in their memory: preload/heap_layout.h. The programs are
 * neither stopped nor asked; a child of one counts for itself.
 *
 *	heap_open(host, &ask, &h)		the first look
 *	heap_join(h, pids, n)			as processes join the service
 *	heap_finish(h, symbols, &profile, &quality)	the second
 *
 * With in_use it is what was allocated since a program began and is not freed,
 * and takes one look, at the finish. Else it is what was allocated between the
 * looks. All values are estimates; quality.kept is the number of samples.
 *
 * Stacks begin at the function that called the allocator, and have 126 frames
 *at most.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/profile.h"

struct heap_ask {
	bool in_use;
	const int32_t *pids;
	uint32_t npids;
};

struct heap;

/*
 * Takes the first look.
 *
 *   Owns     *out is the caller's; heap_free() it; host is borrowed
 *   Errors   -ESRCH no process is left, -EXDEV not allowed to see them,
 *            -ENODATA none loads the library, -ENOMEM, -errno
 */
MUST_CHECK int heap_open(const struct host *host, const struct heap_ask *ask,
                         struct heap **out);
void heap_free(struct heap *h);
DEFINE_CLEANUP(struct heap *, heap_free)
#define CLEANUP_HEAP CLEANUP(heap_free_ptr)
/*
 * Adds processes that have joined the service since: all that they counted is
 * in the profile; of a copy that fork(2) made, what it counts from now on. Known
 * ones, and those without the library, are skipped.
 *
 *   Shape    at most HEAP_MAX_JOINED are added
 *   Errors   -ENOMEM
 */
#define HEAP_MAX_JOINED 256
MUST_CHECK int heap_join(struct heap *h, const int32_t *pids, size_t n);
/*
 * Takes the second look, and makes a profile.
 *
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   as above; outputs untouched
 */
MUST_CHECK int heap_finish(struct heap *h, struct symbols_cache *symbols,
                           struct profile **out, struct quality *quality);
