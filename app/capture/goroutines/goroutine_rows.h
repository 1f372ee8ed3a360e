/*
 * Adds the goroutines of a process as rows of a profile.
 */
#pragma once

#include "capture/process/modules.h"
#include "capture/quality.h"
#include "profile/profile.h"

struct goroutines_ask {
	const struct host *host;
	int32_t pid;
	const struct modules *modules;
	uint32_t module; /* the process's program, which has an image */
	uint64_t bias;   /* bias of its mapping */
};

/*
 * Adds the rows, and counts to *q.
 *
 *   Errors   -ENOEXEC no Go program that can be read, -EPROTO goroutines can't
 *            be found, -ESRCH the process is gone, -EPERM, -ENOMEM, -E2BIG,
 *            -errno
 */
MUST_CHECK int goroutines_add(const struct goroutines_ask *ask,
                              struct profile *p, struct quality *q);
