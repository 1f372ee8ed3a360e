/*
 * Compares two profiles in every field of the model.
 */
#pragma once

#include "profile/profile.h"

/* Returns NULL, or what differs. */
const char *profile_differs(const struct profile *a, const struct profile *b);
