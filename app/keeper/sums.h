/* Windows that are added up: along time, and over hosts. */
#pragma once

#include "base/conf.h"
#include "store/store.h"

/* Return how many windows, or hours of services, were added up: a batch; 0:
 * nothing was due. */
MUST_CHECK int sums_of_time(struct store *s);
MUST_CHECK int sums_of_hosts(struct store *s, const struct conf *conf);
