/* The goroutines of a process as rows of a profile. */
#pragma once

#include "capture/process/modules.h"
#include "capture/quality.h"
#include "profile/profile.h"

struct goroutines_ask {
	const struct host *host;
	int32_t pid;
	const struct modules *modules;
	uint32_t module; /* what the process runs: it has an image */
	uint64_t bias;   /* of its mapping */
};

/*
 * Adds them, and what was seen to *q.
 *
 *   Errors   -ENOEXEC no Go program that can be read, -EPROTO its goroutines
 *            can't be made out, -ESRCH it is gone, -EPERM, -ENOMEM, -E2BIG,
 *            -errno
 */
MUST_CHECK int goroutines_add(const struct goroutines_ask *ask,
                              struct profile *p, struct quality *q);
