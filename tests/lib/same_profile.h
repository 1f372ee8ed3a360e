/*
 * Compares two profiles in every field of the model.
 */
#pragma once

#include "profile/profile.h"

/* Returns the name of a field that differs, or NULL. */
const char *profile_differs(const struct profile *a, const struct profile *b);
