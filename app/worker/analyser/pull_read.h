/*
 * Reads profiles that were pulled from net/http/pprof. The bytes come from a
 * stranger: only a finisher reads them, in its sandbox.
 */
#pragma once

#include "capture/quality.h"
#include "profile/profile.h"
#include "worker/ipc/pull_pages.h"

/* An answer, and what is known about it. */
struct pull_answer {
	const void *p;
	size_t n;
	uint32_t status; /* of HTTP */
	enum pull_step step;
	int64_t start_ms, elapsed_ms;
	/* Of LEAKS: the profile of all, one of ours. */
	const void *all;
	size_t all_n;
};
/*
 * Reads an answer: decoded, of the type that was asked for, with its times.
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   an enum capture_error; outputs untouched
 */
MUST_CHECK enum capture_error
pull_read(const struct pull_answer *a, struct profile **out,
          struct quality *quality);
