/*
 * The engine that takes a service's profiles of a type: sources.def.
 */
#pragma once

#include "store/service.h"

enum source {
	SOURCE_NONE, /* no source fits */
	SOURCE_OUTSIDE,
	SOURCE_ENDPOINT,
};

enum source source_of(const struct service *s, const char *type);
/* Says which setting a service lacks, when source_of() gave SOURCE_NONE. */
const char *source_missing(const struct service *s, const char *type);
