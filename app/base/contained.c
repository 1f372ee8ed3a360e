#include "base/contained.h"

#include <stdlib.h>

bool
is_contained(void)
{
	const char *image = getenv("STOKER_CONTAINER");

	return image && *image;
}
