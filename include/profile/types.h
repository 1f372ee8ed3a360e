/* The rows of types.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What takes profiles of a type from outside of a program. */
enum type_engine {
	TYPE_SAMPLER,  /* capture/recorder.h */
	TYPE_SNAPSHOT, /* capture/snapshot.h */
	TYPE_BUCKETS,  /* capture/buckets.h */
};

struct type {
	const char *name;
	const char *sample, *unit; /* of the value that is shown */
	const char *count;         /* "": samples are not counted beside it */
	bool gauge;                /* averaged over a range, never summed */
	enum type_engine engine;
	const char *doc;
};

extern const struct type profile_types[];
extern const size_t profile_ntypes;

/* NULL when there is none of that name. */
const struct type *type_find(const char *name);
/* False for a type that is not known, too. */
bool type_is_gauge(const char *type);
