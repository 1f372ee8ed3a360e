#include "profile/types.h"

#include "base/cleanup.h"

#include <string.h>

enum { COUNTER, GAUGE };

const struct type profile_types[] = {
#define PROFILE_TYPE(name, sample, unit, count, kind, engine, doc) \
	{#name, sample, unit, count, kind == GAUGE, TYPE_##engine, doc},
#include "types.def"
#undef PROFILE_TYPE
};

const size_t profile_ntypes = ARRAY_LEN(profile_types);

const struct type *
type_find(const char *name)
{
	for (size_t i = 0; i < profile_ntypes; i++)
		if (!strcmp(profile_types[i].name, name))
			return &profile_types[i];
	return NULL;
}

bool
type_is_gauge(const char *type)
{
	const struct type *t = type_find(type);

	return t && t->gauge;
}
