/* Whether two profiles are the same, in every field that the model has. */
#pragma once

#include "profile/profile.h"

/* NULL, or what differs. */
const char *profile_differs(const struct profile *a, const struct profile *b);
