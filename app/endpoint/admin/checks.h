/*
 * Findings of the API and the workers about themselves: checks.def.
 */
#pragma once

#include "endpoint/call.h"
#include "store/worker.h"

/* Returns this process's finding about its store, at most CHECKS_AGE_NS old. */
const struct finding *checks_own(struct call *c);

/* Returns this process's finding about its importers, at most CHECKS_AGE_NS
 * old. */
const struct finding *checks_importers(struct call *c);

#define CHECKS_AGE_NS INT64_C(10000000000)

/* Returns the findings that a live worker published, a list of objects of
 * schema Check, or NULL. The caller owns the reference. */
json_t *checks_of_worker(const struct worker *w);
/* Returns the name of the first of these findings that is broken and NEEDED;
 * NULL when there is none. */
const char *checks_block(const json_t *findings);
/* Finds the finding of a check in a list; NULL: none. */
const json_t *checks_find(const json_t *findings, enum check c);
/* True for a finding that explains why profiles are missing or less
 * complete. */
bool checks_is_poor(const json_t *finding);
