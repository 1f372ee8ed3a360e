/*
 * Makes rows of a profile for places and their names.
 */
#pragma once

#include "namer.h"
#include "profile/profile.h"

/*
 * Adds the segment of a module to which a place belongs.
 *   Errors   as profile_mapping()
 */
MUST_CHECK int finish_mapping(const struct modules *modules, struct profile *p,
                              struct place at, uint32_t *out);
/*
 * Adds a place as a location, with its functions and its mapping.
 *   Errors   as profile_location()
 */
MUST_CHECK int finish_location(struct namer *n, struct profile *p,
                               struct place at, uint32_t *out, bool *named);
