/*
 * Keeps the analyser informed of whom a capture is of, while that goes on:
 * processes start that match the service, and some that the capture follows
 * from their fork on turn out to be none of it.
 */
#pragma once

#include "targets.h"

struct following {
	const char *tenant, *service, *id; /* id: of the capture or watch */
	int64_t ordinal;
	uint64_t stamp; /* of whom the analyser was told last; 0: of nobody */
};

/*
 * Tells it whom to take in and whom to leave, if there is news.
 *
 *   Shape    now: of the same service and ordinal
 *   Errors   of the transport; what was not told is told the next time
 */
MUST_CHECK int
following_tell(struct following *f, int analyser, const struct targets *targets,
               const struct followed *now);
