/* Fetches and shows profiles. */
#pragma once

#include "cli.h"

#define PROFILES "/api/v1/observability/profiling"

/* Appends the path of one profile. */
void profile_path(struct buf *out, const char *id);
/* Appends the functions of a ProfileResult, and the total if they have values.
 * Prints an error and returns an exit status on failure. */
MUST_CHECK int
session_top(struct cli *c, const json_t *result, struct buf *out);
/*
 * Writes the profile at path to --output or standard output, in the format
 * given by --format, or as pprof.
 *   Shape    path may have a query
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int profile_fetch(struct cli *c, const char *path);
