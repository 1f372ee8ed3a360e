#include "ids.h"

#include <stdio.h>
#include <string.h>

static const char *const ids[TYPES] = {
#define PROFILE_TYPE(name, sample, unit, count, kind, values, doc, cost, \
                     counted, note, pyroscope, period)                   \
	pyroscope ":" sample ":" unit ":" period,
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
