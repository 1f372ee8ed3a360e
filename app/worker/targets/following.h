/*
 * Keeps the analyser informed about the processes of a running capture: those
 * that newly match the service, and those that the capture followed since their
 * fork but that turn out not to belong to the service.
 */
#pragma once

#include "targets.h"

struct following {
	const char *tenant, *service, *id; /* id of the capture or watch */
	int64_t ordinal;
	uint64_t stamp; /* of the processes last sent to the analyser; 0:
	                   none */
};

/*
 * Sends the analyser the processes to follow and to leave, if any changed.
 *
 *   Shape    now belongs to the same service and ordinal
 *   Errors   as msg_send(); the next call repeats what was not sent
 */
MUST_CHECK int
following_send(struct following *f, int analyser, const struct targets *targets,
               const struct followed *now);
