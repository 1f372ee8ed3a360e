/*
 * Adds places and their names as rows of a profile.
 */
#pragma once

#include "base/pairs.h"
#include "namer.h"
#include "profile/profile.h"

/*
 * Adds the segment of a module to which a place belongs.
 *   Errors   as profile_mapping()
 */
MUST_CHECK int finish_mapping(const struct modules *modules, struct profile *p,
                              struct place at, uint32_t *out);
/* How much is known about the code at a place. */
enum naming {
	NAMING_UNKNOWN,  /* nothing: there is no file that could be read */
	NAMING_PLACE,    /* its file, but not the name of its function */
	NAMING_FUNCTION, /* the name of its function */
};

/* The locations of a profile by their places, each named once. */
struct locations {
	struct namer *namer;
	struct profile *p;
	struct pairs places;
	struct known_location {
		uint32_t row;
		enum naming naming;
	} * known; /* by place */
	uint32_t cap;
};

/* Begins with no location; locations_done() it. */
struct locations locations_of(struct namer *n, struct profile *p);
void locations_done(struct locations *l);
/*
 * Finds the locations of a stack, and counts its frames in the quality report
 * of the namer.
 *
 *   Shape    out[n]
 *   Errors   as profile_location()
 */
MUST_CHECK int locations_find(struct locations *l, const struct place *places,
                              size_t n, uint32_t *out);
/*
 * Counts the innermost frames of an allocation that belong to the allocator:
 * the called function, and functions through which languages call it. Profiles
 * of memory begin at the caller of these, as in Go; 0 when there is none.
 *
 *   Shape    stack[n] locations, leaf first; within: the function that was
 *            called is among them, since it had not returned
 */
uint32_t locations_of_allocator(const struct profile *p, const uint32_t *stack,
                                uint32_t n, bool within);
/*
 * Adds a place as a location, with its functions and its mapping.
 *   Errors   as profile_location()
 */
MUST_CHECK int
finish_location(struct namer *n, struct profile *p, struct place at,
                uint32_t *out, enum naming *naming);
