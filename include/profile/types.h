/*
 * Profile types, as the rows of types.def define them.
 */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* The rows of types.def, as places in profile_types. */
enum profile_type_id {
#define PROFILE_TYPE(name, ...) TYPE_##name,
#include "types.def"
#undef PROFILE_TYPE
	TYPES
};

struct type {
	const char *name;
	const char *sample, *unit; /* of the value that is shown */
	const char *count;         /* "": no count of samples beside the
	                              value */
	const char *values;        /* of a profile: "sample/unit sample/unit" */
	bool gauge;                /* averaged over a range, never summed */
	const char *doc;
	const char *cost; /* "CPU time": what a function costs, in a text */
};

extern const struct type profile_types[];
extern const size_t profile_ntypes;

/* Finds a type by name; NULL when there is none. */
const struct type *type_find(const char *name);
/* Returns the place of a row of profile_types. */
static inline enum profile_type_id
type_id(const struct type *t)
{
	return (enum profile_type_id)(t - profile_types);
}
/* Returns false for an unknown type, too. */
bool type_is_gauge(const char *type);
/* Returns whether a clock takes the samples of a type. The cost of other types
 * belongs to the functions that call an allocator, a lock or the kernel. */
bool type_is_timed(const struct type *t);
/*
 * Sets the value types of a profile of that type, and which of them is shown.
 *   Errors   as profile_type()
 */
MUST_CHECK int type_values(const struct type *t, struct profile *p);
/* Sets the period's type to that of the value that is shown. */
MUST_CHECK int type_period(const struct type *t, struct profile *p);
