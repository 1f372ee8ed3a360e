#include "types.h"

#include "base/cleanup.h"

#include <string.h>

static const struct {
	const char *type;
	enum { GAUGE, COUNTER } kind;
} kinds[] = {
#define PROFILE_TYPE(name, sample, unit, kind, doc) {#name, kind},
#include "types.def"
#undef PROFILE_TYPE
};

bool
type_is_gauge(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].type, type))
			return kinds[i].kind == GAUGE;
	return false;
}
