/*
 * Keeps the analyser informed about the processes of a running capture: new
 * processes match the service, and some that the capture followed from their
 * fork on turn out not to belong to it.
 */
#pragma once

#include "targets.h"

struct following {
	const char *tenant, *service, *id; /* id of the capture or watch */
	int64_t ordinal;
	uint64_t stamp; /* of the processes that the analyser was last told;
	                   0: none */
};

/*
 * Tells the analyser which processes to follow and to leave, if any changed.
 *
 *   Shape    now is of the same service and ordinal
 *   Errors   as msg_send(); the next call repeats what was not sent
 */
MUST_CHECK int
following_tell(struct following *f, int analyser, const struct targets *targets,
               const struct followed *now);
