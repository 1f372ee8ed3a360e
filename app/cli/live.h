/* stoker top without a profile: what uses the CPU of a host now. */
#pragma once

#include "cli.h"

/*
 * Shows short CPU profiles of all that runs on a host, one after the other: on
 * a terminal until an interrupt, else one.
 *
 * Windows of continuous profiling are not used: they come a minute late, at a
 * low rate, and only of services that somebody added.
 *
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int live_top(struct cli *c);
