/* stoker top without a profile: what uses a host's CPU now. */
#pragma once

#include "cli.h"

/*
 * Shows short CPU profiles of everything on a host: on a terminal one after
 * the other until an interrupt, else one.
 *
 * Windows of continuous profiling are not used: they come a minute late, at a
 * low rate, and only from services that somebody added.
 *
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int live_top(struct cli *c);
