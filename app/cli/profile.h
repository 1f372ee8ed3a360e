/* Where profiles are, in the API. */
#pragma once

#include "base/buf.h"

#define PROFILES "/api/v1/observability/profiling"

/* Appends the path of one profile. */
void profile_path(struct buf *out, const char *id);
