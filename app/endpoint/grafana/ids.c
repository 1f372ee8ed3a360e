#include "ids.h"

#include <stdio.h>
#include <string.h>

/* A new row of types.def does not compile without two more macros here. */
#define NAME_cpu         "process_cpu"
#define PERIOD_cpu       "cpu:nanoseconds"
#define NAME_memory      "memory"
#define PERIOD_memory    "space:bytes"
#define NAME_alloc       "memory"
#define PERIOD_alloc     "space:bytes"
#define NAME_block       "block"
#define PERIOD_block     "contentions:count"
#define NAME_mutex       "mutex"
#define PERIOD_mutex     "contentions:count"
#define NAME_io          "io"
#define PERIOD_io        "operations:count"
#define NAME_goroutine   "goroutine"
#define PERIOD_goroutine "goroutine:count"
#define NAME_wall        "wall"
#define PERIOD_wall      "wall:nanoseconds"

static const char *const ids[TYPES] = {
#define PROFILE_TYPE(name, sample, unit, ...) \
	NAME_##name ":" sample ":" unit ":" PERIOD_##name,
#include "types.def"
#undef PROFILE_TYPE
};

const char *
profile_id(const struct type *t)
{
	return ids[type_id(t)];
}

const struct type *
profile_id_find(const char *id)
{
	for (size_t i = 0; i < TYPES; i++)
		if (!strcmp(ids[i], id))
			return &profile_types[i];
	return NULL;
}

void
profile_id_part(const char *id, enum id_part part, char out[static ID_PART_MAX])
{
	for (unsigned i = 0; i < part; i++)
		id += strcspn(id, ":") + 1;
	snprintf(out, ID_PART_MAX, "%.*s", (int)strcspn(id, ":"), id);
}

bool
profile_id_valid(const char *id)
{
	int colons = 0;

	for (; *id; id++)
		colons += *id == ':';
	return colons == ID_PARTS - 1;
}
