/* Profiles that a message of the querier asks for. */
#pragma once

#include "base/json.h"
#include "endpoint/call.h"
#include "profile/profile.h"

/*
 * Reads a question, and adds up its profiles.
 *
 *   Shape    asked has the members of a SelectMergeStacktracesRequest
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -1 with the reply
 */
MUST_CHECK int
stacks_read(struct call *c, const json_t *asked, struct profile **out);
/* Returns the number of nodes that a graph may have. */
uint32_t stacks_nodes(const json_t *asked);
