#pragma once

#include "cli.h"
#include "profile/profile.h"

#define AUTOFDO "autofdo"

/*
 * Appends a profile for clang -fprofile-sample-use, from the programs that
 * --binary names: their debug information has what a profile lacks.
 *   Errors   LEAVE_OK, or prints an error and returns an exit status
 */
MUST_CHECK int
places_autofdo(const struct cli *c, const struct profile *p, struct buf *out);
