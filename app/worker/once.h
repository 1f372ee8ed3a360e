/*
 * stoker-worker --once: takes one capture without a database, with the opener
 * and analyser that the scheduler uses.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/messages.h"

#define ONCE_TOP 10

struct once {
	uint64_t ways; /* as in struct msg_start */
	uint32_t rate, npids;
	uint64_t duration_ms;
	int32_t pids[WORKER_MAX_PIDS];
	int out_fd; /* where the profile goes */
};

/*
 * Captures, and prints the quality report and the top functions to stdout.
 *   Shape    arg is a struct once
 *   Errors   1, with a message on stderr
 */
MUST_CHECK int once_run(void *arg, const struct conf *conf,
                        const struct worker_sockets *sockets);
