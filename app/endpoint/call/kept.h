/*
 * Results of heavy calls, kept for whoever asks the same again.
 *
 * A result is a file in a folder below [api] run_dir, which every process of
 * the pool reads. Its name is a digest of the release, the operation, the
 * tenant and everything that the result was made of, the checksums of profiles
 * included: a result is never outdated, but is not found any more once a
 * profile changes. All of them together are bounded; the result that was not
 * used for longest goes first, of the tenant that has the most.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct call;
struct kept;

/*
 * Opens or creates the folder in dir, for so many bytes.
 *   Owns     *out is the caller's: kept_close() it
 *   Errors   -errno; -EPERM when the folder is another user's
 */
MUST_CHECK int kept_open(const char *dir, int64_t bytes, struct kept **out);
void kept_close(struct kept *k);
/*
 * Finds what an earlier call was answered with.
 *
 *   Shape    of: all that the result depends on, beside the operation and the
 *            caller's tenant, which may read it
 *   Errors   false, with an empty body: there is none, or it is damaged
 */
bool kept_find(struct call *c, const struct buf *of);
/* Keeps the body of the reply, if the call was heavy. What can't be kept is
 * computed again. */
void kept_add(struct call *c, const struct buf *of);
