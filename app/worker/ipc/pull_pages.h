/*
 * Profiles pulled from net/http/pprof: where to ask, and what an answer is.
 *
 * pull_read() looks into bytes that a stranger sent: only a finisher calls
 * it. The rest is the scheduler's.
 */
#pragma once

#include "base/url.h"
#include "profile/profile.h"
#include "messages.h"

enum pull_step {
#define PULL(step, type, page, time, form) PULL_STEP_##step,
#include "pull.def"
#undef PULL
	PULL_STEPS
};

/* The first step towards a type of profile; PULL_STEPS: there is none. */
enum pull_step pull_first(const char *type);
/* True when it is told of a profile that an earlier step gave. */
bool pull_adds(enum pull_step step);
/* True when the page takes the seconds of the capture. */
bool pull_is_timed(enum pull_step step);
/*
 * The address of a step's page.
 *   Shape    base: a service's pprofUrl; "/debug/pprof" is added to one
 *            without a path
 *   Errors   -EINVAL, -E2BIG
 */
MUST_CHECK int pull_url(const char *base, enum pull_step step, int64_t seconds,
                        char out[static URL_MAX + 1]);

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
/*
 * Marks in all those samples that leaked tells of: label "leaked".
 *
 *   Shape    both of Go's pages, taken one after the other; leaked is changed
 *   Owns     *out is the caller's
 *   Errors   -EINVAL no such profiles; as merge_add()
 */
MUST_CHECK int pull_mark_leaked(const struct profile *all,
                                struct profile *leaked, struct profile **out);
