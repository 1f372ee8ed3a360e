/* What the API and the workers found out about themselves: checks.def. */
#pragma once

#include "endpoint/call.h"
#include "store/worker.h"

/* The finding of this process about its store, at most CHECKS_AGE_NS old. */
const struct finding *checks_own(struct call *c);

#define CHECKS_AGE_NS INT64_C(10000000000)

/* The findings that a live worker published: a list of objects of schema
 * Check; NULL when it published none. The reference is the caller's. */
json_t *checks_of_worker(const struct worker *w);
/* The name of the first of these findings that is broken and NEEDED; NULL
 * when there is none. */
const char *checks_block(const json_t *findings);
