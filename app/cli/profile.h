/* Fetches and shows profiles. */
#pragma once

#include "cli.h"

/*
 * Writes the profile at path to --output or standard output, in the format
 * given by --format, or as pprof.
 *   Shape    path may have a query
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int profile_fetch(struct cli *c, const char *path);
