/*
 * Names for the functions of a stored profile, from debug files that have
 * come to the host since it was captured.
 *
 * The profile keeps build-id and address of what it could not name. Where
 * there is a debug file of that build-id, the module's functions are looked
 * up anew, all of them: it knows inlined calls and lines as well. Samples
 * stay as they are, each in its row.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/profile.h"

/*
 *   Shape    in: as capture_profile() made it, decoded. Of *quality only
 *            frames, symbolized and modules (those that had a debug file)
 *            are set
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENOMEM, -E2BIG; -EINVAL in has samples that are the same;
 *            *out untouched
 */
MUST_CHECK int
rename_profile(const struct host *host, struct symbols_cache *symbols,
               const struct profile *in, struct profile **out,
               struct quality *quality);
