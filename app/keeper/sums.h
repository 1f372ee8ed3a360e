/* Windows that are added up: along time, and over hosts. */
#pragma once

#include "adder.h"

/* Return how many windows, or hours of services, were added up: a batch; 0:
 * nothing was due. -ECANCELED when the adder gives up. An hour that fewer than
 * least hosts have is left to its hosts. */
MUST_CHECK int sums_of_time(const struct adder *a);
MUST_CHECK int sums_of_hosts(const struct adder *a, int64_t least);
