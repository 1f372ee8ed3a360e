/*
 * Profile types, as the rows of types.def define them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Engines that take profiles of a type from outside a program. */
enum type_engine {
	TYPE_SAMPLER,  /* capture/recorder.h */
	TYPE_SNAPSHOT, /* capture/snapshot.h */
	TYPE_BUCKETS,  /* capture/buckets.h, of Go; capture/recorder.h of
	                  others, where that samples the type */
	TYPE_WAITS,    /* capture/recorder.h, of all */
};

struct type {
	const char *name;
	const char *sample, *unit; /* of the value that is shown */
	const char *count;         /* "": no count of samples beside the
	                              value */
	bool gauge;                /* averaged over a range, never summed */
	enum type_engine engine;
	const char *doc;
};

extern const struct type profile_types[];
extern const size_t profile_ntypes;

/* Finds a type by name; NULL when there is none. */
const struct type *type_find(const char *name);
/* Returns false for an unknown type, too. */
bool type_is_gauge(const char *type);
