/*
 * The places of a program's code in its source, as compilers find them again:
 * with the discriminators of DWARF, which tell the parts of a line apart.
 */
#pragma once

#include "capture/local.h"

#include <stdint.h>

/* A place of a function, or of a call that was inlined there. */
struct local_place {
	const char *function; /* linkage name, else plain name */
	uint32_t line, start_line;
	uint32_t discriminator;
};

/*
 * Takes a run of code, [start, end) of the profile's addresses.
 *
 *   Shape    places[n], innermost first. copies: how many copies of the code
 *            there are, since a loop was unrolled; at least 1
 */
typedef int local_places_take(void *arg, uint64_t start, uint64_t end,
                              const struct local_place *places, uint32_t n,
                              uint32_t copies);
/*
 * Calls take() for all code of the units of DWARF that have the addresses.
 *
 *   Shape    addresses[n] of a mapping of the profile
 *   Errors   -ENOENT the mapping's file is not among those of f, -ENODATA it
 *            has no debug information; those of take(); -ENOMEM, -E2BIG
 */
MUST_CHECK int local_places(struct local_files *f, const struct profile *p,
                            uint32_t mapping, const uint64_t *addresses,
                            size_t n, local_places_take *take, void *arg);
