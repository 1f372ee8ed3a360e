#include "profile/types.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTER, GAUGE };

const struct type profile_types[] = {
#define PROFILE_TYPE(name, sample, unit, count, kind, values, doc, cost, ...) \
	{#name, sample, unit, count, values, kind == GAUGE, doc, cost},
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

bool
type_is_timed(const struct type *t)
{
	return !strcmp(t->count, "samples");
}

int
type_values(const struct type *t, struct profile *p)
{
	CLEANUP_FREE char *values = strdup(t->values);
	char *unit, *rest = values;
	int rc = values ? 0 : -ENOMEM;

	while (!rc && (unit = strsep(&rest, " "))) {
		const char *sample = strsep(&unit, "/");

		rc = profile_type(p, sample, unit);
	}
	return rc ? rc : profile_cstring(p, t->sample, &p->default_type);
}

int
type_period(const struct type *t, struct profile *p)
{
	int rc = profile_cstring(p, t->sample, &p->period_type.type);

	return rc ? rc : profile_cstring(p, t->unit, &p->period_type.unit);
}
