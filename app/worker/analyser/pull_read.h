/*
 * Reads profiles that were fetched from net/http/pprof. The bytes may be
 * hostile: only a finisher reads them, in its sandbox.
 */
#pragma once

#include "capture/quality.h"
#include "profile/profile.h"
#include "worker/ipc/pull_pages.h"

/* A fetched answer. */
struct pull_answer {
	const void *p;
	size_t n;
	uint32_t status; /* HTTP status */
	enum pull_step step;
	int64_t start_ms, elapsed_ms;
	/* For LEAKS: the profile of all goroutines, from the first step. */
	const void *all;
	size_t all_n;
};
/*
 * Decodes an answer as a profile of the requested type, and sets its times.
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   an enum capture_error; outputs untouched
 */
MUST_CHECK enum capture_error
pull_read(const struct pull_answer *a, struct profile **out,
          struct quality *quality);
