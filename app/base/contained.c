#include "base/contained.h"

#include <stdlib.h>

bool
is_contained(void)
{
	const char *manager = getenv("container");

	return manager && *manager;
}
