#include "base/ways.h"

#include "base/cleanup.h"

#include <string.h>

const struct way_row way_rows[] = {
#define WAY(type, program, engine, check) \
	{#type, PROGRAM_##program, ENGINE_##engine, check},
#include "ways.def"
#undef WAY
};

_Static_assert(WAYS <= 64, "a set is 64 bits");

/* Returns which programs the services of a kind may run. */
static enum way_program
program_of(const char *service_kind)
{
	return !strcmp(service_kind, "go")       ? PROGRAM_go
	       : !strcmp(service_kind, "native") ? PROGRAM_native
	                                         : PROGRAM_any;
}

bool
ways_fit(const struct way_row *way, const char *service_kind)
{
	if (strcmp(service_kind, WAYS_HOST) != 0)
		return way->program & program_of(service_kind);
	return way->engine == ENGINE_RECORDER && way->check != CHECK_ALLOCS &&
	       way->check != CHECK_INUSE; /* these put probes into programs */
}

uint64_t
ways_outside(const char *service_kind, const char *type)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < WAYS; i++)
		if (!strcmp(way_rows[i].type, type) &&
		    way_rows[i].engine != ENGINE_PAGES &&
		    ways_fit(&way_rows[i], service_kind))
			set |= UINT64_C(1) << i;
	return set;
}

uint64_t
ways_all_the_time(const char *service_kind, const char *type, bool gauge)
{
	const uint64_t set = ways_outside(service_kind, type);

	if (gauge)
		return set & ~ways_of(set, ENGINE_RECORDER);
	return ways_of(set, ENGINE_BUCKETS) ?: ways_of(set, ENGINE_RECORDER);
}

bool
ways_exist(const char *type)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (!strcmp(way_rows[i].type, type))
			return true;
	return false;
}

bool
ways_at_once(const char *type)
{
	const uint64_t set = ways_outside("auto", type);

	return set && ways_of(set, ENGINE_SNAPSHOT) == set;
}

uint64_t
ways_of(uint64_t set, enum way_engine engine)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (way_rows[i].engine != engine)
			set &= ~(UINT64_C(1) << i);
	return set;
}
