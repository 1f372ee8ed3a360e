/* Where profiles are, in the API. */
#pragma once

#include "cli.h"

#define PROFILES "/api/v1/observability/profiling"

/* Appends the path of one profile. */
void profile_path(struct buf *out, const char *id);
/*
 * What is at path in the format of --format, pprof unless told, to --output
 * or standard output.
 *   Shape    path may have a query
 *   Errors   an exit status, told to the user
 */
MUST_CHECK int profile_fetch(struct cli *c, const char *path);
