/* Ranges of time of a service. */
#pragma once

#include "cli.h"

/*
 * Appends the path of a range: the first operand names its service, and options
 * become parameters.
 *   Shape    rest: appended to the path of profiles; type: used without
 *            --type; NULL: none
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int
range_path(struct cli *c, const char *rest, const char *type, struct buf *out);
