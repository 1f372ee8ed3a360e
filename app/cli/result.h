/* A ProfileResult: its path on the server, and its functions. */
#pragma once

#include "cli.h"

#define PROFILES "/api/v1/observability/profiling"

/* Append the path of one profile, and of its flame graph. */
void profile_path(struct buf *out, const char *id);
void graph_path(struct buf *out, const char *id);
/* Appends the functions of a ProfileResult, and the total if they have values.
 * Prints an error and returns an exit status on failure. */
MUST_CHECK int
session_top(struct cli *c, const json_t *result, struct buf *out);
