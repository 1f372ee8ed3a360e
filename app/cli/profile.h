/* Where profiles are, in the API. */
#pragma once

#include "cli.h"

#define PROFILES "/api/v1/observability/profiling"

/* Appends the path of one profile. */
void profile_path(struct buf *out, const char *id);
/*
 * Sets the values of a result's top functions, where its type has any.
 *   Shape    path: where the same is, which can be had as a flame graph
 *   Owns     the flame graph is the caller's; NULL where none was needed or
 *            had: shares are shown anyway
 */
json_t *profile_values(struct cli *c, json_t *result, const char *path);
/* The top functions of a ProfileResult, with the total where it has values. */
void session_top(struct cli *c, json_t *result, struct buf *out);
/*
 * Writes the profile at path to --output or standard output, in the format of
 * --format, or as pprof.
 *   Shape    path may have a query
 *   Errors   an exit status, told to the user
 */
MUST_CHECK int profile_fetch(struct cli *c, const char *path);
