/*
 * A cache of the results of heavy calls.
 *
 * A result is a file in a folder below [api] run_dir, which every process of
 * the pool reads. Its name is a digest of the release, the operation, the
 * tenant and all inputs, including the checksums of profiles: a result is never
 * stale, since it is no longer found once a profile changes. The total size is
 * bounded; the least recently used result of the tenant with the most bytes is
 * removed first.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct call;
struct kept;

/*
 * Opens or creates the folder in dir, for this many bytes.
 *   Owns     *out is the caller's: kept_close() it
 *   Errors   -errno; -EPERM when the folder is another user's
 */
MUST_CHECK int kept_open(const char *dir, int64_t bytes, struct kept **out);
void kept_close(struct kept *k);
/*
 * Finds the result of an earlier equal call.
 *
 *   Shape    of: all that the result depends on, except the operation and the
 *            caller's tenant
 *   Errors   false, with an empty body: there is none, or it is damaged
 */
bool kept_find(struct call *c, const struct buf *of);
/* As kept_find(), for bytes that several operations make results from. */
bool kept_read(struct call *c, const struct buf *of, struct buf *out);
void kept_write(struct call *c, const struct buf *of, const struct buf *bytes);
/* Keeps the body of the reply if the call was heavy and, as kept_write(),
 * nothing went wrong. A failure is ignored: the result is computed again. */
void kept_add(struct call *c, const struct buf *of);
