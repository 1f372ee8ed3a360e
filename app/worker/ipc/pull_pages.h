/*
 * The pages of net/http/pprof from which profiles are pulled: which steps a
 * type takes, and where to ask for each.
 */
#pragma once

#include "base/url.h"
#include "messages.h"

enum pull_step {
#define PULL(step, type, page, time, form) PULL_STEP_##step,
#include "pull.def"
#undef PULL
	PULL_STEPS
};

/* The first step towards a type of profile; PULL_STEPS: there is none. */
enum pull_step pull_first(const char *type);
/* What a step's page gives: an enum pull_form. */
enum pull_form { PULL_PPROF, PULL_DUMP, PULL_LEAKED };
enum pull_form pull_form(enum pull_step step);
/* The type of profile that a step leads to, by its name. */
const char *pull_type(enum pull_step step);
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
