/* Adds up windows, along time and over hosts. */
#pragma once

#include "adder.h"

/* Adds up one batch. Returns the number of windows, or hours of services, that
 * were due; 0 if none was; -ECANCELED if the adder gave up; -errno.
 * sums_of_hosts() stores no sum for an hour of fewer than least hosts. */
MUST_CHECK int sums_of_time(const struct adder *a);
MUST_CHECK int sums_of_hosts(const struct adder *a, int64_t least);
