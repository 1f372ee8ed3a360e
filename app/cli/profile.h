/* Fetches and shows profiles. */
#pragma once

#include "cli.h"

#define PROFILES "/api/v1/observability/profiling"

/* Appends the path of one profile. */
void profile_path(struct buf *out, const char *id);
/*
 * Sets the values of a result's top functions, if its type has any.
 *   Shape    path is the profile's path; values come from its flame graph
 *   Owns     returns the flame graph, which is the caller's; NULL if none was
 *            needed, or if it could not be fetched: only shares are shown then
 */
json_t *profile_values(struct cli *c, json_t *result, const char *path);
/* Appends the top functions of a ProfileResult, and the total if it has
 * values. */
void session_top(struct cli *c, json_t *result, struct buf *out);
/*
 * Writes the profile at path to --output or standard output, in the format
 * given by --format, or as pprof.
 *   Shape    path may have a query
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int profile_fetch(struct cli *c, const char *path);
