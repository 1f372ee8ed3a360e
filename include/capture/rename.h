/*
 * Names for the functions of a stored profile, from debug files that came to
 * the host after it was captured.
 *
 * A profile keeps the build-id and address of each frame without a name. Once a
 * debug file with that build-id exists, all functions of the module are looked
 * up again, since the file also has inlined calls and lines. Samples keep their
 * rows.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/profile.h"

/*
 * Builds the profile anew, with names.
 *
 *   Shape    in is a decoded profile of capture_profile(). Only frames,
 *            symbolized and modules (those with a debug file) of *quality are
 *            set
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENOMEM, -E2BIG; -EINVAL in has two equal samples; *out untouched
 */
MUST_CHECK int
rename_profile(const struct host *host, struct symbols_cache *symbols,
               const struct profile *in, struct profile **out,
               struct quality *quality);
