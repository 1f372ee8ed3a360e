/*
 * The pages of net/http/pprof from which profiles are fetched: the steps of
 * each type, and their URLs.
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

/* Returns the first step for a type of profile; PULL_STEPS when no page has
 * it. */
enum pull_step pull_first(const char *type);
/* The format of a step's page. */
enum pull_form { PULL_PPROF, PULL_DUMP, PULL_LEAKED };
enum pull_form pull_form(enum pull_step step);
/* Returns the name of the profile type that a step is for. */
const char *pull_type(enum pull_step step);
/* True when a step extends the profile of an earlier step. */
bool pull_adds(enum pull_step step);
/* True when the page takes as long as the capture (?seconds=). */
bool pull_is_timed(enum pull_step step);
/*
 * Makes the URL of a step's page.
 *   Shape    base is a service's pprofUrl; "/debug/pprof" is added when it has
 *            no path
 *   Errors   -EINVAL, -E2BIG
 */
MUST_CHECK int pull_url(const char *base, enum pull_step step, int64_t seconds,
                        char out[static URL_MAX + 1]);
