/* Which engine takes a service's profiles of a type: sources.def. */
#pragma once

#include "store/service.h"

enum source {
	SOURCE_NONE, /* none can */
	SOURCE_OUTSIDE,
	SOURCE_ENDPOINT,
};

enum source source_of(const struct service *s, const char *type);
/* What a service lacks that SOURCE_NONE was told for. */
const char *source_missing(const struct service *s, const char *type);
